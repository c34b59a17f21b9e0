"""Ids and descriptions of the rows of a corpus, kept by shard between runs.

An unchanged shard is then not read for a comparison, and the index is not asked for the columns of
all its rows, so that a small change of a large corpus takes little time. A shard has one file, with
32 bytes a row.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.corpus import Corpus, Location
from nar.corpus.manifest import ShardEntry
from nar.index.collection import SCHEMA_VERSION
from nar.index.digests import RowDigests, packed_rows
from nar.index.rows import index_entry

from .ledger import Ledger, Record, digest
from .provenance import files_identity

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
    """Ids and descriptions of the rows of shards.

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
