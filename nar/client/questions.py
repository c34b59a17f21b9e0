"""What a client asks of many items: requests cut to the server's limits, and what became of each.

A blocking client and an awaiting client ask the same questions; they differ only in how they wait
for a call.
"""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from numpy.typing import NDArray

from nar.answers.difference import MotifDifference
from nar.answers.query import Answer, Query, Target
from nar.base.errors import InvalidQueryError, NarError
from nar.client.remote import error_of_status
from nar.graphs.architecture import Architecture
from nar.graphs.by import By
from nar.graphs.graph import ComputationalGraph
from nar.index.filters import Filter
from nar.index.rows import Hit, IndexState
from nar.v1 import retrieval_pb2
from nar.v1 import retrieval_pb2 as wire
from nar.wire import records
from nar.wire.graphs import encode_graph
from nar.wire.limits import Limits, decode_limits
from nar.wire.queries import encode_query

# Room for what stands around an item of a request: a tag of 1 byte and a length of at most 5,
# twice where the item is wrapped in a query, and some to spare.
ENVELOPE_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Description:
    """What a server is.

    Attributes:
        version: Version of its software.
        encoder: Kind of encoder.
        fingerprint: Sha256 of the encoder's configuration and weights.
        dim: Length of its vectors.
        index_rows: Architectures in the index.
        limits: What it accepts.
        operators: Its operator vocabulary.
        attribute_names: Attributes a node may have.
        index: Where its rows are, and whether it takes further ones.
    """

    version: str
    encoder: str
    fingerprint: str
    dim: int
    index_rows: int
    limits: Limits
    operators: tuple[str, ...]
    attribute_names: tuple[str, ...]
    index: IndexState


def decode_description(message: retrieval_pb2.DescribeResponse) -> Description:
    """The description of a message."""
    return Description(
        version=message.version,
        encoder=message.encoder.name,
        fingerprint=message.encoder.fingerprint,
        dim=message.encoder.dim,
        index_rows=message.index_rows,
        limits=decode_limits(message.limits),
        operators=tuple(message.operators),
        attribute_names=tuple(message.attribute_names),
        index=records.decode_state(message.index),
    )


Item = TypeVar("Item")


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

    An item of too many nodes stands alone, and the server refuses it. An item of more bytes than a
    message may have is not sent: grpc would end the call, and the client would try again.

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
        """Take one more item; returns the run that it no longer fits into, mostly an empty one.

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
    """Cut items into runs, each as long as one call may be; an item that fits no call is alone.

    Args:
        items: In their order; none is asked for before its run.
        limits: What the server accepts.
        size: What an item takes.

    Yields:
        Runs of items, never empty.

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
    """As `batches`, of items that are awaited."""
    cutter = Cutter(limits, size)
    async for item in items:
        if run := cutter.add(item):
            yield run
    if run := cutter.rest():
        yield run


class Answered(Protocol):
    """The result of one item of a call."""

    @property
    def status(self) -> Status:
        """How the item fared."""


Result = TypeVar("Result", bound=Answered)
Record = TypeVar("Record")


def outcomes(
    field: str, results: Sequence[Result], decode: Callable[[Result], Record], *, start: int
) -> Iterator[Record | NarError]:
    """The outcomes of the items of one call.

    Args:
        field: What the items are in the request.
        results: The results of this call.
        decode: Makes the record of a result that is OK.
        start: How many items earlier calls had: errors count from the first item of all calls.
    """
    for position, result in enumerate(results):
        if not result.status.code:
            yield decode(result)
            continue
        error = error_of_status(result.status)
        if isinstance(error, InvalidQueryError):
            below = error.field.removeprefix(f"{field}[{position}]")
            error = InvalidQueryError(f"{field}[{start + position}]{below}", error.reason)
        yield error


def value(outcome: Record | NarError) -> Record:
    """The record of an outcome.

    Raises:
        NarError: The outcome is this error.
    """
    if isinstance(outcome, NarError):
        raise outcome
    return outcome


_Known = wire.GetResult | wire.UpsertResult | wire.DeleteResult | wire.LabelResult


