"""Corpus shards from outcomes in any order: a shard is written when its last model is settled."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cluster.ledger import Ledger, Record
from nar.architecture import Architecture
from nar.corpus import read_shard, write_shard
from nar.manifest import FILE_NAME, Failure, Manifest, ShardEntry, count_sources
from nar.zoo import ZooCapture


@dataclass(frozen=True, slots=True)
class Shard:
    """A slice of the sorted selection.

    Attributes:
        part: Its name, in the ledger and, with ``.parquet``, in the corpus.
        names: Models of the slice, sorted.
    """

    part: str
    names: tuple[str, ...]


class ShardRecord(Record):
    """What is known of a finished shard.

    Attributes:
        entry: Its file, rows and digest.
        failures: Models of the slice that are not in the file.
        unknown_operators: Occurrences of each operator outside the vocabulary.
    """

    entry: ShardEntry
    failures: tuple[Failure, ...]
    unknown_operators: dict[str, int]


def cut(names: Iterable[str], size: int) -> list[Shard]:
    """Sort a selection and cut it into shards; the same selection gives the same shards."""
    ordered = sorted(set(names))
    return [
        Shard(f"shard-{start // size:05d}", tuple(ordered[start : start + size]))
        for start in range(0, len(ordered), size)
    ]


class ShardStore:
    """The shards of one corpus directory and the ledger of those that are finished.

    Args:
        directory: Of the corpus.
        ledger: Of the job.
    """

    def __init__(self, directory: Path, ledger: Ledger[ShardRecord]) -> None:
        self._directory = directory
        self._ledger = ledger
        self._settled: dict[str, dict[str, ZooCapture | Failure]] = {}

    def finished(self, shard: Shard) -> ShardRecord | None:
        """The record of a shard whose file is whole; None if it has to be made."""
        record = self._ledger.find(shard.part)
        if record is None:
            return None
        path = self._directory / record.entry.file
        whole = path.is_file() and sha256(path.read_bytes()).hexdigest() == record.entry.sha256
        return record if whole else None

    def settle(self, shard: Shard, name: str, result: ZooCapture | Failure) -> ShardRecord | None:
        """Add one model's result; the last one of a shard writes it and gives its record."""
        settled = self._settled.setdefault(shard.part, {})
        settled[name] = result
        if len(settled) < len(shard.names):
            return None
        record = self._write(shard, [settled[each] for each in shard.names])
        del self._settled[shard.part]
        return record

    def _write(self, shard: Shard, results: Sequence[ZooCapture | Failure]) -> ShardRecord:
        captures = [result for result in results if isinstance(result, ZooCapture)]
        unknown: Counter[str] = Counter()
        for capture in captures:
            unknown.update(capture.unknown_operators)
        record = ShardRecord(
            entry=write_shard(self._directory / f"{shard.part}.parquet", _rows(captures)),
            failures=tuple(result for result in results if isinstance(result, Failure)),
            unknown_operators=dict(sorted(unknown.items())),
        )
        self._ledger.add(shard.part, record)
        return record


def _rows(captures: Iterable[ZooCapture]) -> list[Architecture]:
    return [capture.architecture for capture in captures]


def manifest_of(corpus: Path, records: Sequence[ShardRecord], packages: dict[str, str]) -> Manifest:
    """The manifest of finished shards; how long they took is not known here."""
    failures = tuple(failure for record in records for failure in record.failures)
    unknown: Counter[str] = Counter()
    for record in records:
        unknown.update(record.unknown_operators)
    rows = (item for record in records for item in read_shard(corpus / record.entry.file))
    return Manifest(
        packages=packages,
        shards=tuple(record.entry for record in records),
        sources=count_sources(rows, failures),
        failures=failures,
        unknown_operators=dict(sorted(unknown.items())),
    )


def is_held(manifest: Manifest, corpus: Path) -> bool:
    """Whether the corpus has this manifest already, made in whatever time."""
    if not (corpus / FILE_NAME).exists():
        return False
    held = Manifest.read(corpus)
    return held.model_copy(update={"seconds": 0.0, "workers": 1}) == manifest
