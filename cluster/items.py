"""What a pool of workers is given and gives back, and the order in which it takes it."""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
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
    """What a worker returned for an item.

    Attributes:
        key: Name of the item.
        value: What came back.
        seconds: Worker time that it took, tries that failed included.
    """

    key: str
    value: ValueT
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """Why an item has no value.

    Attributes:
        key: Name of the item.
        error: What its last try raised, or how its worker was lost.
        seconds: Worker time that all its tries took.
    """

    key: str
    error: Exception
    seconds: float = field(default=0.0, compare=False)


class Backlog:
    """Items that wait, by group."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._groups: dict[str, deque[Item]] = {}
        for item in items:
            self._groups.setdefault(item.group, deque()).append(item)

    def __len__(self) -> int:
        """Number of items that wait."""
        return sum(map(len, self._groups.values()))

    def take(self, group: str, others: Collection[str] = ()) -> Item:
        """The next item of a group; where that one is empty, of the longest other.

        Args:
            group: Where the worker is.
            others: Where the other workers are: groups left to them while there is anything else.
        """
        waiting = self._groups.get(group) or self._longest(others) or self._longest(())
        return waiting.popleft()

    def _longest(self, others: Collection[str]) -> deque[Item]:
        free = (waiting for group, waiting in self._groups.items() if group not in others)
        return max(free, key=len, default=deque())

    def put_back(self, items: Sequence[Item]) -> None:
        """Return items, to be taken next in their order."""
        for item in reversed(items):
            self._groups[item.group].appendleft(item)
