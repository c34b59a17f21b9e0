"""What a pool of workers is given and gives back, and the order in which it takes it."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Item:
    """One call of a worker.

    Attributes:
        key: Name of the item, unique in the run.
        group: Items of one group share what a worker has to load; a worker stays in its group
            as long as it can.
    """

    key: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Done(Generic[ValueT]):
    """What a worker returned for an item."""

    key: str
    value: ValueT


@dataclass(frozen=True, slots=True)
class Failed:
    """Why an item has no value."""

    key: str
    error: Exception


class Backlog:
    """Items that wait, by group."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._groups: dict[str, deque[Item]] = {}
        for item in items:
            self._groups.setdefault(item.group, deque()).append(item)

    def __len__(self) -> int:
        """Number of items that wait."""
        return sum(map(len, self._groups.values()))

    def take(self, group: str) -> Item:
        """The next item of a group, or of the longest group when that one is empty."""
        chosen = self._groups.get(group) or max(self._groups.values(), key=len)
        return chosen.popleft()

    def put_back(self, items: Sequence[Item]) -> None:
        """Return items, to be taken next in their order."""
        for item in reversed(items):
            self._groups[item.group].appendleft(item)
