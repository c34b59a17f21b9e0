"""Bulk loads: a new collection is filled, verified row by row, and only then published."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from types import TracebackType
from typing import Final, Self

import numpy as np

from nar.errors import IndexMismatchError, IndexUnavailableError, InvalidQueryError
from nar.index.checks import check_rows
from nar.index.collection import Collection
from nar.index.digests import RowDigests
from nar.index.marks import CORPUS, mark, show_life
from nar.index.records import StoredRow
from nar.index.rows import IndexRow, is_fingerprint

Advance = Callable[[int], object]

# How often a build that writes shows that it lives.
LIFE_S: Final = 60.0
_JOB: Final = re.compile(r"[a-z0-9]{1,40}")


class IndexVerificationError(IndexUnavailableError):
    """What reads back is not what was written; nothing was published."""


class IndexBuild:
    """The writer of a collection that no reader sees before `publish`.

    A build under a name of its own can be taken up again after a crash: rows that were
    acknowledged then are still there, and writing them again changes nothing.

    Args:
        staging: The collection to fill; no reader looks there.
        lock: Held while rows are written: Milvus Lite takes one writer at a time.
        adopt: Makes the verified collection the live one; told whether to keep the one before.
        batch_rows: Rows of one write of `load`.
        keep: Whether to keep an unpublished collection for another attempt.

    Attributes:
        staging: The collection.
        rows: What was acknowledged, by this attempt or one before.
    """

    def __init__(
        self,
        staging: Collection,
        lock: AbstractContextManager[bool],
        adopt: Callable[[Collection, bool], None],
        *,
        batch_rows: int,
        keep: bool,
    ) -> None:
        self.staging = staging
        self._lock = lock
        self._adopt = adopt
        self._batch_rows = batch_rows
        self._keep = keep
        self._published = False
        self._show_life_at = 0.0
        self._show_life()
        staging.load()
        self.rows = RowDigests(staging.digest_pages())

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
        while batch := list(islice(remaining, self._batch_rows)):
            self.upsert(batch)
            if advance:
                advance(len(batch))

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Write one batch; when this returns, a crash of this process cannot lose it.

        Raises:
            InvalidInputError: Names the row and field at fault; nothing of the batch is written.
            IndexUnavailableError: Write the batch again.
        """
        if not rows:
            return
        check_rows(rows, self.staging.dim)
        with self._lock:
            self._show_life()
            self.rows.add(self.staging.upsert(rows))

    def _show_life(self) -> None:
        """Or others would take it for a build that was killed."""
        if time.monotonic() >= self._show_life_at:
            show_life(self.staging)
            self._show_life_at = time.monotonic() + LIFE_S

    def publish(
        self, advance: Advance | None = None, *, keep_before: bool = False, corpus: str = ""
    ) -> int:
        """Seal, verify and switch: afterwards every reader gets these rows.

        Args:
            advance: Called with the number of rows after each page is verified.
            keep_before: Whether the collection before is kept, to go back to.
            corpus: Digest of the corpus whose rows these are, no more and no fewer; else empty.

        Returns:
            Number of rows.

        Raises:
            IndexVerificationError: A row is missing, damaged, or was never acknowledged.
        """
        with self._lock:
            self.staging.flush()
            verify(self.staging, self.rows, advance)
            if corpus:
                mark(self.staging, {CORPUS: corpus})
            self._adopt(self.staging, keep_before)
        self._published = True
        return len(self.rows)


def verify(collection: Collection, wanted: RowDigests, advance: Advance | None = None) -> None:
    """Read every row back and compare it, vector bytes included.

    Args:
        collection: What to read.
        wanted: What must be there.
        advance: Called with the number of rows of each page.

    Raises:
        IndexVerificationError: Names the first row at fault.
    """
    seen = np.zeros(len(wanted), dtype=np.bool_)
    for page in collection.pages():
        check_page(page, wanted)
        seen[wanted.places([stored.row.id for stored in page])] = True
        if advance:
            advance(len(page))
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
    rows = [stored.row for stored in page]
    for row, is_known in zip(rows, wanted.holds([row.id for row in rows]), strict=True):
        if not is_known:
            raise IndexVerificationError(f"row {row.id} ({row.name}) was never acknowledged")
    digests = {row.id: row.digest() for row in rows}
    others = wanted.differing(digests)
    for stored, is_other in zip(page, others, strict=True):
        row = stored.row
        if is_other or stored.digest != digests[row.id]:
            raise IndexVerificationError(
                f"row {row.id} ({row.name}) reads back damaged; build again"
            )


def check_names(encoder: str, job: str | None) -> None:
    """Refuse what no build can be called.

    Raises:
        InvalidQueryError: The encoder is no fingerprint, or the job has other letters.
    """
    if not is_fingerprint(encoder):
        raise InvalidQueryError("encoder", f"wanted 64 hexadecimal digits, came {encoder!r}")
    if job is not None and not _JOB.fullmatch(job):
        raise InvalidQueryError("job", f"wanted 1 to 40 of a-z and 0-9, came {job!r}")


def check_same(staging: Collection, encoder: str, dim: int) -> None:
    """Refuse to go on with a build that was begun for other vectors.

    Raises:
        IndexMismatchError: Says what it was begun for.
    """
    if (staging.encoder, staging.dim) != (encoder, dim):
        raise IndexMismatchError(
            f"build {staging.name} was begun for encoder {staging.encoder} with {staging.dim} "
            f"dimensions, now came {encoder} with {dim}; name another job"
        )
