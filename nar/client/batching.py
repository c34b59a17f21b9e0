"""How a client cuts many items into calls that the server's limits allow."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from google.protobuf.message import Message

from nar.base.errors import InvalidQueryError
from nar.v1 import retrieval_pb2
from nar.wire.limits import Limits

Item = TypeVar("Item")

# Room for tags and lengths around the items of a request.
ENVELOPE_BYTES: Final = 16


class Size(NamedTuple):
    """What an item, or a run of items, takes of a call."""

    items: int = 0
    size_bytes: int = 0
    nodes: int = 0
    edges: int = 0

    def with_one_more(self, other: "Size") -> "Size":
        """Both together."""
        return Size(*(mine + its for mine, its in zip(self, other, strict=True)))

    def fits(self, limits: Limits) -> bool:
        """Whether one call may be as large."""
        return (
            self.items <= limits.max_items
            and self.size_bytes <= limits.max_message_bytes
            and self.nodes <= limits.max_call_nodes
            and self.edges <= limits.max_call_edges
        )


def size_of(item: Message | str) -> Size:
    """What a query, a graph, an architecture or a name takes of a call."""
    if isinstance(item, str):
        return Size(1, len(item.encode()) + ENVELOPE_BYTES)
    size_bytes = item.ByteSize() + ENVELOPE_BYTES
    graph = item if isinstance(item, retrieval_pb2.Graph) else getattr(item, "graph", None)
    if not isinstance(graph, retrieval_pb2.Graph):
        return Size(1, size_bytes)
    return Size(1, size_bytes, len(graph.nodes), len(graph.edge_index.sources))


class Cutter(Generic[Item]):
    """Cuts items into runs, each as long as one call may be.

    What has too many nodes stands alone, for the server to say so; more bytes than a message may
    have are not sent: grpc would end the call, and the client would try again.

    Args:
        limits: What the server accepts.
        size: What an item takes.
    """

    def __init__(self, limits: Limits, size: Callable[[Item], Size]) -> None:
        self._limits = limits
        self._size = size
        self._run: list[Item] = []
        self._total = Size()

    def add(self, item: Item) -> list[Item]:
        """Take one more item; gives the run that it no longer fits into, mostly none.

        Raises:
            InvalidQueryError: It is larger than a message may be.
        """
        size = self._size(item)
        self._check(size.size_bytes - ENVELOPE_BYTES)
        longer = self._total.with_one_more(size)
        if not self._run or longer.fits(self._limits):
            self._run.append(item)
            self._total = longer
            return []
        ended, self._run, self._total = self._run, [item], size
        return ended

    def _check(self, size_bytes: int) -> None:
        most = self._limits.max_message_bytes
        if size_bytes > most:
            raise InvalidQueryError(
                "request",
                f"wanted at most {most:,} bytes in a message, came {size_bytes:,} of one item",
            )

    def rest(self) -> list[Item]:
        """The last run; empty if there was no item."""
        return self._run


def batches(
    items: Iterable[Item], limits: Limits, size: Callable[[Item], Size]
) -> Iterator[list[Item]]:
    """Cut items into runs, each as long as one call may be; what fits no call stands alone.

    Args:
        items: In their order; none is asked for before its run.
        limits: What the server accepts.
        size: What an item takes.

    Yields:
        Runs of items, none of them empty.

    Example:
        >>> from nar.config import ServerConfig
        >>> from nar.wire.limits import limits_of
        >>> limits = limits_of(ServerConfig(max_queries=2))
        >>> list(batches(["a", "b", "c"], limits, size_of))
        [['a', 'b'], ['c']]
    """
    cutter = Cutter(limits, size)
    for item in items:
        if run := cutter.add(item):
            yield run
    if run := cutter.rest():
        yield run


async def batches_as_they_come(
    items: AsyncIterable[Item], limits: Limits, size: Callable[[Item], Size]
) -> AsyncIterator[list[Item]]:
    """As `batches`, of items that are waited for."""
    cutter = Cutter(limits, size)
    async for item in items:
        if run := cutter.add(item):
            yield run
    if run := cutter.rest():
        yield run
