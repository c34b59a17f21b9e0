"""A process that writes rows until it is killed, and says before and after each write which.

Run: python -m benchmark.campaigns.writer live|build STORE FIRST LAST VERSION [FILE_BYTES]

``begin 40 48 3`` stands before the rows 40 to 47 of version 3 are written, ``done 40 48 3`` after
they were acknowledged; the latter is printed before anything else is done.
"""

import resource
import sys
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from oracle import row

from nar.index.architecture_index import ArchitectureIndex
from nar.index.rows import IndexRow
from nar.index.settings import IndexConfig

DIM: Final = 8
ENCODER: Final = "e" * 64
BATCH_ROWS: Final = 100
# What a batch of the live collection is: every fourth is deleted, whatever was written before.
DELETED: Final = 4


def row_of(number: int, version: int) -> IndexRow:
    """What is written of a row: numbers and version tell everything."""
    vector = np.random.default_rng((number, version)).normal(size=DIM)
    return row(f"row {number}", *vector, parameters=number, nodes=version)


def config_of(store: str, alias: str) -> IndexConfig:
    """Where rows go: a directory of Milvus Lite, or a server."""
    # A Milvus server that has just come up reads for longer than a call may take elsewhere.
    return IndexConfig(uri=store, alias=alias, batch_rows=BATCH_ROWS, timeout_s=60.0)


def is_deletion(first: int, version: int) -> bool:
    """Whether a batch of the live collection deletes its rows."""
    return (first // BATCH_ROWS + version) % DELETED == 0


def batches(first: int, last: int) -> Iterator[tuple[int, int]]:
    """First row and end of each batch."""
    for start in range(first, last, BATCH_ROWS):
        yield start, min(start + BATCH_ROWS, last)


def write_live(store: str, first: int, last: int, version: int) -> None:
    """Write rows into the live collection, and delete some."""
    with ArchitectureIndex(config_of(store, "live"), encoder=ENCODER) as index:
        say("open")
        for start, stop in batches(first, last):
            say("begin", start, stop, version)
            rows = [row_of(number, version) for number in range(start, stop)]
            if is_deletion(start, version):
                index.delete([each.id for each in rows])
            else:
                index.upsert(rows)
            say("done", start, stop, version)


def write_build(store: str, first: int, last: int, version: int) -> None:
    """Build a collection of all rows, or go on with one, and publish it."""
    with ArchitectureIndex(config_of(store, "built")) as index:
        say("open")
        with index.build(ENCODER, DIM, job=f"v{version}") as build:
            for start, stop in batches(first, last):
                say("begin", start, stop, version)
                build.upsert([row_of(number, version) for number in range(start, stop)])
                say("done", start, stop, version)
            say("publish", first, last, version)
            build.publish()
        say("published", first, last, version)


def say(*words: object) -> None:
    """Tell the parent, at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


KINDS: Final[dict[str, Callable[[str, int, int, int], None]]] = {
    "live": write_live,
    "build": write_build,
}

if __name__ == "__main__":
    kind, store, *numbers = sys.argv[1:]
    first, last, version, *limit = map(int, numbers)
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit[0], limit[0]))
    KINDS[kind](store, first, last, version)
