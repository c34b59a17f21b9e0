"""Statuses: every error that becomes a status is met from outside, by every method that can.

A status of the server without a scene is a fault, and so is one that the contract does not tell.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc
from google.protobuf.message import DecodeError
from tiny_index import tiny_embedder, tiny_index

from benchmark.campaigns import scenes
from benchmark.campaigns.campaign import Options, Tally, main
from benchmark.campaigns.messages import UNARY
from benchmark.campaigns.stage import UNKNOWN, VALID, Reached, Stage
from nar.base.errors import (
    FilesAloneError,
    IndexMismatchError,
    IndexUnavailableError,
    InvalidInputError,
    UnknownArchitectureError,
)
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

PROTO: Final = Path(__file__).parents[2] / "proto/nar/v1/retrieval.proto"
# grpc itself tells the caller, not this server.
BY_GRPC: Final = "larger than max"
Scene = Callable[[Stage, str], Reached]


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


EVERY: Final = tuple(UNARY)
WITH_ITEMS: Final = tuple(method for method in UNARY if method not in {"Describe", "List"})
OF_INDEX: Final = tuple(method for method in UNARY if method != "Embed")
CAUSES: Final[Mapping[type[Exception], Cause]] = {
    InvalidInputError: Cause(scenes.invalid, "wanted 1 to", WITH_ITEMS),
    DecodeError: Cause(scenes.no_message, "no message of this method", EVERY),
    UnknownArchitectureError: Cause(scenes.unknown, "nobody", tuple(UNKNOWN)),
    UnauthenticatedError: Cause(scenes.no_token, "Bearer", EVERY),
    ForbiddenError: Cause(scenes.readers_token, "token of a writer", tuple({*UNARY} - READING)),
    OverloadedError: Cause(scenes.full, "in flight", EVERY),
    OversizedError: Cause(scenes.too_large, BY_GRPC, EVERY),
    DrainingError: Cause(scenes.draining, "this server stops", EVERY),
    ExpiredError: Cause(scenes.expired, "Deadline Exceeded", EVERY),
    SlowUploadError: Cause(scenes.slow_upload, "did not come within", EVERY),
    GivenUpError: Cause(scenes.given_up, "was over before", EVERY),
    IndexMismatchError: Cause(scenes.other_encoder, "make one anew", OF_INDEX),
    IndexUnavailableError: Cause(scenes.no_index, "cannot be reached", OF_INDEX),
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
