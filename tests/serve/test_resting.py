"""When the event loop of a server takes no calls."""

import threading
import time

import pytest

from nar.serve.dispatch import IN_VAIN, Resting


class Answered(threading.Event):
    """Notes for how long somebody was ready to wait, and waits for nobody."""

    def __init__(self):
        super().__init__()
        self.waits_s = []

    def wait(self, timeout=None):
        self.waits_s.append(timeout)
        return self.is_set()


@pytest.fixture
def now(monkeypatch):
    """A clock that stands: add to it."""
    clock = [100.0]
    monkeypatch.setattr("nar.serve.dispatch.monotonic", lambda: clock[0])
    return clock


def test_who_has_not_enough_to_do_takes_every_call():
    answered = Answered()
    Resting(lambda: False, answered).before_a_call()
    assert not answered.waits_s


def test_a_rest_ends_with_an_answer(monkeypatch):
    monkeypatch.setattr("nar.serve.dispatch.REST_S", 10.0)
    answered = threading.Event()
    began = time.monotonic()
    thread = threading.Thread(target=answered.set)
    thread.start()
    Resting(lambda: True, answered).before_a_call()
    thread.join()
    assert time.monotonic() - began < 5
    assert not answered.is_set()  # the next one waits for another answer


def test_after_a_rest_calls_are_taken_for_a_moment(now):
    answered = Answered()
    resting = Resting(lambda: True, answered)
    for _ in range(3):
        resting.before_a_call()
    assert len(answered.waits_s) == 1
    now[0] += 0.001
    resting.before_a_call()
    assert len(answered.waits_s) == 2


def test_rests_are_short_while_no_thread_answers(now):
    """The threads may hang: who asks for health has to hear."""
    answered = Answered()
    resting = Resting(lambda: True, answered)
    for _ in range(IN_VAIN + 5):
        resting.before_a_call()
        now[0] += 1
    assert sum(answered.waits_s) < 0.25
    assert max(answered.waits_s[IN_VAIN:]) <= 0.002
    answered.set()
    for _ in range(2):
        resting.before_a_call()
        now[0] += 1
    assert answered.waits_s[-1] == answered.waits_s[0]
