"""History: each job that changes an index leaves the way back to how the index was before it.

Where a job has built a new collection, the former one is kept. Where it has changed rows in place,
the rows as they were are kept in a collection of their own, and of new rows that they were not
there. An alias for each job leads to what is kept, so that nobody takes it for a leftover.
"""

import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from getpass import getuser
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from nar.base.errors import IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import PAGE_ROWS, Collection, check_schema, create_collection
from nar.index.collection import find_collection as find
from nar.index.dialect import record_of
from nar.index.digests import RowDigests
from nar.index.finishing import load_rows
from nar.index.milvus import Milvus
from nar.index.publishing import begun, drop_alias, is_dropped, mark, named_aliases, point_alias
from nar.index.rows import IndexRow, id_ranges
from nar.index.settings import IndexConfig

_STATE: Final = "nar.change"
# A row of a kept collection that has no digest was not there before the job.
_ABSENT: Final = ""


class Change(BaseModel):
    """What one job did to an index.

    Attributes:
        number: Counts the jobs of an index up.
        kind: Whether the collection was replaced, or rows of it were changed.
        before: Name of the collection that readers got before the job.
        time: When it was made, ISO 8601.
        user: Who ran it, and where.
        job: Which job it was.
        encoder: Fingerprint of the encoder of the vectors before.
        rows: Rows that are kept for the way back.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    kind: Literal["replaced", "changed"]
    before: str
    time: str
    user: str
    job: str
    encoder: str
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """A change with the collection that leads back."""

    change: Change
    collection: Collection


class History:
    """The jobs that have changed the index of an alias, as far as they are kept.

    Args:
        milvus: The connection.
        config: The alias, and how much is kept.
    """

    def __init__(self, milvus: Milvus, config: IndexConfig) -> None:
        self._milvus = milvus
        self._config = config

    def kept(self) -> list[Kept]:
        """What is kept, the last job first."""
        found = []
        for name in named_aliases(self._milvus):
            if not name.startswith(self._prefix):
                continue
            collection = find(self._milvus, name)
            if collection is not None and (change := _change_of(collection)):
                found.append(Kept(change, collection))
        return sorted(found, key=lambda each: -each.change.number)

    def keep_former(self, former: Collection, job: str) -> None:
        """Keep a collection that a job has replaced."""
        self.keep(former, self._new(former, "replaced", job, former.count(settled=True)))
        former.release()

    def begin(self, live: Collection, job: str) -> "Recording":
        """Record what a job changes in a collection."""
        return Recording(self, live, self._new(live, "changed", job, 0))

    def _new(
        self, before: Collection, kind: Literal["replaced", "changed"], job: str, rows: int
    ) -> Change:
        last = max((each.change.number for each in self.kept()), default=0)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        user = f"{_user()}@{socket.gethostname()}"
        return Change(
            number=last + 1,
            kind=kind,
            before=before.name,
            time=now,
            user=user,
            job=job,
            encoder=before.encoder,
            rows=rows,
        )

    def keep(self, collection: Collection, change: Change) -> None:
        """Note a change on the collection that leads back, and keep that."""
        mark(collection, {_STATE: change.model_dump_json()})
        point_alias(self._milvus, f"{self._prefix}{change.number:05d}", collection.name)
        self._forget_old()

    def _forget_old(self) -> None:
        """Drop what is beyond the number of jobs and of rows that are kept."""
        rows = 0
        for place, each in enumerate(self.kept()):
            rows += each.change.rows
            if place and (place >= self._config.kept_jobs or rows > self._config.kept_rows):
                self.forget(each)

    def forget(self, kept: Kept, *, drops: bool = True) -> None:
        """Forget a change, and drop what is kept of it unless it is in use."""
        drop_alias(self._milvus, f"{self._prefix}{kept.change.number:05d}")
        if drops:
            is_dropped(kept.collection)

    @property
    def _prefix(self) -> str:
        # Seven letters at most are added to an alias, which has 64 at most.
        return f"{self._config.alias}_h"


class Recording:
    """The rows of a collection as they were before a job; kept before they are changed.

    Args:
        history: Where the job is noted.
        live: The collection that is changed.
        change: What is noted of the job.
    """

    def __init__(self, history: History, live: Collection, change: Change) -> None:
        self._history = history
        self._live = live
        self._change = change
        self._kept: Collection | None = None
        self._known = RowDigests()

    def before(self, rows: Sequence[IndexRow], gone: Sequence[str] = ()) -> None:
        """Keep rows as they are now, before they are written or deleted.

        Args:
            rows: Rows that will be written.
            gone: Ids of rows that will be deleted.
        """
        ids = [*(row.id for row in rows), *gone]
        known = self._known.holds(ids)
        new = [key for key, is_known in zip(ids, known, strict=True) if not is_known]
        if not new:
            return
        old = {each.row.id: each for each in self._live.rows({"id": new})}
        records = [record_of(each.row, each.digest) for each in old.values()]
        records += [record_of(row, _ABSENT) for row in rows if row.id in new and row.id not in old]
        if records:
            self._write(records)
        self._known.add(dict.fromkeys(new, "0" * 32))

    def _write(self, records: list[dict[str, object]]) -> None:
        milvus, live = self._live.milvus, self._live
        if self._kept is None:
            name = f"{live.name}_h{self._change.number:05d}"
            stale = find(milvus, name)
            if stale is not None:
                stale.drop()
            self._kept = create_collection(
                milvus,
                name,
                encoder=live.encoder,
                dim=live.dim,
                kind="FLAT",
                marks=begun(milvus, None),
            )
            self._history.keep(self._kept, self._change)
        with milvus.reaching("keep rows as they were"):
            milvus.client.upsert(self._kept.name, records, timeout=milvus.timeout_s)
        self._change = self._change.model_copy(update={"rows": self._change.rows + len(records)})

    def finish(self) -> None:
        """Note how many rows are kept."""
        if self._kept is not None:
            self._kept.flush()
            mark(self._kept, {_STATE: self._change.model_dump_json()})
            self._kept.release()


def go_back(index: ArchitectureIndex, number: int | None, job: str = "rollback") -> list[Change]:
    """Let readers get an index as it was before a job; that is a job, too, and can be undone.

    Rows that clients wrote since into the same collection stay, for no job has named them.

    Args:
        index: The index.
        number: The number of the job; None for the last.
        job: What is noted.

    Returns:
        The jobs that were undone, the last first.

    Raises:
        IndexUnavailableError: The job is not kept.
        IndexMismatchError: Another version of NAR made what is kept.
    """
    history = index.history
    every = history.kept()
    if not every or (number is not None and all(each.change.number != number for each in every)):
        shown = ", ".join(str(each.change.number) for each in every) or "none"
        asked = "of the last job" if number is None else f"of job {number}"
        raise IndexUnavailableError(
            f"nothing is kept {asked} at {index.live.milvus.uri}; kept: {shown} "
            "(`nar index history`)"
        )
    first = every[0].change.number if number is None else number
    undone = [each for each in every if each.change.number >= first]
    target = undone[-1].change.before
    overlay = [
        each for each in undone if each.change.kind == "changed" and each.change.before == target
    ]
    live = index.follow()
    if live.name == target:
        _undo_in_place(index, overlay, job)
    else:
        _replace(index, history, target, overlay, undone, job)
    return [each.change for each in undone]


def _undo_in_place(index: ArchitectureIndex, overlay: Sequence[Kept], job: str) -> None:
    recording = index.history.begin(index.live, job)
    old, gone = _as_they_were(overlay)
    for start in range(0, max(len(old), len(gone)), PAGE_ROWS):
        rows, ids = old[start : start + PAGE_ROWS], gone[start : start + PAGE_ROWS]
        recording.before(rows, ids)
        if rows:
            index.upsert(rows)
        if ids:
            index.delete(ids)
    recording.finish()


def _as_they_were(overlay: Iterable[Kept]) -> tuple[list[IndexRow], list[str]]:
    """Rows as they were before the oldest of some changes, and ids of rows that were not there."""
    rows: dict[str, IndexRow | None] = {}
    for each in overlay:
        load_rows(each.collection)
        for page in each.collection.pages():
            for stored in page:
                rows[stored.row.id] = stored.row if stored.digest != _ABSENT else None
        each.collection.release()
    old = [row for row in rows.values() if row is not None]
    return old, [key for key, row in rows.items() if row is None]


def _replace(
    index: ArchitectureIndex,
    history: History,
    target: str,
    overlay: Sequence[Kept],
    undone: Sequence[Kept],
    job: str,
) -> None:
    """Let readers get another collection: a kept one, or a copy of it with rows as they were."""
    holder = next(each for each in undone if each.collection.name == target)
    check_schema(holder.collection)
    load_rows(holder.collection)
    if not overlay:
        history.forget(holder, drops=False)
        index.adopt_kept(holder.collection, job)
        return
    old, gone = _as_they_were(overlay)
    changed = {row.id for row in old} | set(gone)
    base = holder.collection
    with index.build(base.encoder, base.dim) as build:
        for low, end in id_ranges(base.count(settled=True), PAGE_ROWS):
            ids = [key for key in base.digests_between(low, end) if key not in changed]
            build.load(stored.row for stored in base.rows({"id": ids}))
        build.load(old)
        build.publish(keep_before=True, by=job)


def _change_of(collection: Collection) -> Change | None:
    try:
        return Change.model_validate_json(collection.marks.get(_STATE, ""))
    except ValidationError:
        return None


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # a container may run as a user that has no name
        return "somebody"
