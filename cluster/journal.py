"""All captures so far, model by model: a killed job loses seconds of work, not hours.

Captures come in about the order of names and are kept in small batches: a Parquet file of rows,
with a note of everything else. A store has the notes of all batches for asking. A corpus is made
from the journal, never the other way.
"""

import math
import time
import zlib
from base64 import b85decode, b85encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pydantic import Field

from nar.base.errors import CorpusError
from nar.corpus import read_shard, write_shard
from nar.corpus.manifest import Failure, ShardEntry
from nar.corpus.shards import FAST, read_note
from nar.graphs.architecture import Architecture
from nar.graphs.assumed import Assumed
from nar.zoo.spec import ZooCapture

from .journal_store import FILE as STORE
from .journal_store import JournalStore, State, StoredItem
from .ledger import Ledger, Record, digest, file_digest
from .provenance import source_name

_SUFFIX: Final = ".parquet"
_OLD_RECORD: Final = ".json"
# What the store has in columns of its own.
_APART: Final = {"name", "identity", "ingredients"}
# Chosen: batches are merged where that leaves half of the files at most, so that a file is written
# again once while the number of models doubles.
_WORTH: Final = 2
# Chosen: models are captured in the order of their names, so that at the border of two shards lie
# as many as are under way: 256 workers with four calls each fill 16 batches of 64.
_KEPT_BATCHES: Final = 16


class ItemRecord(Record):
    """The record of one model beside its row.

    Attributes:
        name: Its name: its spec, unless a zoo declares another.
        identity: Digest of everything that decides the result.
        seconds: Worker time, all tries included.
        steps: Seconds of the last try by step; empty if it failed.
        unknown_operators: Occurrences of each operator outside the vocabulary.
        failure: Why the model has no row; None if it has a row.
        assumed: What was assumed of a user's own model; None where nothing was.
        ingredients: What the identity is the digest of; empty in journals of older versions.
        read: Files of the user's own that the capture opened, each with its state.
        unchecked: What may decide the graph, and whose changes nobody notices.
        why: Why it was captured.
        spec: What was captured; empty where it is the name.
    """

    name: str
    identity: str
    seconds: float
    steps: dict[str, float] = Field(default_factory=dict)
    unknown_operators: dict[str, int] = Field(default_factory=dict)
    failure: Failure | None = None
    assumed: Assumed | None = None
    ingredients: dict[str, str] = Field(default_factory=dict)
    read: dict[str, str] = Field(default_factory=dict)
    unchecked: tuple[str, ...] = ()
    why: str = ""
    spec: str = ""

    @property
    def content(self) -> str:
        """Digest of everything that decides the row, files that only the capture knew of, too."""
        read = [part for each in sorted(self.read.items()) for part in each]
        return digest(self.identity, *read) if read else self.identity


class RunRecord(Record):
    """The run that made a batch.

    Attributes:
        seconds: Wall time since the last batch, or since the run began.
        workers: Processes that shared the run.
        cores: Processor cores that they had.
        labels: Digest of the tables from which labels were read.
    """

    seconds: float
    workers: int
    cores: int
    labels: str


class BatchNote(Record):
    """What the file of a batch says of it besides its rows.

    Attributes:
        items: Its models, those without a row, too.
        run: The run that made it.
    """

    items: tuple[ItemRecord, ...]
    run: RunRecord


