"""What a client asks of many items: its requests, cut to the server's limits, and what they mean.

A blocking client and one that awaits ask the same questions; they differ in how a call is waited
for, and in nothing else.
"""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from nar.answers.difference import MotifDifference
from nar.answers.query import Answer, Target
from nar.base.errors import NarError
from nar.client.batching import Size, batches, batches_as_they_come, size_of
from nar.client.outcomes import outcomes, value
from nar.graphs.architecture import Architecture
from nar.graphs.by import By
from nar.graphs.graph import ComputationalGraph
from nar.index.filters import Filter
from nar.index.rows import Hit
from nar.v1 import retrieval_pb2 as wire
from nar.wire.answers import decode_answer, decode_architecture
from nar.wire.architectures import encode_new
from nar.wire.convert import encode_query
from nar.wire.explanations import Compared, decode_explanation, encode_request
from nar.wire.graphs import encode_graph
from nar.wire.limits import Limits

Item = TypeVar("Item")
Record = TypeVar("Record")
_Known = wire.GetResult | wire.UpsertResult | wire.DeleteResult


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
        """As `requests`, for items that are waited for."""
        encoded = (self.encode(item) async for item in items)
        async for batch in batches_as_they_come(encoded, limits, self.size):
            yield self.message(**{self.field: batch})

    def records(self, response: Any, *, start: int) -> Iterator[Record | NarError]:  # noqa: ANN401
        """What became of the items of one of several requests.

        Args:
            response: To that request.
            start: How many items the requests before it had.
        """
        return outcomes(self.field, response.results, self.decode, start=start)


def searching(top_k: int | None, wanted: Filter, by: By) -> Question[Target, Answer]:
    """The question for the nearest architectures of targets; the arguments are `Client.search`'s.

    Args:
        top_k: Number of hits.
        wanted: What hits must be.
        by: What hits should share with a target.
    """

    def encode(target: Target) -> wire.Query:
        return encode_query(target, top_k, wanted, by)

    return Question("Search", "queries", wire.SearchRequest, encode, decode_answer)


def comparing(
    target: Compared, others: Sequence[str], known: Sequence[Hit | NarError]
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

    message = partial(encode_request, target)
    return Question("Explain", "others", message, str, decode_explanation, size)


def matrix(vectors: Sequence[NDArray[np.float32] | NarError], dim: int) -> NDArray[np.float32]:
    """What `EMBED` brought as rows, shape (graphs, dim).

    Raises:
        NarError: Of the first graph that has no vector.
    """
    rows = [value(vector) for vector in vectors]
    return np.array(rows, dtype=np.float32).reshape(len(rows), dim)


def _decode_embedding(result: wire.EmbedResult) -> NDArray[np.float32]:
    return np.array(result.vector.values, dtype=np.float32)


def _decode_known(result: _Known) -> Hit:
    return decode_architecture(result.architecture)


def _nodes(known: Hit | NarError) -> int:
    return known.nodes if isinstance(known, Hit) else 0


EMBED: Final[Question[ComputationalGraph, NDArray[np.float32]]] = Question(
    "Embed", "graphs", wire.EmbedRequest, encode_graph, _decode_embedding
)
GET: Final[Question[str, Hit]] = Question(
    "Get", "architectures", wire.GetRequest, str, _decode_known
)
UPSERT: Final[Question[Architecture, Hit]] = Question(
    "Upsert", "architectures", wire.UpsertRequest, encode_new, _decode_known
)
DELETE: Final[Question[str, Hit]] = Question(
    "Delete", "architectures", wire.DeleteRequest, str, _decode_known
)
