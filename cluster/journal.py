"""All captures so far, model by model: a killed job loses seconds of work, not hours.

Captures come in any order and are kept in small batches: a Parquet file of rows and, written after
it, a record of everything else. A corpus is made from the journal, never the other way.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pydantic import Field

from cluster.ledger import Ledger, Record, digest, file_digest
from nar.corpus import read_shard, write_shard
from nar.corpus.manifest import Failure, ShardEntry
from nar.corpus.shards import FAST
from nar.graphs.architecture import Architecture
from nar.graphs.assumed import Assumed
from nar.zoo.spec import ZooCapture

_SUFFIX = ".parquet"
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


class BatchRecord(Record):
    """One batch.

    Attributes:
        entry: Its file, rows and digest.
        items: Models with a row, in the order of rows, then models without.
        run: The run that made it.
    """

    entry: ShardEntry
    items: tuple[ItemRecord, ...]
    run: RunRecord


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one model: its record and, unless it failed, its row."""

    record: ItemRecord
    row: Architecture | None


@dataclass(frozen=True, slots=True)
class Settled:
    """A model that needs no capture.

    Attributes:
        record: Its record.
        batch: Name of the batch that has it.
    """

    record: ItemRecord
    batch: str


@dataclass(slots=True)
class _Open:
    """A batch that is not written yet."""

    since: float = field(default_factory=lambda: time.monotonic())
    results: list[Result] = field(default_factory=list)


class Journal:
    """All captures that were ever made in a workspace.

    Args:
        directory: Where its batches are; made when the first is written.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._ledger = Ledger(directory, BatchRecord)
        self._runs: dict[str, RunRecord] = {}
        self._settled: dict[tuple[str, str], Settled] = {}
        self._latest: dict[str, Settled] = {}
        self._read: dict[str, list[Architecture]] = {}
        for part in self._ledger.parts():
            record = self._ledger.find(part)
            if record is not None and self._is_whole(record.entry):
                self._note(part, record)
        self._next = 1 + max((int(part) for part in self._ledger.parts()), default=-1)

    def find(self, name: str, identity: str) -> Settled | None:
        """The result of a model, if nothing that decides it has changed since."""
        return self._settled.get((name, identity))

    def latest(self, name: str) -> Settled | None:
        """The last result of a model, whatever decided it."""
        return self._latest.get(name)

    def run_of(self, batch: str) -> RunRecord:
        """The run that made a batch."""
        return self._runs[batch]

    def write(self, results: Sequence[Result], run: RunRecord) -> None:
        """Write a batch: when this returns, the batch survives a kill."""
        part = f"{self._next:06d}"
        self._next += 1
        self._directory.mkdir(parents=True, exist_ok=True)
        rows = [result.row for result in results if result.row is not None]
        entry = write_shard(self._directory / f"{part}{_SUFFIX}", rows, level=FAST)
        record = BatchRecord(entry=entry, items=tuple(result.record for result in results), run=run)
        self._ledger.add(part, record)
        self._note(part, record)

    def rows(self, wanted: Iterable[Settled]) -> dict[str, Architecture]:
        """The rows of models by name; each batch is read once, and the last ones stay in memory."""
        names: dict[str, set[str]] = {}
        for settled in wanted:
            names.setdefault(settled.batch, set()).add(settled.record.name)
        return {
            row.labels.name: row
            for batch, of_batch in names.items()
            for row in self._batch(batch)
            if row.labels.name in of_batch
        }

    def _batch(self, batch: str) -> list[Architecture]:
        """The rows of a batch; models of one shard lie in a few, which its neighbours share."""
        rows = self._read.pop(batch, None) or read_shard(self._directory / f"{batch}{_SUFFIX}")
        self._read[batch] = rows
        if len(self._read) > _KEPT_BATCHES:
            del self._read[next(iter(self._read))]
        return rows

    def _is_whole(self, entry: ShardEntry) -> bool:
        return file_digest(self._directory / entry.file) == entry.sha256

    def _note(self, part: str, record: BatchRecord) -> None:
        """Note the models of a batch; if two batches have a model, the later batch counts."""
        self._runs[part] = record.run
        for item in record.items:
            self._latest[item.name] = Settled(item, part)
            self._settled[item.name, item.identity] = self._latest[item.name]


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
        """Add one result; a batch has results of one identity, and so of one source."""
        identity = result.record.identity
        batch = self._open.setdefault(identity, _Open())
        batch.results.append(result)
        if len(batch.results) >= self._size:
            self._write(identity)
        self.write_old()

    def write_old(self) -> float:
        """Write batches that have waited for long enough.

        Returns:
            After how many seconds to call again.
        """
        # In the order in which they were begun: where the first is young, all are.
        while self._open:
            identity, oldest = next(iter(self._open.items()))
            left_s = oldest.since + self._patience_s - time.monotonic()
            if left_s > 0:
                return left_s
            self._write(identity)
        return self._patience_s

    def close(self) -> None:
        """Write the results that are left."""
        for identity in list(self._open):
            self._write(identity)

    def _write(self, identity: str) -> None:
        results = self._open.pop(identity).results
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
