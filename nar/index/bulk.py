"""Bulk loads: a new collection is filled, verified row by row, and only then published."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from types import MappingProxyType, TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import IndexUnavailableError
from nar.index.carrying import Carried, CarriedRows
from nar.index.checks import check_rows
from nar.index.collection import Collection, find_collection
from nar.index.dialect import StoredRow
from nar.index.digests import RowDigests, packed_rows
from nar.index.finishing import awaits_index, build_index, load_rows
from nar.index.milvus import Milvus
from nar.index.publishing import CORPUS, mark, show_change, show_life
from nar.index.rows import IndexRow
from nar.index.settings import IndexConfig

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