class BatchRecord(BatchNote):
    """The file of JSON that older versions wrote beside a batch.

    Attributes:
        entry: File, rows and digest of the batch.
    """

    entry: ShardEntry


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one model: its record and, unless it failed, its row."""

    record: ItemRecord
    row: Architecture | None


@dataclass(frozen=True, slots=True)
class SettledModel:
    """A model that needs no capture.

    Attributes:
        record: Its record.
        batch: Number of the batch that has it.
        called: The name that its row gets; several models may share one capture.
    """

    record: ItemRecord
    batch: int
    called: str


@dataclass(slots=True)
class _Open:
    """A batch that is not written yet."""

    since: float = field(default_factory=lambda: time.monotonic())
    results: list[Result] = field(default_factory=list)


class Journal:
    """All captures of a workspace.

    Args:
        directory: Where its batches are; made when the first is written.
        is_read_only: Whether it is only looked into, while a job may write it.

    Raises:
        CorpusError: The store cannot be opened.
    """

    def __init__(self, directory: Path, *, is_read_only: bool = False) -> None:
        self._directory = directory
        self._store = JournalStore(directory, is_read_only=is_read_only)
        self._read: dict[int, list[Architecture]] = {}
        self._runs: dict[int, RunRecord] = {}
        self._next = 0
        files = {int(path.stem): path for path in directory.glob(f"*{_SUFFIX}")}
        if not files and not (directory / STORE).exists():
            return
        states = self._store.states()
        self._next = 1 + max((*files, *states), default=-1)
        if not self._store.is_read_only:
            self._read_batches(files, states)

    def close(self) -> None:
        """Give its file back."""
        self._store.close()

    def find(self, name: str, identity: str) -> SettledModel | None:
        """The result of a model, if nothing that decides it has changed since."""
        return _settled(self._store.find(name, identity)) if self._next else None

    def latest(self, name: str) -> SettledModel | None:
        """The last result of a model, whatever decided it."""
        return _settled(self._store.latest(name)) if self._next else None

    def run_of(self, batch: int) -> RunRecord:
        """The run that made a batch."""
        if batch not in self._runs:
            self._runs[batch] = RunRecord.model_validate_json(next(self._store.runs([batch])))
        return self._runs[batch]

    def write(self, results: Sequence[Result], run: RunRecord) -> None:
        """Write a batch: when this returns, the batch survives a kill."""
        number = self._next
        self._next += 1
        self._directory.mkdir(parents=True, exist_ok=True)
        rows = [result.row for result in results if result.row is not None]
        items = tuple(result.record for result in results)
        path = self._file(number)
        entry = write_shard(path, rows, level=FAST, note=_packed(BatchNote(items=items, run=run)))
        self._note(number, entry.sha256, items, run)

    def rows(self, wanted: Iterable[SettledModel]) -> dict[str, Architecture]:
        """The rows of models by name; each batch is read once, and the last ones stay in memory.

        Raises:
            CorpusError: A batch is damaged; its models are captured again by the next run.
        """
        names: dict[int, set[str]] = {}
        for settled in wanted:
            names.setdefault(settled.batch, set()).add(settled.record.name)
        return {
            row.labels.name: row
            for batch, of_batch in names.items()
            for row in self._batch(batch)
            if row.labels.name in of_batch
        }

    def compact(self, size: int) -> None:
        """Make few full batches of many small ones, and drop what later captures replaced.

        Batches of like runs come together, so that what a manifest says of time, workers and labels
        stays true. Batches of which a model has another capture, too, stay as they are: the number
        of a batch says which capture is the later.

        Args:
            size: The most models of a batch.
        """
        if not self._next:
            return
        self._store.forget_old()
        counts = self._store.counts()
        sparse: dict[tuple[int, int, str], list[int]] = {}
        for batch, (count, alone) in sorted(counts.items()):
            if 0 < count == alone <= size // 2:
                run = self.run_of(batch)
                sparse.setdefault((run.workers, run.cores, run.labels), []).append(batch)
        for batches in sparse.values():
            full = math.ceil(sum(counts[batch][0] for batch in batches) / size)
            if _WORTH * full <= len(batches):
                self._merge(batches, size)
        empty = [batch for batch, (count, _) in self._store.counts().items() if not count]
        if empty:
            self._store.forget(empty)
        for batch in empty:
            self._unlink(batch)

    def _merge(self, batches: Sequence[int], size: int) -> None:
        """Write the models of batches again, in the order of names."""
        items = self._store.items_of(batches)
        run = self.run_of(batches[0])
        # The first has the time of all: what is summed is the same.
        spent = round(sum(self.run_of(batch).seconds for batch in batches), 3)
        for start in range(0, len(items), size):
            found = (self._store.find(*item) for item in items[start : start + size])
            settled = [each for item in found if (each := _settled(item))]
            rows = self.rows(each for each in settled if each.record.failure is None)
            results = [Result(each.record, rows.get(each.record.name)) for each in settled]
            self.write(results, run.model_copy(update={"seconds": spent}))
            spent = 0.0

    def _batch(self, batch: int) -> list[Architecture]:
        """The rows of a batch; models of one shard lie in a few, which its neighbours share."""
        rows = self._read.pop(batch, None)
        if rows is None:
            try:
                rows = read_shard(self._file(batch))
            except CorpusError as error:
                self._store.forget([batch])
                self._unlink(batch)
                raise CorpusError(
                    f"{error.args[0]}: its models are forgotten; run again to capture them"
                ) from error
        self._read[batch] = rows
        if len(self._read) > _KEPT_BATCHES:
            del self._read[next(iter(self._read))]
        return rows

    def _file(self, batch: int) -> Path:
        return self._directory / f"{batch:06d}{_SUFFIX}"

    def _unlink(self, batch: int) -> None:
        for path in (self._file(batch), self._file(batch).with_suffix(_OLD_RECORD)):
            path.unlink(missing_ok=True)

    def _read_batches(self, files: Mapping[int, Path], states: Mapping[int, State]) -> None:
        """Bring the store to the files: a batch that is gone or damaged was never there."""
        gone = [batch for batch in states if batch not in files]
        for batch, path in sorted(files.items()):
            known, status = states.get(batch), path.stat()
            if known and (known.size, known.written) == (status.st_size, status.st_mtime_ns):
                continue
            sha256 = file_digest(path)
            if known and known.sha256 != sha256:
                gone.append(batch)
            elif known:  # copied, as it seems: the same bytes at another time
                self._store.note_batch(batch, _state(path, sha256), next(self._store.runs([batch])))
            elif found := _noted(path, sha256):
                self._note(batch, sha256, found.items, found.run)
        if gone:
            self._store.forget(gone)

    def _note(self, batch: int, sha256: str, items: Sequence[ItemRecord], run: RunRecord) -> None:
        state = _state(self._file(batch), sha256)
        stored = (
            StoredItem(
                item.name,
                item.identity,
                item.ingredients,
                batch,
                item.model_dump(mode="json", exclude=_APART, exclude_defaults=True),
            )
            for item in items
        )
        self._store.note_batch(batch, state, run.model_dump_json(), stored)


def _settled(item: StoredItem | None) -> SettledModel | None:
    if item is None:
        return None
    apart = {"name": item.name, "identity": item.identity, "ingredients": item.ingredients}
    return SettledModel(ItemRecord.model_validate({**item.record, **apart}), item.batch, item.name)


def _state(path: Path, sha256: str) -> State:
    status = path.stat()
    return State(sha256, status.st_size, status.st_mtime_ns)


def _packed(note: BatchNote) -> str:
    return b85encode(zlib.compress(note.model_dump_json().encode())).decode()


def _noted(path: Path, sha256: str) -> BatchNote | None:
    """What a batch says of its models; of older versions, what the file of JSON beside it says."""
    old = Ledger(path.parent, BatchRecord).find(path.stem)
    if old is not None:
        is_whole = old.entry.sha256 == sha256
        return BatchNote(items=old.items, run=old.run) if is_whole else None
    try:
        text = zlib.decompress(b85decode(read_note(path)))
        return BatchNote.model_validate_json(text)
    except (CorpusError, ValueError, zlib.error):
        return None


class BatchWriter:
    """Collects results of one run and writes them to the journal, batch by batch.

    Whoever collects calls `write_old` while it waits: no batch then waits for another result.

    Args:
        journal: The journal.
        size: The most models of a batch.
        patience_s: A batch that is not full is written after so long.
        run: The run that makes the batches; its seconds are filled in here.
    """

    def __init__(self, journal: Journal, size: int, patience_s: float, run: RunRecord) -> None:
        self._journal = journal
        self._size = size
        self._patience_s = patience_s
        self._run = run
        self._open: dict[str, _Open] = {}
        self._written = time.monotonic()

    def add(self, result: Result) -> None:
        """Add one result; a batch has results of one source, whose shards follow each other."""
        source = source_name(result.record.spec or result.record.name)
        batch = self._open.setdefault(source, _Open())
        batch.results.append(result)
        if len(batch.results) >= self._size:
            self._write(source)
        self.write_old()

    def write_old(self) -> float:
        """Write batches that have waited for long enough.

        Returns:
            After how many seconds to call again.
        """
        # In the order in which they were begun: where the first is young, all are.
        while self._open:
            source, oldest = next(iter(self._open.items()))
            left_s = oldest.since + self._patience_s - time.monotonic()
            if left_s > 0:
                return left_s
            self._write(source)
        return self._patience_s

    def close(self) -> None:
        """Write the results that are left."""
        for source in list(self._open):
            self._write(source)

    def _write(self, source: str) -> None:
        results = self._open.pop(source).results
        now = time.monotonic()
        run = self._run.model_copy(update={"seconds": round(now - self._written, 3)})
        self._journal.write(results, run)
        self._written = now


def captured(
    capture: ZooCapture,
    identity: str,
    seconds: float,
    *,
    read: Mapping[str, str] = MappingProxyType({}),
    unchecked: Sequence[str] = (),
) -> Result:
    """The result of a model that has a row."""
    steps = capture.seconds
    record = ItemRecord(
        name=capture.architecture.labels.name,
        identity=identity,
        seconds=round(seconds, 4),
        steps={"build": steps.build, "forward": steps.forward, "graph": steps.graph},
        unknown_operators=dict(sorted(capture.unknown_operators.items())),
        assumed=capture.assumed,
        read=dict(read),
        unchecked=tuple(unchecked),
    )
    return Result(record, capture.architecture)


def failed(failure: Failure, identity: str, seconds: float) -> Result:
    """The result of a model that has no row."""
    record = ItemRecord(
        name=failure.name, identity=identity, seconds=round(seconds, 4), failure=failure
    )
    return Result(record, None)


def merged(counts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Sums by key, sorted."""
    sums: dict[str, float] = {}
    for each in counts:
        for key, value in each.items():
            sums[key] = sums.get(key, 0) + value
    return dict(sorted(sums.items()))