@dataclass(frozen=True, slots=True)
class Question(Generic[Item, Record]):
    """What one method is asked of any number of items.

    Attributes:
        method: Name on the wire: ``Search``.
        field: What the items are in its request.
        message: Makes a request of that field.
        encode: Makes the message, or the name, of an item.
        decode: Makes the record of a result that is OK.
        size: What an encoded item takes of a call.
    """

    method: str
    field: str
    message: Callable[..., Message]
    encode: Callable[[Item], Message | str]
    decode: Callable[[Any], Record]
    size: Callable[[Any], Size] = size_of

    def requests(self, items: Iterable[Item], limits: Limits) -> Iterator[Message]:
        """Requests that ask for items, each as long as one call may be, made when taken."""
        for batch in batches(map(self.encode, items), limits, self.size):
            yield self.message(**{self.field: batch})

    async def requests_as_they_come(
        self, items: AsyncIterable[Item], limits: Limits
    ) -> AsyncIterator[Message]:
        """As `requests`, for items that are awaited."""
        encoded = (self.encode(item) async for item in items)
        async for batch in batches_as_they_come(encoded, limits, self.size):
            yield self.message(**{self.field: batch})

    def records(self, response: Any, *, start: int) -> Iterator[Record | NarError]:  # noqa: ANN401
        """The outcomes of the items of one request.

        Args:
            response: The response to the request.
            start: How many items the earlier requests had.
        """
        return outcomes(self.field, response.results, self.decode, start=start)


def searching(top_k: int | None, wanted: Filter, by: By) -> Question[Target, Answer]:
    """The question for the nearest architectures of targets; the arguments are `Client.search`'s.

    Args:
        top_k: Number of networks.
        wanted: What hits must be.
        by: What hits should share with a target.
    """

    def encode(target: Target) -> wire.Query:
        return encode_query(target, top_k, wanted, by, counted="networks")

    return Question("Search", "queries", wire.SearchRequest, encode, records.decode_answer)


def _encode_asked(query: Query) -> wire.Query:
    asked = (query.parts, query.parts_if_new, query.assumed, query.counted, query.unread)
    return encode_query(query.target, query.top_k, query.filter, query.by, *asked)


def comparing(
    target: records.Compared, others: Sequence[str], known: Sequence[Hit | NarError]
) -> Question[str, MotifDifference]:
    """The question which motifs a target shares with others.

    Args:
        target: What is compared.
        others: Names or ids.
        known: What `GET` says of each: the server reads their graphs, so their nodes count.
    """
    nodes = dict(zip(others, map(_nodes, known), strict=True))

    def size(name: str) -> Size:
        return size_of(name)._replace(nodes=nodes[name])

    message = partial(records.encode_request, target)
    return Question("Explain", "others", message, str, records.decode_explanation, size)


def matrix(vectors: Sequence[NDArray[np.float32] | NarError], dim: int) -> NDArray[np.float32]:
    """What `EMBED` brought as rows, shape (graphs, dim).

    Raises:
        NarError: The error of the first graph that has no vector.
    """
    rows = [value(vector) for vector in vectors]
    return np.array(rows, dtype=np.float32).reshape(len(rows), dim)


def _decode_embedding(result: wire.EmbedResult) -> NDArray[np.float32]:
    return np.array(result.vector.values, dtype=np.float32)


def _decode_known(result: _Known) -> Hit:
    return records.decode_architecture(result.architecture)


def _nodes(known: Hit | NarError) -> int:
    return known.nodes if isinstance(known, Hit) else 0


ANSWERS: Final[Question[Query, Answer]] = Question(
    "Search", "queries", wire.SearchRequest, _encode_asked, records.decode_answer
)
EMBED: Final[Question[ComputationalGraph, NDArray[np.float32]]] = Question(
    "Embed", "graphs", wire.EmbedRequest, encode_graph, _decode_embedding
)
GET: Final[Question[str, Hit]] = Question(
    "Get", "architectures", wire.GetRequest, str, _decode_known
)
UPSERT: Final[Question[Architecture, Hit]] = Question(
    "Upsert", "architectures", wire.UpsertRequest, records.encode_new, _decode_known
)
LABEL: Final[Question[records.LabelChange, Hit]] = Question(
    "Label", "changes", wire.LabelRequest, records.encode_change, _decode_known
)
DELETE: Final[Question[str, Hit]] = Question(
    "Delete", "architectures", wire.DeleteRequest, str, _decode_known
)
