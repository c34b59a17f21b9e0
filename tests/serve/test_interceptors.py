import asyncio

import pytest
from google.protobuf.descriptor_pb2 import MethodOptions

from nar.serve.calls import Call, Patience, StageClock
from nar.serve.doors import READING, Admission, Authentication, Tokens, deadline, doors, only_reads
from nar.serve.outcome import Outcome
from nar.serve.status import (
    ExpiredError,
    ForbiddenError,
    OverloadedError,
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
    else:
        with pytest.raises(refusal):
            asyncio.run(layer(call, answer))


def test_admission_frees_the_place_of_a_call_that_fails():
    gauge = Telemetry().in_flight
    layer = Admission(1, gauge)

    async def fail():
        with pytest.raises(OverloadedError):
            await layer(call_of(), answer)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(layer(call_of(), fail))
    assert through(layer) == "answer"
    assert gauge._value.get() == 0


def test_a_token_is_asked_for_before_a_request_is_read():
    telemetry = Telemetry()
    told, open_to_all = ServerConfig(token="x", writable=True), ServerConfig(writable=True)
    assert [type(layer) for layer in doors(told, telemetry)] == [Outcome, Authentication]
    assert [type(layer) for layer in doors(open_to_all, telemetry)] == [Outcome]
    assert doors(ServerConfig(), telemetry)[1:] == [only_reads]


def test_readers_may_call_what_the_contract_says_has_no_side_effects():
    (service,) = retrieval_pb2.DESCRIPTOR.services_by_name.values()
    levels = {method.name: method.GetOptions().idempotency_level for method in service.methods}
    reading = {name for name, level in levels.items() if level == MethodOptions.NO_SIDE_EFFECTS}
    assert reading == READING
