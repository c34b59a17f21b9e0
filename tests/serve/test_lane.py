import pytest

from nar.serve.calls import Call, Patience, StageClock
from nar.serve.status import OverloadedError
from nar.serve.workers import Lane


def call_of(method="Search", patience_s=60.0, took_s=None):
    return Call(method, None, StageClock(Patience(patience_s)), "id", took_s=took_s)


def learned(lane, method, took_s):
    call = call_of(method, took_s=took_s)
    lane.leave(call, lane.enter(call))


def test_what_calls_took_tells_how_long_the_next_would_wait():
    lane = Lane(threads=2, max_wait_s=60)
    assert lane.enter(call_of()) == 0
    learned(lane, "Search", 10)
    assert lane.expected_wait_s == 0
    first = lane.enter(call_of())
    assert first == pytest.approx(1)
    lane.enter(call_of())
    lane.enter(call_of("Get"))
    assert lane.expected_wait_s == pytest.approx(1)
    lane.leave(call_of(), first)
    assert lane.expected_wait_s == pytest.approx(0.5)


def test_who_would_wait_too_long_is_told_when_to_come_back():
    lane = Lane(threads=1, max_wait_s=5)
    learned(lane, "Embed", 40)
    lane.enter(call_of("Embed"))
    with pytest.raises(OverloadedError, match=r"wait 4\.0 s") as caught:
        lane.enter(call_of("Search", patience_s=3))
    assert caught.value.retry_after_s == pytest.approx(4)
    lane.enter(call_of("Embed", patience_s=13))
    with pytest.raises(OverloadedError):
        lane.enter(call_of("Search"))


def test_who_would_be_answered_too_late_does_not_wait():
    lane = Lane(threads=1, max_wait_s=60)
    learned(lane, "Search", 10)
    lane.enter(call_of())
    with pytest.raises(OverloadedError, match=r"wait 1\.0 s"):
        lane.enter(call_of(patience_s=2.9))
    lane.enter(call_of(patience_s=3.1))


def test_an_idle_lane_takes_what_took_long_before():
    lane = Lane(threads=1, max_wait_s=0.1)
    for _ in range(50):
        learned(lane, "Embed", 100)
    lane.enter(call_of("Embed", patience_s=0.01))


def test_a_call_that_never_began_teaches_nothing():
    lane = Lane(threads=1, max_wait_s=1)
    call = call_of()
    lane.leave(call, lane.enter(call))
    assert lane.enter(call_of()) == 0
