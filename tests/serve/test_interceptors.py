import asyncio
from contextlib import suppress

import pytest
from google.protobuf.descriptor_pb2 import MethodOptions
from hypothesis import given
from hypothesis import strategies as st

from nar.serve.calls import Call, Patience, StageClock, caller_of
from nar.serve.doors import (
    READING,
    Admission,
    Authentication,
    CallRate,
    Shares,
    Tokens,
    deadline,
    doors,
    only_reads,
)
from nar.serve.outcome import OutcomeLayer
from nar.serve.status import (
    ExpiredError,
    ForbiddenError,
    OverloadedError,
    ShareError,
    UnauthenticatedError,
)
from nar.serve.telemetry import Telemetry
from nar.v1 import retrieval_pb2
from nar.wire.settings import ServerConfig


class Context:
    """As much of a call's context as the layers look at."""

    def __init__(self, remaining_s=None, metadata=()):
        self.remaining_s, self.metadata = remaining_s, metadata

    def time_remaining(self):
        return self.remaining_s

    def invocation_metadata(self):
        return self.metadata


async def answer():
    return "answer"


def call_of(**context):
    return Call("Search", Context(**context), StageClock(Patience(60)), "id")


def through(layer, **context):
    return asyncio.run(layer(call_of(**context), answer))


@pytest.mark.parametrize("remaining_s", [None, 0.001, 5])
def test_there_is_time(remaining_s):
    assert through(deadline, remaining_s=remaining_s) == "answer"


@pytest.mark.parametrize("remaining_s", [0, -1])
def test_there_is_no_time_left(remaining_s):
    with pytest.raises(ExpiredError):
        through(deadline, remaining_s=remaining_s)


@pytest.mark.parametrize(
    ("method", "value", "refusal"),
    [
        ("Search", "Bearer reader", None),
        ("Upsert", "Bearer writer", None),
        ("Upsert", "Bearer reader", ForbiddenError),
        ("Search", "Bearer nobody", UnauthenticatedError),
        ("Search", "", UnauthenticatedError),
    ],
)
def test_token(method, value, refusal, tmp_path):
    readers = tmp_path / "readers"
    readers.write_text("reader")
    layer = Authentication(Tokens(ServerConfig(token="writer", reader_tokens_file=readers)))
    call = call_of(metadata=(("other", "x"), ("authorization", value)))
    call.method = method
    if refusal is None:
        assert asyncio.run(layer(call, answer)) == "answer"
        # The first digits of `printf %s reader | sha256sum`, and of the writer's.
        assert (
            call.caller
            == {"reader": "reader 3d094196", "writer": "writer b9300677"}[
                value.removeprefix("Bearer ")
            ]
        )
    else:
        with pytest.raises(refusal):
            asyncio.run(layer(call, answer))


def test_admission_frees_the_place_of_a_call_that_fails():
    gauge = Telemetry().in_flight
    layer = Admission(1, 0.75, gauge)

    async def fail():
        with pytest.raises(OverloadedError):
            await layer(call_of(), answer)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(layer(call_of(), fail))
    assert through(layer) == "answer"
    assert gauge._value.get() == 0


def test_a_caller_leaves_places_to_others_and_is_told_its_share():
    layer = Admission(8, 0.75, Telemetry().in_flight)
    came = []

    async def hold(caller, further):
        """Begin calls one inside the other, until one is refused."""
        call = call_of()
        call.caller = caller

        async def proceed():
            came.append(caller)
            return await further()

        return await layer(call, proceed)

    async def eager():
        with suppress(ShareError):
            await hold("eager", eager)
        if "other" not in came:
            await hold("other", answer)

    asyncio.run(eager())
    assert came == ["eager"] * 6 + ["other"]
    assert through(layer) == "answer"


def test_a_caller_begins_so_many_calls_a_second_and_hears_when_it_may_again():
    layer = Admission(8, 0.75, Telemetry().in_flight, calls_per_s=0.001)

    async def answered(caller):
        call = call_of()
        call.caller = caller
        return await layer(call, answer)

    assert asyncio.run(answered("eager")) == "answer"
    with pytest.raises(ShareError, match="caller_calls_per_s") as refusal:
        asyncio.run(answered("eager"))
    assert 990 < refusal.value.retry_after_s <= 1_000
    assert asyncio.run(answered("other")) == "answer"


@pytest.mark.slow
@given(
    rate=st.floats(0.1, 1_000),
    gaps=st.lists(st.floats(0, 3), min_size=1, max_size=200),
)
def test_no_caller_begins_more_than_its_rate_and_waiting_as_told_is_enough(rate, gaps):
    now = 0.0
    pace = CallRate(rate, clock=lambda: now)
    begun = []
    for gap in gaps:
        now += gap
        if not (wait_s := pace.wait_s("caller")):
            begun.append(now)
        else:
            now += wait_s
            assert pace.wait_s("caller") == 0.0
            begun.append(now)
    burst = max(1.0, rate)
    for first, at in enumerate(begun):
        within = [each for each in begun[first:] if each - at <= 1.0]
        # A second's worth at once, and what a second gives back.
        assert len(within) <= burst + rate + 1


def test_callers_that_count_no_more_are_forgotten():
    now = 0.0
    pace = CallRate(1.0, clock=lambda: now)
    for number in range(5_000):
        now = number * 0.01
        assert pace.wait_s(str(number)) == 0.0
    assert len(pace._used_until) <= 2_048


@pytest.mark.parametrize(("callers", "places"), [(1, [72]), (2, [72, 18]), (4, [72, 18, 5, 1])])
def test_further_callers_find_places(callers, places):
    shares = Shares(96, 0.75)
    for caller in map(str, range(callers)):
        while not (shares.is_full or shares.is_spent(caller)):
            shares.add(caller, 1)
    assert [shares.of(str(caller)) for caller in range(callers)] == places


def test_an_idle_server_is_used_by_one_caller_where_callers_are_not_told_apart():
    shares = Shares(3, 1)
    for _ in range(3):
        assert not shares.is_spent("proxy")
        shares.add("proxy", 1)
    assert shares.is_full


@pytest.mark.parametrize(
    ("peer", "caller"),
    [
        ("ipv4:127.0.0.1:50000", "127.0.0.1"),
        ("ipv6:%5B2001:db8::7%5D:50000", "2001:db8::/64"),
        ("ipv6:[2001:db8::8]:1", "2001:db8::/64"),
        ("http:127.0.0.1:80", "127.0.0.1"),
        ("unix:", "unix"),
    ],
)
def test_the_ports_of_an_address_are_one_caller(peer, caller):
    class Peer:
        def peer(self):
            return peer

        def peer_identities(self):
            return None

    assert caller_of(Peer()) == caller


def test_a_token_is_asked_for_before_a_request_is_read():
    telemetry = Telemetry()
    told, open_to_all = ServerConfig(token="x", writable=True), ServerConfig(writable=True)
    assert [type(layer) for layer in doors(told, telemetry)] == [OutcomeLayer, Authentication]
    assert [type(layer) for layer in doors(open_to_all, telemetry)] == [OutcomeLayer]
    assert doors(ServerConfig(), telemetry)[1:] == [only_reads]


def test_readers_may_call_what_the_contract_says_has_no_side_effects():
    (service,) = retrieval_pb2.DESCRIPTOR.services_by_name.values()
    levels = {method.name: method.GetOptions().idempotency_level for method in service.methods}
    reading = {name for name, level in levels.items() if level == MethodOptions.NO_SIDE_EFFECTS}
    assert reading == READING
