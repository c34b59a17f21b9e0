"""One collection of Milvus: its schema, and rows in and out of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import IndexMismatchError, IndexUnavailableError
from nar.base.workspace import job
from nar.index import IndexKind, dialect
from nar.index.milvus import PATIENCE_S, Milvus
from nar.index.rows import ALL_IDS, COLUMNS, END_OF_IDS, OWN, Hit, IndexEntry, IndexRow, id_ranges

# A limit of Milvus: the most rows that a server gives in one answer.
MAX_ROWS: Final = 16_384
# The version of the columns and their meaning: counts up with every change of either.
SCHEMA_VERSION: Final = 4
_ENCODER: Final = "nar.encoder"
_SCHEMA: Final = "nar.schema"
# Collections that state no version have the columns of version 1.
_UNSTATED: Final = "1"
# Chosen: an expression of so many fingerprints has 70 kB.
VALUES_A_READ: Final = 1_000
# Chosen: so many vectors of 512 numbers take 4 MB of an answer.
PAGE_ROWS: Final = 2_000
# Chosen: so many ids and digests take half a megabyte of an answer.
DIGEST_PAGE_ROWS: Final = 8_000


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection that exists.

    Attributes:
        milvus: The connection to its store.
        name: Its own name, never an alias.
        encoder: Fingerprint of the encoder that made its vectors.
        dim: Length of the vectors.
        schema_version: Version of NAR's columns that it was made with.
        marks: The notes of `nar.index.publishing` on it, at the time it was looked up.
    """

    milvus: Milvus
    name: str
    encoder: str
    dim: int
    schema_version: int = SCHEMA_VERSION
    marks: Mapping[str, str] = field(default_factory=dict)

    def load(self, patience_s: float = PATIENCE_S) -> None:
        """Make the collection searchable; Milvus Lite forgets this when it is opened again.

        Args:
            patience_s: How long to wait; the store goes on loading afterwards.
        """
        with self.milvus.reaching("load the collection"):
            self.milvus.client.load_collection(self.name, timeout=patience_s)

    def release(self) -> None:
        """Take it out of memory until it is loaded again."""
        with self.milvus.reaching("release the collection"):
            self.milvus.client.release_collection(self.name, timeout=self.milvus.timeout_s)

    def flush(self) -> None:
        """Seal what was written: unsealed rows are searched slowly."""
        with self.milvus.reaching("flush"):
            self.milvus.client.flush(self.name, timeout=PATIENCE_S)

    def kind(self) -> str:
        """The kind of its index, a value of `IndexKind`."""
        return str(self._index()["index_type"])

    def unindexed(self) -> int:
        """How many of the sealed rows a server has not brought into its index yet."""
        index = self._index()
        left = int(index["pending_index_rows"])
        return left if index["state"] == "Finished" else max(left, 1)

    def _index(self) -> dict[str, Any]:
        with self.milvus.reaching("look at the index"):
            description = self.milvus.client.describe_index(
                self.name, "embedding", timeout=self.milvus.timeout_s
            )
        return dict(description)

    def drop(self) -> None:
        """Delete it with all its rows."""
        with self.milvus.reaching("drop the collection"):
            self.milvus.client.drop_collection(self.name, timeout=self.milvus.timeout_s)

    def upsert(self, rows: Sequence[IndexRow]) -> dict[str, str]:
        """Write rows that were checked; a row of the same id is replaced.

        Returns:
            The digest of each row by its id.
        """
        digests = {row.id: row.digest() for row in rows}
        written = [dialect.record_of(row, digests[row.id]) for row in rows]
        with self.milvus.reaching("upsert"):
            self.milvus.client.upsert(self.name, written, timeout=self.milvus.timeout_s)
        return digests

    def delete(self, ids: Sequence[str]) -> None:
        """Delete rows by ids that were checked."""
        with self.milvus.reaching("delete"):
            self.milvus.client.delete(
                self.name, filter=dialect.equal_any("id", tuple(ids)), timeout=self.milvus.timeout_s
            )

    def count(self, *, settled: bool = False) -> int:
        """Number of rows.

        Args:
            settled: Wait until every acknowledged write is seen by readers.
        """
        return int(self.query("", ("count(*)",), settled=settled)[0]["count(*)"])

    def counted(self, expression: str) -> int:
        """Number of rows that a compiled expression lets pass."""
        with self.milvus.reaching("read"):
            records = self.milvus.client.query(
                self.name,
                filter=expression,
                output_fields=["count(*)"],
                consistency_level="Bounded",
                timeout=self.milvus.timeout_s,
            )
        return int(records[0]["count(*)"])

    def rows(self, wanted: Mapping[str, Sequence[str]]) -> list[dialect.StoredRow]:
        """Rows that have a wanted value in any of the columns, in the order of their ids.

        Args:
            wanted: Column -> the values that are looked for in it.
        """
        pairs = [(column, value) for column, values in wanted.items() for value in values]
        found: dict[str, dialect.StoredRow] = {}
        for start in range(0, len(pairs), VALUES_A_READ):
            expression = dialect.any_pair(pairs[start : start + VALUES_A_READ])
            for stored in map(dialect.stored_row, self.query(expression, _STORED)):
                found[stored.row.id] = stored
        return [found[key] for key in sorted(found)]

    def present(self, ids: Sequence[str]) -> set[str]:
        """The ids, checked before, that have a row."""
        present: set[str] = set()
        for start in range(0, len(ids), VALUES_A_READ):
            expression = dialect.equal_any("id", tuple(ids[start : start + VALUES_A_READ]))
            present.update(row["id"] for row in self.query(expression, ("id",)))
        return present

    def pages(self) -> Iterator[list[dialect.StoredRow]]:
        """All rows as they stand after every acknowledged write, a bounded number at a time.

        No id of a page is above an id of the next.
        """
        for records in self._pages(_STORED, PAGE_ROWS):
            yield [dialect.stored_row(record) for record in records]

    def sample(self, count: int) -> list[IndexRow]:
        """Rows of the first ids. Ids are hashes: it is as if the rows were drawn at random."""
        rows: list[IndexRow] = []
        for page in self.pages():
            rows.extend(stored.row for stored in page)
            if len(rows) >= count:
                break
        return sorted(rows, key=lambda row: row.id)[:count]

    def digest_pages(self) -> Iterator[dict[str, str]]:
        """The digest that each row was written with, by its id; no vector is read.

        A bounded number at a time; no id of a page is above an id of the next.
        """
        for low, end in id_ranges(self.count(settled=True), DIGEST_PAGE_ROWS):
            yield self.digests_between(low, end)

    def digests_between(self, low: str, end: str) -> dict[str, str]:
        """As `digest_pages`, for the rows with ids from ``low`` on and below ``end``."""
        records = self._between(low, end, ("id", "digest"))
        return {record["id"]: record["digest"] for record in records}

    def entry_pages(self) -> Iterator[list[IndexEntry]]:
        """All columns of all rows but the vectors, a bounded number of rows at a time."""
        for records in self._pages(_ENTRY, PAGE_ROWS):
            yield [IndexEntry(**{name: each[name] for name in _ENTRY}) for each in records]

    def _pages(self, columns: Sequence[str], page_rows: int) -> Iterator[list[dict[str, Any]]]:
        """Some columns of all rows.

        The iterators of Milvus and of Milvus Lite have dropped rows in several versions.
        """
        for low, end in id_ranges(self.count(settled=True), page_rows):
            yield self._between(low, end, columns)

    def _between(self, low: str, end: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        return self.query(f"id >= '{low}' and id < '{end}'", columns)

    def query(
        self,
        expression: str,
        columns: Sequence[str],
        *,
        limit: int = MAX_ROWS,
        settled: bool = False,
    ) -> list[dict[str, Any]]:
        """Some columns of the rows that a compiled expression lets pass, in no order.

        Beyond ``limit`` any are left out; ``settled`` waits until all acknowledged writes are seen.
        """
        with self.milvus.reaching("read"):
            records = self.milvus.client.query(
                self.name,
                filter=expression,
                output_fields=list(columns),
                consistency_level="Strong" if settled else "Bounded",
                timeout=self.milvus.timeout_s,
                **({"limit": limit} if expression else {}),
            )
        return list(records)

    def search(self, vectors: NDArray[np.float32], limit: int, expression: str) -> list[list[Hit]]:
        """The nearest rows of each vector, as Milvus orders them.

        Args:
            vectors: Shape (queries, dim), of length 1.
            limit: Up to ``MAX_ROWS``.
            expression: Compiled by `nar.index.dialect`.
        """
        with self.milvus.reaching("search"):
            answers = self.milvus.client.search(
                self.name,
                data=list(vectors),
                filter=expression,
                limit=limit,
                output_fields=list(_ENTRY),
                search_params={"params": dialect.search_settings(limit)},
                consistency_level="Bounded",
                timeout=self.milvus.timeout_s,
            )
        return [[dialect.hit_of(entry) for entry in hits] for hits in answers]


_ENTRY: Final = (*COLUMNS, OWN)
_STORED: Final = (*_ENTRY, "embedding", "digest")


def create_collection(
    milvus: Milvus,
    name: str,
    *,
    encoder: str,
    dim: int,
    kind: IndexKind,
    marks: Mapping[str, str] = MappingProxyType({}),
) -> Collection:
    """Make an empty collection, searched by cosine, with some marks of `nar.index.publishing`."""
    with milvus.reaching("create a collection"):
        milvus.client.create_collection(
            name,
            schema=dialect.column_schema(dim),
            index_params=dialect.vector_index(kind),
            properties={_ENCODER: encoder, _SCHEMA: str(SCHEMA_VERSION), **marks},
            timeout=PATIENCE_S,
        )
    return Collection(milvus, name, encoder, dim, SCHEMA_VERSION, dict(marks))


def find_collection(milvus: Milvus, name: str) -> Collection | None:
    """The collection of a name or alias, if there is one, of whatever schema version.

    Raises:
        IndexUnavailableError: It exists, but NAR did not make it.
    """
    with milvus.reaching("look for a collection"):
        if not milvus.client.has_collection(name, timeout=milvus.timeout_s):
            return None
        description = milvus.client.describe_collection(name, timeout=milvus.timeout_s)
    properties = description.get("properties", {})
    columns = {field["name"]: field for field in description["fields"]}
    own_name, encoder = description["collection_name"], properties.get(_ENCODER)
    version = properties.get(_SCHEMA, _UNSTATED)
    is_whole = version != str(SCHEMA_VERSION) or columns.keys() >= set(_STORED)
    if encoder is None or not version.isdecimal() or not is_whole:
        raise IndexUnavailableError(
            f"collection {own_name!r} was not made by NAR; choose another alias"
        )
    dim = int(columns["embedding"]["params"]["dim"])
    return Collection(milvus, own_name, encoder, dim, int(version), properties)


def check_schema(collection: Collection) -> None:
    """Refuse a collection whose columns another version of NAR made.

    Raises:
        IndexMismatchError: Says which version it has, and the way out.
    """
    if collection.schema_version != SCHEMA_VERSION:
        raise IndexMismatchError(
            f"wanted an index of schema version {SCHEMA_VERSION}, {collection.name!r} has version "
            f"{collection.schema_version}; build it again with `nar index build` or "
            f"{job('embed')}, or use the version of NAR that made it"
        )


# Chosen: the most rows to ask for, in pages. An answer of so many rows counts as cut, and a larger
# one would read more rows in vain.
_ROOM: Final = 4


def page(collection: Collection, after: str, limit: int, expression: str) -> list[IndexEntry]:
    """The rows that come next by id.

    Ids are hashes, so rows lie evenly over all ids: the first question is for the range of ids that
    should hold the page. The next range is twice as large if a filter let little pass, and half as
    large if the answer was cut: Milvus Lite gives rows in no order, so that nobody can say which
    rows of a cut answer are missing. The iterators of Milvus would give an order, but have dropped
    rows in several versions.

    Args:
        collection: Whose rows.
        after: An id, checked before; empty begins at the first.
        limit: How many rows, from 1.
        expression: The filter that rows must pass, compiled by `nar.index.dialect`; empty for all.
    """
    start = int(after, 16) + 1 if after else 0
    width = max(ALL_IDS * limit // max(collection.count(), 1), 1)
    most = min(_ROOM * limit, MAX_ROWS)
    entries: list[IndexEntry] = []
    while start < ALL_IDS and len(entries) < limit:
        where = _between(start, start + width, expression)
        records = collection.query(where, _ENTRY, limit=most)
        if len(records) == most:
            width //= 2
            continue
        columns = ({column: record[column] for column in _ENTRY} for record in records)
        entries += sorted((IndexEntry(**each) for each in columns), key=lambda entry: entry.id)
        start, width = start + width, 2 * width
    return entries[:limit]


def _between(start: int, stop: int, expression: str) -> str:
    """The expression for rows of ids from one number up to another."""
    end = END_OF_IDS if stop >= ALL_IDS else f"{stop:032x}"
    ids = f"id >= '{start:032x}' and id < '{end}'"
    return f"{ids} and ({expression})" if expression else ids
