"""Rows of others: what a new collection takes over from the collection that it replaces.

A job makes the rows of its corpus. An index may have rows that others wrote: another job, `nar
index add`, a client. They leave an index only when somebody names them, so a new collection has
them too. Their vectors are of use beside vectors of the same encoder alone; where the encoder is
another, the job is refused unless it says that this is meant.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from nar.base.errors import IndexMismatchError
from nar.index.collection import PAGE_ROWS, SCHEMA_VERSION, Collection
from nar.index.digests import RowDigests
from nar.index.finishing import load_rows
from nar.index.rows import IndexRow, id_ranges

# Chosen: sources in a message; more do not fit into two lines of a terminal.
_SHOWN: Final = 5


class Build(Protocol):
    """A build, as far as rows are brought into it; see `nar.index.bulk.IndexBuild`."""

    rows: RowDigests

    def load(self, rows: Iterable[IndexRow]) -> None:
        """Write rows."""

    def drop_rows(self, ids: list[str]) -> None:
        """Take rows out again."""


def check_replaceable(
    before: Collection | None, encoder: str, own: Callable[[], RowDigests], *, other_encoder: bool
) -> Collection | None:
    """The published collection whose rows of others a new collection takes over.

    Args:
        before: The published collection; None where there is none.
        encoder: Fingerprint of the encoder of the new collection.
        own: Gives the rows that the new collection is built for; asked before a refusal.
        other_encoder: Whether a collection of another encoder may be replaced.

    Returns:
        The collection; None where there is none, or none whose vectors are of use.

    Raises:
        IndexMismatchError: It is of another encoder or version, and ``other_encoder`` is not set;
            says how many rows of whom would go.
    """
    if before is None:
        return None
    is_same = (before.encoder, before.schema_version) == (encoder, SCHEMA_VERSION)
    if is_same:
        return before
    if other_encoder:
        return None
    raise IndexMismatchError(
        f"the index at {before.milvus.uri} was made {_otherwise(before, encoder)}; in its place "
        f"{_lost(before, own())}, and running servers of it would refuse the new one; say "
        "--other-encoder if this is meant, or name another index with --uri or `index.alias`"
    )


def _otherwise(before: Collection, encoder: str) -> str:
    if before.encoder != encoder:
        return f"with the encoder {before.encoder[:16]}, and this would be {encoder[:16]}"
    return f"by another version of NAR (schema {before.schema_version}, now {SCHEMA_VERSION})"


def _lost(before: Collection, own: RowDigests) -> str:
    """How many rows of whom the corpus does not have."""
    if before.schema_version != SCHEMA_VERSION:
        return "rows that the corpus does not have would go"
    load_rows(before)
    sources: Counter[str] = Counter()
    for page in before.entry_pages():
        is_own = own.holds([entry.id for entry in page])
        sources.update(e.source for e, known in zip(page, is_own, strict=True) if not known)
    if not sources:
        return "no row would go that the corpus does not have"
    few = ", ".join(f"{count:,} of {source}" for source, count in sources.most_common(_SHOWN))
    more = ", ..." if len(sources) > _SHOWN else ""
    return f"{sources.total():,} rows would go that the corpus does not have ({few}{more})"


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of the rows of others.

    Attributes:
        strangers: Rows of others that were taken over.
        left: Rows of others that were left behind, as was asked for.
    """

    strangers: int
    left: int


class CarriedRows:
    """Rows of others that a build takes over from the published collection.

    Args:
        build: The build.
        before: The published collection; None where there is none.
        own: The rows that the build is made for.
        removes: Whether rows of others are left behind.

    Attributes:
        changes: How many rows were written and taken out again so far.
    """

    def __init__(
        self, build: Build, before: Collection | None, own: RowDigests, *, removes: bool
    ) -> None:
        self._build = build
        self._before = before
        self._own = own
        self._removes = removes
        self.changes = 0

    def bring(self) -> Carried:
        """Make the build have each row of others as it is now.

        What an earlier attempt took over, and somebody has deleted since, goes again.
        """
        kept, known = RowDigests(), RowDigests()
        if self._before is not None:
            load_rows(self._before)
            for low, end in id_ranges(self._before.count(settled=True), PAGE_ROWS):
                digests = self._before.digests_between(low, end)
                kept.add(self._bring(self._before, digests))
                known.add(digests)
        gone = self._build.rows.beside(self._own, kept)
        self._build.drop_rows(gone)
        self.changes += len(gone)
        strangers = len(known.beside(self._own))
        return Carried(0, strangers) if self._removes else Carried(strangers, 0)

    def _bring(self, before: Collection, digests: Mapping[str, str]) -> dict[str, str]:
        """Take over what is missing of some rows; the rows that the build is to have."""
        ids = list(digests)
        is_own = self._own.holds(ids)
        is_made = self._build.rows.holds(ids)
        wanted = {
            key: digests[key]
            for key, own, made in zip(ids, is_own, is_made, strict=True)
            if (not made if own else not self._removes)
        }
        differ = self._build.rows.differing(wanted)
        missing = [key for key, is_other in zip(wanted, differ, strict=True) if is_other]
        if missing:
            self._build.load(stored.row for stored in before.rows({"id": missing}))
            self.changes += len(missing)
        return wanted
