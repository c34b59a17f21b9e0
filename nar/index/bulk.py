"""Bulk loads: a new collection is filled, verified row by row, and only then published.

A job makes the rows of its corpus. An index may have rows that others wrote: another job, `nar
index add`, a client. They leave an index only when somebody names them, so a new collection has
them too. Their vectors are of use beside vectors of the same encoder alone; where the encoder is
another, the job is refused unless it says that this is meant.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType, TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import IndexMismatchError, IndexUnavailableError
from nar.index.checks import check_rows
from nar.index.collection import PAGE_ROWS, SCHEMA_VERSION, Collection, find_collection
from nar.index.dialect import StoredRow
from nar.index.digests import RowDigests, packed_rows
from nar.index.finishing import awaits_index, build_index, load_rows
from nar.index.milvus import Milvus
from nar.index.publishing import CORPUS, mark, show_change, show_life
from nar.index.rows import IndexRow, id_ranges
from nar.index.settings import IndexConfig

# Chosen: sources in a message; more do not fit into two lines of a terminal.
_SHOWN: Final = 5


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
        self, build: "IndexBuild", before: Collection | None, own: RowDigests, *, removes: bool
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


Advance = Callable[[int], object]

# Chosen: how often a build that writes notes that it is alive; a note costs a call or two.
LIFE_S: Final = 60.0
# Chosen: up to so many rows are all read back whole, and of a larger collection a sample of this
# size, which misses damage to one row of ten thousand once in twenty thousand times.
VERIFIED_ROWS: Final = 100_000


class IndexVerificationError(IndexUnavailableError):
    """Rows read back otherwise than they were written; nothing was published."""


class IndexBuild:
    """The writer of a collection that no reader sees before `publish`.

    A build under a name of its own can be taken up again after a crash: rows that were
    acknowledged then are still there, and writing them again changes nothing.

    Args:
        staging: The collection to fill; no reader looks there.
        lock: Held while rows are written: Milvus Lite takes one writer at a time.
        adopt: Makes the verified collection the live one; its second argument names the job for
            which the old collection is kept, if it is; its third is called when readers get the
            new one and the old one is still there.
        config: The kind of index that is published, and how many rows `load` writes at a time.
        keep: Whether to keep an unpublished collection for another attempt.

    Attributes:
        staging: The collection.
        rows: The rows that were acknowledged, in this attempt or an earlier attempt.
    """

    def __init__(
        self,
        staging: Collection,
        lock: AbstractContextManager[bool],
        adopt: Callable[[Collection, str, Callable[[], None]], None],
        config: IndexConfig,
        *,
        keep: bool,
    ) -> None:
        self.staging = staging
        self._config = config
        self._lock = lock
        self._adopt = adopt
        self._keep = keep
        self._carried: CarriedRows | None = None
        self._published = False
        self._show_life_at = 0.0
        load_rows(staging)  # a restarted server accepts no marks before the collection is loaded
        self._show_life()
        self.rows = RowDigests(staging.digest_pages())
        # One with rows stays loaded: what an earlier attempt has written is read.
        if not len(self.rows) and awaits_index(staging, config.kind):
            staging.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not (self._published or self._keep):
            self.staging.drop()

    def load(self, rows: Iterable[IndexRow], advance: Advance | None = None) -> None:
        """Write any number of rows, batch by batch.

        Args:
            rows: Read as they are written.
            advance: Called with the number of rows after each batch is acknowledged.

        Raises:
            InvalidInputError: As `upsert`; the batches before are written.
        """
        remaining = iter(rows)
        while batch := list(islice(remaining, self._config.batch_rows)):
            self.upsert(batch)
            if advance:
                advance(len(batch))

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Write one batch; when this returns, a crash of this process cannot lose it.

        Raises:
            InvalidInputError: Names the row and field at fault; nothing of the batch is written.
            IndexUnavailableError: Milvus failed: write the batch again.
        """
        if not rows:
            return
        check_rows(rows, self.staging.dim)
        with self._lock:
            self.acknowledge(packed_rows(self.staging.upsert(rows)))

    def acknowledge(self, digests: bytes) -> None:
        """Note the rows of a batch that another process has written with `write_staged`.

        Args:
            digests: Ids and digests as `packed_rows` gives them, as Milvus acknowledged them.
        """
        self._show_life()
        self.rows.add_packed(digests)

    def carry_over(self, before: Collection | None, own: RowDigests, *, removes: bool) -> Carried:
        """Take over the rows of others, which this build was not made for, as they are.

        Rows that are written into the published collection until the switch come along, too.

        Args:
            before: The published collection, of the same encoder; None where there is none.
            own: The rows that the build is made for; an own row that could not be made is taken
                over as it was.
            removes: Whether rows of others are left behind.

        Returns:
            How many rows of others the build has now, and how many it leaves behind.
        """
        self._carried = CarriedRows(self, before, own, removes=removes)
        return self._carried.bring()

    def descriptions(self) -> RowDigests:
        """The description of each row that an earlier attempt has written."""
        if not len(self.rows):
            return RowDigests()
        pages = self.staging.entry_pages()
        return RowDigests({entry.id: entry.description() for entry in page} for page in pages)

    def drop_rows(self, ids: Sequence[str]) -> None:
        """Take rows out again that an earlier attempt has written."""
        if ids:
            with self._lock:
                self.staging.delete(ids)
            self.rows = self.rows.without(ids)

    def _show_life(self) -> None:
        """Note that the build is alive, or others would take it for a build that was killed."""
        if time.monotonic() >= self._show_life_at:
            show_life(self.staging)
            self._show_life_at = time.monotonic() + LIFE_S

    def publish(
        self,
        advance: Advance | None = None,
        *,
        keep_before: bool = False,
        corpus: str = "",
        by: str = "a bulk load",
    ) -> int:
        """Seal, build the index, verify, and switch: afterwards every reader gets these rows.

        Args:
            advance: Called with the number of rows after each page is verified.
            keep_before: Whether the old collection is kept, to go back to.
            corpus: Digest of the corpus whose rows these are, no more and no fewer; else empty.
            by: The job, for the history.

        Returns:
            Number of rows.

        Raises:
            IndexVerificationError: A row is missing, damaged, or was never acknowledged.
            IndexUnavailableError: Also where Milvus makes no progress with its index.
        """
        with self._lock:
            self.staging.flush()
            build_index(self.staging, self._config.kind, self._show_life)
            verify(self.staging, self.rows, advance)
            if corpus:
                mark(self.staging, {CORPUS: corpus})
            self._adopt(self.staging, by if keep_before else "", self._catch_up)
        self._published = True
        return len(self.rows)

    def _catch_up(self) -> None:
        """Take over what others wrote into the collection before while this one was built."""
        if self._carried is None:
            return
        before = self._carried.changes
        self._carried.bring()
        if self._carried.changes == before:
            return
        mark(self.staging, {CORPUS: ""})
        self.staging.flush()
        if not self.staging.milvus.lite:
            show_change(self.staging)


