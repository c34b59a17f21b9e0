"""Statuses: every error that becomes a status is met from outside, by every method that can.

A status of the server without a scene is a fault, as is a status that the contract lacks.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final, NoReturn, cast

import grpc
import pytest
from asking import sample
from gated import Gate, fail
from google.protobuf.message import DecodeError
from live_server import LiveServer
from tiny_index import tiny_embedder, tiny_index
from waiting import wait_for

from benchmark.campaigns import statuses as scenes
from benchmark.campaigns.campaign import Options, Tally, main
from benchmark.campaigns.messages import SERVICE, UNARY
from benchmark.campaigns.stage import UNKNOWN, VALID, Reached, Stage, asked, connected, reached
from nar.base.errors import (
    FilesAloneError,
    IndexFullError,
    IndexMismatchError,
    IndexUnavailableError,
    InvalidInputError,
    UnknownArchitectureError,
)
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import create_collection
from nar.index.exact import ExactIndex
from nar.index.publishing import point_alias
from nar.index.reader import Reader
from nar.index.settings import IndexConfig
from nar.serve import server as server_module
from nar.serve.doors import READING
from nar.serve.status import (
    CODES,
    DrainingError,
    ExpiredError,
    ForbiddenError,
    GivenUpError,
    OverloadedError,
    OversizedError,
    SlowUploadError,
    UnauthenticatedError,
)

TOKENS: Final = {"token": "writer"}
AS_READER: Final = (("authorization", "Bearer reader"),)
SHORT_S: Final = 0.3
EXPIRED_CALLS: Final = 8
LOOKED_AT_S: Final = 10.0
PROTO: Final = Path(__file__).parents[2] / "proto/nar/v1/retrieval.proto"
# grpc itself tells the caller, not this server.
BY_GRPC: Final = "larger than max"
Scene = Callable[[Stage, str], Reached]
EVERY: Final = tuple(UNARY)
WITH_ITEMS: Final = tuple(method for method in UNARY if method not in {"Describe", "List"})
OF_INDEX: Final = tuple(method for method in UNARY if method != "Embed")


def invalid(stage: Stage, method: str) -> Reached:
    """A call without an item."""
    with stage.server() as server, connected(server) as channel:
        return asked(channel, method, b"")


def no_message(stage: Stage, method: str) -> Reached:
    """Bytes that are no message."""
    with stage.server() as server, connected(server) as channel:
        return asked(channel, method, b"\xff\xff\xff")


def unknown(stage: Stage, method: str) -> Reached:
    """An item that asks for what is not indexed."""
    with stage.server() as server, connected(server) as channel:
        return asked(channel, method, UNKNOWN[method])


def no_token(stage: Stage, method: str) -> Reached:
    """A call of a stranger."""
    with stage.server(**TOKENS) as server, connected(server) as channel:
        return asked(channel, method, VALID[method])


def readers_token(stage: Stage, method: str) -> Reached:
    """A writing call of a reader."""
    with tempfile.NamedTemporaryFile("w") as readers:
        readers.write("reader")
        readers.flush()
        settings = {**TOKENS, "reader_tokens_file": readers.name}
        with stage.server(**settings) as server, connected(server) as channel:
            return asked(channel, method, VALID[method], metadata=AS_READER)


def full(stage: Stage, method: str) -> Reached:
    """A call that comes while as many as may be are under way."""
    gate = Gate()
    with stage.server(gate, max_in_flight=1) as server, connected(server) as channel:
        search = channel.unary_unary(f"/{SERVICE.full_name}/Search")
        held = search.future(VALID["Search"].SerializeToString())
        wait_for(lambda: gate.arrived == 1)
        refused = asked(channel, method, VALID[method])
        gate.open()
        held.result()
        return refused


def too_large(stage: Stage, method: str) -> Reached:
    """A message above the limit."""
    with stage.server(max_message_bytes=1_024) as server, connected(server) as channel:
        refused = asked(channel, method, bytes(2_000))
        counted = "nar_rpc_rejected_total"
        wait_for(lambda: sample(server, counted, reason="oversized") == 1)
        return refused


def draining(stage: Stage, method: str) -> Reached:
    """A call after the server was told to stop, and before it is gone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_module, "NOTICE_S", 2 * SHORT_S)
        with stage.server() as server, connected(server) as channel:
            asked(channel, "Describe", VALID["Describe"])
            server.begin_stop()
            last = Reached("OK")
            while last.code == "OK":
                last = asked(channel, method, VALID[method])
            return last


