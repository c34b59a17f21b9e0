"""The records of all captures in one SQLite file, of which only what is asked for is in memory.

It is an index of the batches beside it: each batch has its records in its own file, so that a store
that is lost or damaged is made from the batches again, and loses nothing.
"""

import json
import logging
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nar.base.errors import CorpusError

FILE: Final = "journal.sqlite"
_DAMAGED: Final = ".damaged"
# Chosen: the captures of a model that are kept: today's, and what decided it before, so that going
# back to an earlier version of a library costs nothing.
_KEPT: Final = 2
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS batches (
    batch INTEGER PRIMARY KEY, sha256 TEXT, size INTEGER, written INTEGER, run TEXT);
CREATE TABLE IF NOT EXISTS identities (identity TEXT PRIMARY KEY, ingredients TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (
    name TEXT, identity TEXT, batch INTEGER, record TEXT, PRIMARY KEY (name, identity)
) WITHOUT ROWID;
"""
# The captures of each name but the latest; a batch with a higher number is later.
_OLD: Final = """
DELETE FROM items WHERE (name, identity) IN (
    SELECT name, identity FROM (
        SELECT name, identity, row_number() OVER (PARTITION BY name ORDER BY batch DESC) AS age
        FROM items)
    WHERE age > ?)
"""
_COUNTS: Final = """
SELECT batch, count(*), sum(same = 1) FROM (
    SELECT batch, count(*) OVER (PARTITION BY name) AS same FROM items)
GROUP BY batch
"""
_NOTE: Final = """
INSERT INTO items VALUES (?, ?, ?, ?) ON CONFLICT (name, identity) DO UPDATE
SET batch = excluded.batch, record = excluded.record WHERE excluded.batch >= items.batch
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class State:
    """A batch's file as it was when the store took it in.

    Attributes:
        sha256: Digest of its bytes, hex.
        size: Its bytes.
        written: When it was last written, in nanoseconds.
    """

    sha256: str
    size: int
    written: int


@dataclass(frozen=True, slots=True)
class StoredItem:
    """The record of one model, as the store has it.

    Attributes:
        name: The model.
        identity: Digest of what decides it.
        ingredients: What that is the digest of.
        batch: Number of the batch that has its row.
        record: The other fields.
    """

    name: str
    identity: str
    ingredients: Mapping[str, str]
    batch: int
    record: Mapping[str, Any]


class JournalStore:
    """The records of a journal.

    Args:
        directory: Where the batches and the store are.
        is_read_only: Whether the store on the disk stays as it is; where there is none, one in
            memory takes its place.

    Raises:
        CorpusError: The store cannot be opened.
    """

    def __init__(self, directory: Path, *, is_read_only: bool) -> None:
        self._path = directory / FILE
        self._in_memory = is_read_only and not self._path.exists()
        self.is_read_only = is_read_only and not self._in_memory
        self._open: sqlite3.Connection | None = None

    def _connection(self) -> sqlite3.Connection:
        """Opened when it is first needed: a journal that is never written leaves no file."""
        if self._open is None:
            try:
                self._open = self._opened()
            except sqlite3.OperationalError as error:
                raise CorpusError(f"{self._path} cannot be opened: {error}") from error
            except sqlite3.DatabaseError as error:
                if self.is_read_only:
                    raise self._damaged(error) from error
                aside = self._path.with_name(f"{FILE}{_DAMAGED}")
                self._path.replace(aside)
                log.warning("%s was damaged (%s): it is made anew of its batches", FILE, error)
                self._open = self._opened()
            weakref.finalize(self, self._open.close)
        return self._open

    def _opened(self) -> sqlite3.Connection:
        if self.is_read_only:
            # Not `ro`: what a killed job was writing is taken back when the file is opened.
            return sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=rw", uri=True)
        if not self._in_memory:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(":memory:" if self._in_memory else self._path)
        try:
            connection.executescript(_TABLES)
            connection.execute("SELECT count(*) FROM batches").fetchone()
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _damaged(self, error: Exception) -> CorpusError:
        return CorpusError(
            f"{self._path} cannot be read ({error}); remove it and run again: it is made anew of "
            "the batches beside it"
        )

    def close(self) -> None:
        """Give the file back."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _asked(self, words: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection().execute(words, values)
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Inside, what is written comes to be all together, or not at all.

        Raises:
            CorpusError: It could not be written, as where a disk is full.
        """
        connection = self._connection()
        try:
            with connection:
                yield connection
        except sqlite3.DatabaseError as error:
            raise CorpusError(
                f"{self._path} cannot be written ({error}); make room, and run again: what was "
                "captured is in the batches beside it"
            ) from error

    def states(self) -> dict[int, State]:
        """Each batch's file as it was."""
        found = self._asked("SELECT batch, sha256, size, written FROM batches")
        return {batch: State(*state) for batch, *state in found}

    def runs(self, batches: Iterable[int]) -> Iterator[str]:
        """The runs that made batches, as they were noted."""
        for batch in batches:
            for (run,) in self._asked("SELECT run FROM batches WHERE batch = ?", [batch]):
                yield run

    def note_batch(
        self, batch: int, state: State, run: str, items: Iterable[StoredItem] = ()
    ) -> None:
        """Note a batch with its items, all or nothing; of two batches that have one, the later."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?, ?)",
                [batch, state.sha256, state.size, state.written, run],
            )
            for item in items:
                connection.execute(
                    "INSERT OR IGNORE INTO identities VALUES (?, ?)",
                    [item.identity, json.dumps(dict(item.ingredients))],
                )
                values = [item.name, item.identity, batch, json.dumps(dict(item.record))]
                connection.execute(_NOTE, values)

    def forget(self, batches: Sequence[int]) -> None:
        """Forget batches and their items."""
        with self._writing() as connection:
            for batch in batches:
                connection.execute("DELETE FROM batches WHERE batch = ?", [batch])
            # One pass over all items: there is no index of batches, which would take as much room.
            connection.execute("DELETE FROM items WHERE batch NOT IN (SELECT batch FROM batches)")

    def forget_old(self) -> None:
        """Forget the captures of each model but the latest."""
        with self._writing() as connection:
            connection.execute(_OLD, [_KEPT])

    def find(self, name: str, identity: str) -> StoredItem | None:
        """The record of a model that was decided by this."""
        return self._item("WHERE name = ? AND items.identity = ?", [name, identity])

    def latest(self, name: str) -> StoredItem | None:
        """The last record of a model."""
        return self._item("WHERE name = ? ORDER BY batch DESC LIMIT 1", [name])

    def _item(self, words: str, values: Sequence[object]) -> StoredItem | None:
        return next(self._items(words, values), None)

    def items_of(self, batches: Sequence[int]) -> list[tuple[str, str]]:
        """Name and identity of each item of some batches, sorted."""
        wanted = set(batches)
        found = self._asked("SELECT name, identity, batch FROM items ORDER BY name, identity")
        return [(name, identity) for name, identity, batch in found if batch in wanted]

    def counts(self) -> dict[int, tuple[int, int]]:
        """How many items each batch has, and for how many there is no other of their name."""
        counts = {batch: (0, 0) for (batch,) in self._asked("SELECT batch FROM batches")}
        for batch, *found in self._asked(_COUNTS):
            counts[batch] = (found[0], found[1])
        return counts

    def _items(self, words: str, values: Sequence[object]) -> Iterator[StoredItem]:
        found = self._asked(
            "SELECT name, items.identity, ingredients, batch, record "
            f"FROM items JOIN identities ON identities.identity = items.identity {words}",
            values,
        )
        for name, identity, parts, batch, record in found:
            yield StoredItem(name, identity, json.loads(parts), batch, json.loads(record))