def staged(config: IndexConfig, name: str) -> Collection:
    """The collection that a build fills, for a process that writes into it beside others.

    Args:
        config: Where: a Milvus server, for Milvus Lite takes one writer.
        name: Of `IndexBuild.staging`.

    Raises:
        IndexUnavailableError: Nothing answers there, or the collection is gone.
    """
    collection = find_collection(Milvus(config), name)
    if collection is None:
        raise IndexUnavailableError(f"collection {name} is not at {config.uri} any more; run again")
    return collection


def write_staged(collection: Collection, rows: Sequence[IndexRow], batch_rows: int) -> bytes:
    """Write rows into a collection of `staged`; a row of the same id is replaced.

    Returns:
        Ids and digests of the rows, for `IndexBuild.acknowledge`.

    Raises:
        InvalidInputError: Names the row and field at fault; nothing is written.
        IndexUnavailableError: Milvus failed: write all the rows again.
    """
    check_rows(rows, collection.dim)
    digests: dict[str, str] = {}
    for start in range(0, len(rows), batch_rows):
        digests |= collection.upsert(rows[start : start + batch_rows])
    return packed_rows(digests)


def verify(collection: Collection, wanted: RowDigests, advance: Advance | None = None) -> None:
    """Read back what was written: of every row its id and digest, and whole rows to compare.

    Up to `VERIFIED_ROWS` all rows are compared whole, vector bytes included. In a larger collection
    that many rows are compared: those of the first ids, which is a random sample, since ids are
    hashes. Damage to one row of ten thousand is then missed once in twenty thousand times.

    Args:
        collection: The collection to read.
        wanted: The rows that must be there.
        advance: Called with the number of whole rows of each page.

    Raises:
        IndexVerificationError: Names the first row at fault.
    """
    is_sampled = len(wanted) > VERIFIED_ROWS
    seen = np.zeros(len(wanted), dtype=np.bool_)
    if is_sampled:
        for digests in collection.digest_pages():
            seen[_check_same(digests, wanted)] = True
    compared = 0
    for page in collection.pages():
        check_page(page, wanted)
        seen[wanted.places([stored.row.id for stored in page])] = True
        compared += len(page)
        if advance:
            advance(len(page))
        if is_sampled and compared >= VERIFIED_ROWS:
            break
    lost = np.flatnonzero(~seen)
    if len(lost):
        raise IndexVerificationError(
            f"{len(lost)} of {len(wanted)} acknowledged rows are missing, "
            f"{wanted.ids(lost[:1])[0]} among them; build again"
        )


def check_page(page: Sequence[StoredRow], wanted: RowDigests) -> None:
    """Compare rows that were read with what was written.

    Raises:
        IndexVerificationError: Names the first row at fault.
    """
    names = {stored.row.id: f" ({stored.row.name})" for stored in page}
    _check_same({stored.row.id: stored.row.digest() for stored in page}, wanted, names)
    _check_same({stored.row.id: stored.digest for stored in page}, wanted, names)


# The name that an error shows behind an id, where it was read.
_Names = Mapping[str, str]


def _check_same(
    digests: Mapping[str, str], wanted: RowDigests, names: _Names = MappingProxyType({})
) -> NDArray[np.intp]:
    """Refuse rows that are not as they were written; the number of each among those wanted."""
    places, are_same = wanted.compared(packed_rows(digests))
    if not are_same.all():
        at = int(np.argmin(are_same))
        key = list(digests)[at]
        fault = "was never acknowledged" if places[at] < 0 else "reads back damaged; build again"
        raise IndexVerificationError(f"row {key}{names.get(key, '')} {fault}")
    return places
