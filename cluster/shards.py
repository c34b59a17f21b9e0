"""The shards of a corpus: files with models of one source each, written from the journal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Final

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.own_zoo import NO_LABELS, Declared
from nar.corpus import Corpus, Location, write_shard
from nar.corpus.manifest import FILE_NAME, ShardEntry
from nar.graphs.architecture import Architecture, called
from nar.index.collection import SCHEMA_VERSION
from nar.index.digests import RowDigests, packed_rows
from nar.index.rows import index_entry
from nar.own import resolve

from .journal import Journal, SettledModel
from .ledger import Ledger, Record, digest, file_digest
from .provenance import files_identity, labels_identity, source_name


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """A slice of one source's sorted models.

    Attributes:
        part: Name of the slice in the ledger and, with ``.parquet``, in the corpus.
        names: Models of the slice, sorted; models that failed have no row.
    """

    part: str
    names: tuple[str, ...]

    @property
    def file(self) -> str:
        """Name of its file in the corpus."""
        return f"{self.part}.parquet"


class ShardRecord(Record):
    """A file that was written.

    Attributes:
        identity: Digest of everything that decides its bytes.
        entry: Its file, rows and digest.
        names: Its rows.
    """

    identity: str
    entry: ShardEntry
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PublishedShards:
    """The outcome of publishing.

    Attributes:
        entries: Every file of the corpus, in order.
        written: How many files are new.
        removed: Files that were deleted, because they have no model of the selection.
        dropped: Models that have left the corpus, sorted.
    """

    entries: tuple[ShardEntry, ...]
    written: int
    removed: tuple[str, ...]
    dropped: tuple[str, ...]


def cut(
    names: Iterable[str], size: int, captured_as: Callable[[str], str] = lambda name: name
) -> list[ShardPlan]:
    """Cut each source's sorted models into shards; the same selection gives the same shards.

    Args:
        names: The models.
        size: The most models of a shard.
        captured_as: What is captured for each: models that share a capture stand together, so that
            it is read once.
    """
    ordered = sorted(set(names), key=lambda name: (source_name(name), captured_as(name), name))
    return [
        ShardPlan(f"{source}-{start // size:05d}", tuple(of_source[start : start + size]))
        for source, group in groupby(ordered, key=source_name)
        for of_source in (list(group),)
        for start in range(0, len(of_source), size)
    ]


class Publisher:
    """Writes the files of one corpus directory.

    Args:
        corpus: The directory.
        ledger: Ledger of the files in the directory.
        journal: The journal, which has every published model.
        zoo: The models that a zoo declares, by name.
    """

    def __init__(
        self,
        corpus: Path,
        ledger: Ledger[ShardRecord],
        journal: Journal,
        zoo: Mapping[str, Declared] = MappingProxyType({}),
    ) -> None:
        self._corpus = corpus
        self._zoo = zoo
        self._ledger = ledger
        self._journal = journal

    def publish(
        self,
        shards: Sequence[ShardPlan],
        settled: Callable[[Iterable[str]], Iterable[SettledModel]],
    ) -> PublishedShards:
        """Make the directory hold these shards and no others.

        While the directory changes it has no manifest: a reader finds no corpus rather than
        a damaged corpus.

        Args:
            shards: The wanted shards.
            settled: Gives the models of a shard by their names.
        """
        wanted = {shard.part: shard for shard in shards}
        names = {name for shard in shards for name in shard.names}
        entries: dict[str, ShardEntry] = {}
        identities: dict[str, str] = {}
        dropped = set[str]()
        # A shard at a time: the records of all models take more room than their rows.
        for part in self._ledger.parts():
            if (record := self._whole(part)) is not None:
                entries[part], identities[part] = record.entry, record.identity
                dropped.update(name for name in record.names if name not in names)
        changed = {
            part: identity
            for part, shard in wanted.items()
            if (identity := _identity(_with_rows(settled(shard.names)), self._zoo))
            != identities.get(part)
        }
        gone = [part for part in self._ledger.parts() if part not in wanted]
        if changed or gone:
            self._corpus.mkdir(parents=True, exist_ok=True)
            (self._corpus / FILE_NAME).unlink(missing_ok=True)
        removed = [self._remove(part) for part in gone]
        for part, identity in changed.items():
            entries[part] = self._write(part, identity, _with_rows(settled(wanted[part].names)))
        return PublishedShards(
            entries=tuple(entries[part] for part in wanted),
            written=len(changed),
            removed=tuple(removed),
            dropped=tuple(sorted(dropped)),
        )

    def _whole(self, part: str) -> ShardRecord | None:
        """The record of a file, if the file is as it was written."""
        record = self._ledger.find(part)
        if record is None:
            return None
        whole = file_digest(self._corpus / record.entry.file) == record.entry.sha256
        return record if whole else None

    def _remove(self, part: str) -> str:
        file = f"{part}.parquet"
        (self._corpus / file).unlink(missing_ok=True)
        self._ledger.remove(part)
        return file

    def _write(self, part: str, identity: str, settled: Sequence[SettledModel]) -> ShardEntry:
        captured = self._journal.rows(settled)
        rows = [self._labelled(captured[each.record.name], each) for each in settled]
        entry = write_shard(self._corpus / f"{part}.parquet", rows)
        names = tuple(each.called for each in settled)
        record = ShardRecord(identity=identity, entry=entry, names=names)
        self._ledger.add(part, record)
        return entry

    def _labelled(self, row: Architecture, settled: SettledModel) -> Architecture:
        """The row with its present labels, whose tables change more often than graphs do."""
        declared = self._zoo.get(settled.called)
        if self._journal.run_of(settled.batch).labels != labels_identity():
            spec = declared.spec if declared else settled.record.spec or row.labels.name
            row = replace(row, labels=resolve(spec).labels)
        if declared is None:
            return row if row.labels.name == settled.called else called(row, settled.called)
        labels = declared.labels
        return called(row, declared.name, family=labels.family, task=labels.task, own=labels.own)


def _with_rows(settled: Iterable[SettledModel]) -> list[SettledModel]:
    return [each for each in settled if each.record.failure is None]


def _identity(settled: Sequence[SettledModel], zoo: Mapping[str, Declared]) -> str:
    rows = [part for each in settled for part in (each.called, each.record.content)]
    known = (zoo[each.called] for each in settled if each.called in zoo)
    labels = [each.labels.model_dump_json() for each in known if each.labels != NO_LABELS]
    return digest(files_identity(), labels_identity(), *rows, *labels)


# The hexadecimal digits of an id, and of a description.
_DIGITS: Final = 32
_SUFFIX: Final = ".rows"


class BroughtRecord(Record):
    """The record of a corpus to which an index was brought.

    Attributes:
        shards: Files of the corpus.
    """

    shards: tuple[ShardEntry, ...]


class ShardDescriptions:
    """Ids and descriptions of the rows of a corpus, kept by shard between runs.

    An unchanged shard is then not read for a comparison, and the index is not asked for the columns
    of all its rows, so that a small change of a large corpus takes little time. A shard has one
    file, with 32 bytes a row.

    Args:
        directory: Where they are kept; made when the first file is written.
        corpus: Where the corpus lies.
    """

    def __init__(self, directory: Path, corpus: Location) -> None:
        self._directory = directory
        self._corpus = corpus
        self._brought = Ledger(directory, BroughtRecord)

    def of(self, entry: ShardEntry) -> bytes:
        """The id and the description of each row of a shard, in its order, by `packed_rows`.

        Raises:
            CorpusError: The shard is missing or damaged, or names an architecture twice.
        """
        path = self._path(entry)
        if not _is_whole(path, entry):
            self._keep(path, entry)
        return path.read_bytes()

    def _keep(self, path: Path, entry: ShardEntry) -> None:
        entries = [index_entry(card) for card in Corpus(self._corpus).shard_cards(entry)]
        if len({each.id for each in entries}) < entry.rows:
            raise CorpusError(
                f"shard {entry.file} has {entry.rows} rows, but not as many names; extract it again"
            )
        content = packed_rows({each.id: each.description() for each in entries})
        self._directory.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda part: part.write_bytes(content))

    def shards_of(self, corpus: str) -> tuple[ShardEntry, ...]:
        """The files of a corpus to which an index was brought; none if they are not kept.

        Args:
            corpus: Digest of the corpus, as the index has it.
        """
        record = self._brought.find(corpus) if corpus else None
        shards = record.shards if record else ()
        return shards if all(_is_whole(self._path(entry), entry) for entry in shards) else ()

    def rows(self, shards: Sequence[ShardEntry]) -> RowDigests:
        """The descriptions of all rows of some shards."""
        digests = RowDigests()
        for entry in shards:
            digests.add_packed(self.of(entry))
        return digests

    def note_brought(self, corpus: str, shards: Sequence[ShardEntry]) -> None:
        """Note to which corpus the index was brought, and forget all other corpora."""
        self._brought.add(corpus, BroughtRecord(shards=tuple(shards)))
        for part in self._brought.parts():
            if part != corpus:
                self._brought.remove(part)
        kept = {self._path(entry) for entry in shards}
        for path in self._directory.glob(f"*{_SUFFIX}"):
            if path not in kept:
                path.unlink()

    def _path(self, entry: ShardEntry) -> Path:
        """The path of a shard's file, named after everything that decides the descriptions."""
        named = digest(entry.sha256, files_identity(), f"columns {SCHEMA_VERSION}")
        return self._directory / f"{named[:_DIGITS]}{_SUFFIX}"


def _is_whole(path: Path, entry: ShardEntry) -> bool:
    return path.is_file() and path.stat().st_size == _DIGITS * entry.rows
