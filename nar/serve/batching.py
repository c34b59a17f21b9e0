"""How a client cuts many items into calls that the server's limits allow."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from google.protobuf.message import Message

from nar.serve.limits import Limits
from nar.v1 import retrieval_pb2

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
    """What a query, a graph or a name takes of a call."""
    if isinstance(item, str):
        return Size(1, len(item.encode()) + ENVELOPE_BYTES)
    size_bytes = item.ByteSize() + ENVELOPE_BYTES
    graph = item.graph if isinstance(item, retrieval_pb2.Query) else item
    if not isinstance(graph, retrieval_pb2.Graph):
        return Size(1, size_bytes)
    return Size(1, size_bytes, len(graph.nodes), len(graph.edge_index.sources))


def batches(sizes: Sequence[Size], limits: Limits) -> Iterator[tuple[int, int]]:
    """Cut items into runs, each as long as one call may be; what fits no call stands alone.

    Args:
        sizes: Of each item.
        limits: What the server accepts.

    Yields:
        First item of a run, and the one after its last.

    Example:
        >>> from nar.config import ServerConfig
        >>> from nar.serve.limits import limits_of
        >>> list(batches([size_of("timm:vgg11")] * 5, limits_of(ServerConfig(max_queries=2))))
        [(0, 2), (2, 4), (4, 5)]
    """
    start, total = 0, Size()
    for position, size in enumerate(sizes):
        longer = total.with_one_more(size)
        if position > start and not longer.fits(limits):
            yield start, position
            start, longer = position, size
        total = longer
    if sizes:
        yield start, len(sizes)