def expired(stage: Stage, method: str) -> Reached:
    """A call that is looked at when its deadline is over.

    The caller's own clock has told the caller, and grpc may drop the call before it is looked at:
    then there is another.
    """
    with stage.server() as server, connected(server) as channel:
        asked(channel, "Describe", VALID["Describe"])
        for _ in range(EXPIRED_CALLS):
            ended = held_up(server, lambda: asked(channel, method, VALID[method], timeout=SHORT_S))
            with suppress(AssertionError):
                wait_for(
                    lambda: sample(server, "nar_rpc_rejected_total", reason="expired") > 0,
                    limit_s=LOOKED_AT_S,
                )
                return ended
    raise AssertionError(f"none of {EXPIRED_CALLS} expired calls was looked at")


def held_up(server: LiveServer, call: Callable[[], Reached]) -> Reached:
    """What a call ends with that a server does not look at before."""
    gate = Gate()
    server.between_calls(gate)
    wait_for(lambda: gate.arrived == 1)
    ended = call()
    gate.open()
    return ended


def slow_upload(stage: Stage, method: str) -> Reached:
    """A message that does not come."""
    gate = Gate()

    def never() -> Iterator[bytes]:
        gate()
        yield b""

    with stage.server(max_upload_s=SHORT_S) as server, connected(server) as channel:
        call = channel.stream_unary(f"/{SERVICE.full_name}/{method}").future(never())
        ended = reached(call, method)
        gate.open()
        return ended


def given_up(stage: Stage, method: str) -> Reached:
    """A call that takes longer than any may."""
    gate = Gate()
    with stage.server(gate, max_call_s=SHORT_S) as server, connected(server) as channel:
        ended = asked(channel, method, VALID[method])
        gate.open()
        return ended


def other_encoder(stage: Stage, method: str) -> Reached:
    """The alias names vectors of another encoder by now."""
    with own_index(stage) as own, own.server() as server, connected(server) as channel:
        before = own.index.live
        other = create_collection(
            before.milvus, "other", encoder="f" * 64, dim=before.dim, kind="FLAT"
        )
        point_alias(before.milvus, IndexConfig().alias, other.name)
        before.drop()
        return asked(channel, method, VALID[method])


def no_index(stage: Stage, method: str) -> Reached:
    """The index is gone."""
    with own_index(stage) as own, own.server() as server, connected(server) as channel:
        own.index.close()
        return asked(channel, method, VALID[method])


