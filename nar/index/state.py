"""IndexState: where an index keeps its rows, and what it does with further ones."""

from dataclasses import dataclass
from typing import Final

# Why a call to Milvus fails: it could not do it, or did not answer.
ERRORS: Final = ("refused", "unreachable")


@dataclass(frozen=True, slots=True)
class IndexState:
    """Where an index keeps its rows.

    Attributes:
        collection: Name of the collection that was looked at last; empty where files alone answer.
        is_in_memory: Whether rows in memory answer searches; else the collection does.
        is_writable: Whether rows can be written.
        visible_within_s: How long it takes at most until rows that others wrote answer, by the
            last time that all rows were compared; 0 where every search asks the collection.
    """

    collection: str
    is_in_memory: bool
    is_writable: bool
    visible_within_s: float
