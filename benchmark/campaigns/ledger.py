"""What rows a store must hold, by what its writers said, and what it holds instead."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from benchmark.campaigns.writer import DIM, ENCODER, config_of, is_deletion, row_of
from nar.base.errors import IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex

# No row of that number.
NONE = None
Version = int | None


@dataclass(slots=True)
class Ledger:
    """The versions that each row may have: one, or two after a write that nobody acknowledged.

    Attributes:
        acknowledged: Writes of rows that were.
    """

    acknowledged: int = 0
    _versions: dict[int, set[Version]] = field(default_factory=dict)

    def read(self, lines: Iterable[str]) -> None:
        """Take in what a writer of the live collection said before it was killed."""
        for line in lines:
            word, *numbers = line.split()
            if word not in {"begin", "done"}:
                continue
            start, stop, version = map(int, numbers)
            written = NONE if is_deletion(start, version) else version
            for number in range(start, stop):
                if word == "begin":
                    self._versions.setdefault(number, {NONE}).add(written)
                else:
                    self._versions[number] = {written}
            self.acknowledged += (stop - start) * (word == "done")

    def compare(self, held: Mapping[str, str]) -> list[str]:
        """What is wrong with the rows that are there; what is there is known from here on.

        Args:
            held: Digest of every row as it reads back, vector included, by id.
        """
        remaining, faults = dict(held), []
        for number, versions in self._versions.items():
            digest = remaining.pop(id_of(number), None)
            fitting = {each for each in versions if digest_of(number, each) == digest}
            if not fitting:
                faults.append(f"row {number} should be of version {versions}, is {digest}")
            self._versions[number] = fitting or versions
        return faults + [f"row {each} was never written" for each in remaining]


@cache
def id_of(number: int) -> str:
    """Id of a row, whatever its version."""
    return row_of(number, 0).id


@cache
def digest_of(number: int, version: Version) -> str | None:
    """Digest of a row, None for no row."""
    return None if version is NONE else row_of(number, version).digest()


def make_live(store: str) -> None:
    """Publish an empty collection for writers."""
    with ArchitectureIndex(config_of(store, "live")) as index, index.build(ENCODER, DIM) as build:
        build.publish()


def held_by(store: str, alias: str) -> dict[str, str]:
    """Digest of every row of a store as it reads back, by id."""
    with ArchitectureIndex(config_of(store, alias)) as index:
        return digests_of(index)


def digests_of(index: ArchitectureIndex) -> dict[str, str]:
    """Digest of every row of an index as it reads back, by id."""
    rows = (stored.row for page in index.live.pages() for stored in page)
    return {row.id: row.digest() for row in rows}


def answers(store: str) -> bool:
    """Whether a store can be asked; a server that recovers listens before it can."""
    try:
        with ArchitectureIndex(config_of(store, "live")) as index:
            _ = index.is_published
    except IndexUnavailableError:
        return False
    return True