def full_disk(stage: Stage, method: str) -> Reached:
    """The disk below the index has no room."""

    def refuse(*_: object) -> NoReturn:
        raise IndexFullError("no space left on device")

    with (
        own_index(stage) as own,
        own.server() as server,
        connected(server) as channel,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(own.index, method.lower(), refuse)
        return asked(channel, method, VALID[method])


def files_alone(stage: Stage, method: str) -> Reached:
    """Rows of files answer, and the index behind them cannot be opened."""

    def refuse(_: Event) -> NoReturn:
        raise IndexUnavailableError("nobody opens it")

    rows = ExactIndex(stage.index.sample(stage.index.count()), dim=stage.embedder.dim)
    with Reader(refuse, IndexConfig(), rows) as index:
        alone = Stage(stage.embedder, cast(ArchitectureIndex, index))
        with alone.server() as server, connected(server) as channel:
            return asked(channel, method, VALID[method])


@contextmanager
def own_index(stage: Stage) -> Iterator[Stage]:
    """A stage with an index that may be broken, opened as a server opens its own."""
    with tempfile.TemporaryDirectory() as directory:
        with tiny_index(Path(directory), stage.embedder):
            config = IndexConfig(uri=str(Path(directory) / "index.db"))
        with ArchitectureIndex(config, encoder=stage.embedder.fingerprint) as index:
            yield Stage(stage.embedder, index)


def fault(stage: Stage, method: str) -> Reached:
    """Something that nobody has foreseen."""
    with stage.server(fail) as server, connected(server) as channel:
        return asked(channel, method, VALID[method])


@dataclass(frozen=True, slots=True)
class Cause:
    """How an error is met.

    Attributes:
        scene: Meets it.
        words: What the message says, so that no other error is taken for it.
        methods: By which.
    """

    scene: Scene
    words: str
    methods: tuple[str, ...]


CAUSES: Final[Mapping[type[Exception], Cause]] = {
    InvalidInputError: Cause(scenes.invalid, "wanted 1 to", WITH_ITEMS),
    DecodeError: Cause(scenes.no_message, "no message of this method", EVERY),
    UnknownArchitectureError: Cause(scenes.unknown, "nobody", tuple(UNKNOWN)),
    UnauthenticatedError: Cause(scenes.no_token, "Bearer", EVERY),
    ForbiddenError: Cause(scenes.readers_token, "a token that may", tuple({*UNARY} - READING)),
    OverloadedError: Cause(scenes.full, "in flight", EVERY),
    OversizedError: Cause(scenes.too_large, BY_GRPC, EVERY),
    DrainingError: Cause(scenes.draining, "this server stops", EVERY),
    ExpiredError: Cause(scenes.expired, "Deadline Exceeded", EVERY),
    SlowUploadError: Cause(scenes.slow_upload, "did not come within", EVERY),
    GivenUpError: Cause(scenes.given_up, "was over before", EVERY),
    IndexMismatchError: Cause(scenes.other_encoder, "make one anew", OF_INDEX),
    IndexUnavailableError: Cause(scenes.no_index, "cannot be reached", OF_INDEX),
    IndexFullError: Cause(scenes.full_disk, "is full", ("Upsert", "Delete")),
    FilesAloneError: Cause(scenes.files_alone, "files", ("Upsert", "Delete")),
    Exception: Cause(scenes.fault, "internal error", EVERY),
}


@dataclass(frozen=True, kw_only=True)
class Statuses(Options):
    """Nothing to be told."""


def statuses(told: Statuses) -> Iterator[Tally]:
    """Meet each error by each method."""
    wanted = [(kind, method) for kind, cause in CAUSES.items() for method in cause.methods]
    faults, codes = list(untold()), set[str]()
    with tempfile.TemporaryDirectory() as directory:
        embedder = tiny_embedder(told.seed)
        with tiny_index(Path(directory), embedder) as index:
            stage = Stage(embedder, index)
            for done, (kind, method) in enumerate(wanted, start=1):
                came = CAUSES[kind].scene(stage, method)
                codes.add(came.code)
                if came.code != code_of(kind) or CAUSES[kind].words not in came.words:
                    faults.append(f"{method}: wanted {kind.__name__}, came {came}")
                yield Tally(done, len(wanted), {"codes": len(codes)}, tuple(faults))


def code_of(kind: type[Exception]) -> str:
    """The name of the status that an error becomes."""
    return CODES[kind].name if kind in CODES else grpc.StatusCode.INTERNAL.name


def untold() -> Iterator[str]:
    """Statuses that nobody meets, or that the contract does not tell, or tells in vain."""
    for kind in CODES.keys() - CAUSES.keys():
        yield f"{kind.__name__} has no scene"
    for method in set(UNARY) - VALID.keys():
        yield f"{method} has no valid request"
    told = set(re.findall(r"^//   ([A-Z_]+)  +\S", PROTO.read_text(), re.MULTILINE))
    for code in told ^ {code_of(kind) for kind, cause in CAUSES.items() if cause.methods}:
        yield f"{code} is {'told' if code in told else 'not told'} by the contract"


if __name__ == "__main__":
    main(Statuses, statuses)
