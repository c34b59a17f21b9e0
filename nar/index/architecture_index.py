"""ArchitectureIndex: known architectures by the direction of their vectors, kept in Milvus.

Readers follow an alias to one collection, whose name tells the encoder and the schema version. Bulk
loads fill another collection (`nar.index.bulk`) and then switch the alias.

When a write returns, all readers see it, and it outlives the process that wrote it and a loss of
power. Milvus Lite hands each batch to the operating system, in a log that it reads when it is
opened again; NAR then waits until the disk has the log. A Milvus server has the batch in its
message queue, whose promises hold.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import IndexMismatchError, IndexUnavailableError
from nar.base.workspace import job
from nar.index.bulk import IndexBuild
from nar.index.checks import check_fingerprints, check_ids, check_page, check_rows
from nar.index.collection import Collection, check_schema, find_collection, page
from nar.index.dialect import expression
from nar.index.filters import EVERYTHING, Filter
from nar.index.milvus import PATIENCE_S, Milvus, MilvusRefusedError
from nar.index.publishing import (
    Holder,
    Lease,
    show_change,
    show_difference,
    staging_collection,
    switch,
)
from nar.index.ranking import Search, check_filter, check_top_k, check_vectors, in_groups, settled
from nar.index.rows import Embedding, Hit, IndexEntry, IndexRow, IndexState, ids_of
from nar.index.settings import IndexConfig

if TYPE_CHECKING:
    from nar.index.history import History

Answer = TypeVar("Answer")


class ArchitectureIndex:
    """The index of one alias; close it, or use it in a `with`.

    Reads may come from several threads. Writes take turns; once one returns, all readers see it.

    Args:
        config: Where it is.
        encoder: Fingerprint of the encoder whose vectors the caller will bring; any if None.

    Raises:
        IndexUnavailableError: Nothing answers, or another process holds its Milvus Lite.
        IndexMismatchError: It holds the vectors of another encoder, or was made by another version
            of NAR. Without an encoder only the first read raises it, so that a caller can still
            open the index to build it again.
    """

    def __init__(self, config: IndexConfig, *, encoder: str | None = None) -> None:
        self._config = config
        self._expected = encoder
        self._writing = RLock()
        self._live: Collection | None = None
        self._milvus = Milvus(config)
        try:
            if encoder is not None:
                self._live = self._follow_alias()
        except BaseException:
            self._milvus.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; a Milvus Lite index is released for other processes."""
        self._milvus.close()

    @property
    def live(self) -> Collection:
        """The collection that readers get.

        Raises:
            IndexUnavailableError: None was published yet.
            IndexMismatchError: It is of another encoder or schema version.
        """
        live = self._live = self._live or self._follow_alias()
        if live is None:
            raise IndexUnavailableError(
                f"no index is published as {self._config.alias!r} at {self._config.uri}; "
                "embed a corpus first"
            )
        return live

    def follow(self) -> Collection:
        """Look where the alias points now: readers get that collection from here on.

        A reader whose call is refused looks by itself. But a publisher that dies between switch and
        drop leaves the old collection in place, which refuses no call; `follow` notices that.

        Returns:
            The collection.

        Raises:
            IndexUnavailableError: Nothing is published, or nothing answers.
            IndexMismatchError: It is of another encoder or schema version.
        """
        named = find_collection(self._milvus, self._config.alias)
        is_same = named is not None and self._live is not None and named.name == self._live.name
        self._live = named if is_same else self._follow_alias()
        return self.live

    @property
    def is_published(self) -> bool:
        """Whether the alias names a collection."""
        return self.published is not None

    @property
    def published(self) -> Collection | None:
        """The collection that the alias names, of whatever encoder and version; None if none."""
        return find_collection(self._milvus, self._config.alias)

    @property
    def encoder(self) -> str:
        """Fingerprint of the encoder that made the vectors."""
        return self.live.encoder

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return self.live.dim

    @property
    def errors(self) -> Mapping[str, int]:
        """How many calls to Milvus have failed, by kind."""
        return self._milvus.errors

    @property
    def agreed_s(self) -> float:
        """When readers were last known to get the published rows: now, as Milvus itself answers."""
        return time.time()

    @property
    def stale_since(self) -> None:
        """Never: Milvus itself answers."""

    @property
    def state(self) -> IndexState:
        """Where the rows are."""
        return IndexState(self.live.name, is_in_memory=False, is_writable=True, visible_within_s=0)

    def count(self) -> int:
        """Number of rows, asked of the index itself."""
        return self._read(Collection.count)

    def counted(self, wanted: Filter) -> int:
        """Number of the rows that pass a filter."""
        check_filter(wanted)
        return self._read(
            partial(Collection.counted, expression=expression(wanted, is_lite=self._config.is_lite))
        )

    @property
    def alias(self) -> str:
        """Name under which readers find it."""
        return self._config.alias

    rows_answering = count  # Milvus alone answers here

    def contains(self, ids: Sequence[str]) -> set[str]:
        """The ids that have a row."""
        check_ids(ids)
        return self._read(lambda live: live.present(ids))

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id; a key that nothing has is left out."""
        ids = ids_of(keys)
        wanted = sorted({one for several in ids.values() for one in several})
        found = self._read(lambda live: live.rows({"id": wanted}))
        rows = {stored.row.id: stored.row for stored in found}
        return {key: rows[one] for key, several in ids.items() for one in several if one in rows}

    def page(self, after: str, limit: int, wanted: Filter = EVERYTHING) -> list[IndexEntry]:
        """The rows of the next ids, in their order.

        Args:
            after: The last id that was shown; empty begins at the first. No other text is taken.
            limit: How many rows, from 1; fewer come only where no more rows pass.
            wanted: The filter that rows must pass.
        """
        check_page(after, limit)
        check_filter(wanted)
        where = expression(wanted, is_lite=self._config.is_lite)
        return self._read(partial(page, after=after, limit=limit, expression=where))

    def sample(self, count: int) -> list[IndexRow]:
        """Rows that are as good as drawn at random."""
        return self._read(partial(Collection.sample, count=count))

    def find_by_fingerprint(
        self,
        *,
        topologies: Sequence[str] = (),
        exacts: Sequence[str] = (),
        inferences: Sequence[str] = (),
    ) -> list[IndexRow]:
        """Rows that have any of these fingerprints, by id, found with one call."""
        wanted = {"topology": topologies, "exact": exacts, "inference": inferences}
        for column, values in wanted.items():
            check_fingerprints(column, values)
        return [stored.row for stored in self._read(lambda live: live.rows(wanted))]

    def search(
        self, vectors: NDArray[np.floating], top_k: int, wanted: Filter = EVERYTHING
    ) -> list[list[Hit]]:
        """The nearest rows of each vector: higher score first, equal scores by id.

        Args:
            vectors: Shape (queries, dim), of any length but 0.
            top_k: From 1 to ``MAX_TOP_K``.
            wanted: The filter that hits must pass.

        Returns:
            For each vector at most ``top_k`` hits; fewer only where no more rows pass.

        Raises:
            InvalidQueryError: Names the vector or condition at fault, or ``top_k``.
        """
        check_top_k(top_k)
        directions = check_vectors(vectors, self.dim)
        check_filter(wanted)
        where = expression(wanted, is_lite=self._config.is_lite)

        def ask(asked: Embedding, limit: int) -> list[list[Hit]]:
            read = partial(Collection.search, vectors=asked, limit=limit, expression=where)
            return self._read(read)

        return settled(directions, top_k, ask)

    def search_all(self, searches: Sequence[Search]) -> list[list[Hit]]:
        """The nearest rows of each search; searches of equal filter and ``top_k`` run as one.

        Raises:
            InvalidQueryError: Names the vector or condition at fault, or ``top_k``.
        """
        return in_groups(searches, self.search)

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Write rows into the live collection; a row of the same id is replaced.

        Raises:
            InvalidInputError: Names the row and field at fault; nothing is written.
            IndexUnavailableError: Also where an index was published meanwhile: write again.
        """
        self._write(partial(upsert_rows, rows=rows, batch_rows=self._config.batch_rows))

    def delete(self, ids: Sequence[str]) -> int:
        """Delete rows of the live collection, and return how many there were."""
        check_ids(ids)
        return self._write(partial(delete_rows, ids=ids, batch_rows=self._config.batch_rows))

    def _write(self, write: Callable[[Collection], Answer]) -> Answer:
        """Write into a collection that the alias names before the write and after it."""
        with self._writing:
            written = self.follow()
            answer = write(written)
            if self.follow().name != written.name:
                raise IndexUnavailableError(
                    f"{written.name} was replaced while it was written to; write again"
                )
        return answer

    def build(self, encoder: str, dim: int, *, job: str | None = None) -> IndexBuild:
        """Start a bulk load, or take one up again.

        Args:
            encoder: Fingerprint of the encoder that makes the vectors.
            dim: Their length.
            job: Names the build, so that it can be taken up again; the same rows must belong to
                the same job. A build without a name is dropped unless it is published.
        """
        with self._writing:
            staging = staging_collection(
                self._milvus, self._config, encoder=encoder, dim=dim, job=job
            )
        return IndexBuild(
            staging,
            self._writing,
            self._adopt,
            self._config,
            keep=job is not None,
        )

    @contextmanager
    def leased(self, holder: Holder) -> Iterator[Lease]:
        """Run the body as the only job that brings the index to a corpus; others are refused.

        Args:
            holder: Who it is.

        Raises:
            IndexInUseError: Another writer is at it; the error names that writer.
        """
        lease = Lease(self._milvus, self._config.alias, holder)
        lease.check()
        try:
            yield lease
        finally:
            lease.give_back()

    def _adopt(self, built: Collection, by: str, catch_up: Callable[[], None]) -> None:
        """Make a verified collection the live one; keep the one before, if a job is named."""
        keep = partial(self.history.keep_former, job=by) if by else None
        switch(self._milvus, self._config.alias, built, catch_up, keep)
        self._live = built

    def adopt_kept(self, kept: Collection, by: str) -> None:
        """Make a collection that was kept the live one again.

        Args:
            kept: The collection; its rows can be read.
            by: The job that does it.
        """
        with self._writing:
            self._adopt(kept, by, lambda: None)

    @property
    def history(self) -> "History":
        """The jobs that have changed it."""
        # Imported here, because it imports this module.
        from nar.index.history import History

        return History(self._milvus, self._config)

    def _read(self, ask: Callable[[Collection], Answer]) -> Answer:
        """Ask the live collection; once more if it was replaced or unloaded meanwhile."""
        try:
            return ask(self.live)
        except MilvusRefusedError:
            # Wait no longer than for any call, although a restarted store may take longer to load.
            self._live = self._follow_alias(self._config.call_timeout_s)
            return ask(self.live)

    def _follow_alias(self, patience_s: float = PATIENCE_S) -> Collection | None:
        live = find_collection(self._milvus, self._config.alias)
        if live is None:
            return None
        check_schema(live)
        if self._expected not in (None, live.encoder):
            raise IndexMismatchError(
                f"wanted vectors of encoder {self._expected}, the index holds those of "
                f"{live.encoder}; make one anew: {job('embed')}, "
                "or `nar index add` into a new file"
            )
        live.load(patience_s)
        return live


def upsert_rows(live: Collection, rows: Sequence[IndexRow], batch_rows: int) -> None:
    """Write rows; a row of the same id is replaced.

    Raises:
        InvalidInputError: Names the row and field at fault; nothing is written.
    """
    check_rows(rows, live.dim)
    show_difference(live)
    for start in range(0, len(rows), batch_rows):
        live.upsert(rows[start : start + batch_rows])
    _settle(live)


def delete_rows(live: Collection, ids: Sequence[str], batch_rows: int) -> int:
    """Delete rows by ids that were checked.

    Returns:
        How many there were.
    """
    present = sorted(live.present(ids))
    show_difference(live)
    for start in range(0, len(present), batch_rows):
        live.delete(present[start : start + batch_rows])
    _settle(live)
    return len(present)


def _settle(live: Collection) -> None:
    """Wait until the write is kept and seen; let readers in other processes look."""
    live.count(settled=True)
    if live.milvus.lite:
        live.milvus.lite.sync()
    else:
        show_change(live)
