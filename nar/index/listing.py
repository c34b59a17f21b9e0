"""Rows of a collection by their ids, a page at a time, in whatever order Milvus gives them."""

from typing import Final

from nar.index.collection import MAX_ROWS, Collection
from nar.index.id_ranges import ALL_IDS, END_OF_IDS
from nar.index.rows import COLUMNS, IndexEntry

# An answer may hold so many times the page before it counts as cut.
_ROOM: Final = 4


def page(collection: Collection, after: str, limit: int, expression: str) -> list[IndexEntry]:
    """The rows that come next by id.

    Ids are hashes, so rows lie evenly over all ids: the share of them is asked for that should hold
    the page, then twice as much if a filter let little pass, half if an answer was cut. Milvus Lite
    gives rows in no order, so that of a cut answer nobody can say what is missing; an order by
    the iterators of Milvus is not relied on either, which have dropped rows in several versions.

    Args:
        collection: Whose rows.
        after: An id, checked before; empty begins.
        limit: How many, from 1.
        expression: What they must be, compiled by `nar.index.expressions`; empty for anything.
    """
    start = int(after, 16) + 1 if after else 0
    width = max(ALL_IDS * limit // max(collection.count(), 1), 1)
    most = min(_ROOM * limit, MAX_ROWS)
    entries: list[IndexEntry] = []
    while start < ALL_IDS and len(entries) < limit:
        where = _between(start, start + width, expression)
        records = collection.query(where, COLUMNS, limit=most)
        if len(records) == most:
            width //= 2
            continue
        columns = ({column: record[column] for column in COLUMNS} for record in records)
        entries += sorted((IndexEntry(**each) for each in columns), key=lambda entry: entry.id)
        start, width = start + width, 2 * width
    return entries[:limit]


def _between(start: int, stop: int, expression: str) -> str:
    """The expression for rows of ids from one number up to another."""
    end = END_OF_IDS if stop >= ALL_IDS else f"{stop:032x}"
    ids = f"id >= '{start:032x}' and id < '{end}'"
    return f"{ids} and ({expression})" if expression else ids
