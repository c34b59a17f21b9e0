"""Client: asks a NAR server, with the library's records and errors on both sides."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Final, Self, TypeVar

import grpc
import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from nar.errors import NarError
from nar.filters import Filter
from nar.graph import ComputationalGraph
from nar.index import Hit
from nar.retrieve import Answer
from nar.serve.answers import decode_answer, decode_architecture
from nar.serve.filters import encode_filter
from nar.serve.graphs import encode_graph
from nar.serve.limits import Limits, decode_limits
from nar.serve.remote import error_of_call, error_of_status
from nar.v1 import retrieval_pb2
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub

Target = ComputationalGraph | str | NDArray[np.float32]
Record = TypeVar("Record")
Item = TypeVar("Item", bound=Message)
Result = TypeVar("Result", bound=Message)

# Every method only reads, so a call may be made again; UNAVAILABLE says that it was not answered.
SERVICE_CONFIG: Final = {
    "methodConfig": [
        {
            "name": [{"service": "nar.v1.ArchitectureRetrievalService"}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ],
    "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
}
OPTIONS: Final = (
    ("grpc.service_config", json.dumps(SERVICE_CONFIG)),
    # Requests are kept within the server's limits; answers are as long as was asked for.
    ("grpc.max_receive_message_length", -1),
)
# Room for tags and lengths around the items of a request.
ENVELOPE_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Description:
    """What a server is.

    Attributes:
        version: Of its software.
        encoder: Kind of encoder.
        fingerprint: Sha256 of the encoder's configuration and weights.
        dim: Length of its vectors.
        index_rows: Architectures in the index.
        limits: What it accepts.
        operators: Its operator vocabulary.
        attribute_names: Attributes a node may have.
    """

    version: str
    encoder: str
    fingerprint: str
    dim: int
    index_rows: int
    limits: Limits
    operators: tuple[str, ...]
    attribute_names: tuple[str, ...]


class Client:
    """A connection to one server; close it, or use it in a `with`.

    Args:
        target: Address: ``127.0.0.1:50051``.
        token: What the server wants callers to bring.
        timeout_s: How long one call may take, tries after UNAVAILABLE included.
    """

    def __init__(self, target: str, *, token: str | None = None, timeout_s: float = 30.0) -> None:
        self._channel = grpc.insecure_channel(target, options=OPTIONS)
        self._stub = ArchitectureRetrievalServiceStub(self._channel)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._timeout_s = timeout_s
        self._limits: Limits | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def describe(self) -> Description:
        """What the server is, and what it accepts."""
        message = self._call(self._stub.Describe, retrieval_pb2.DescribeRequest())
        return Description(
            version=message.version,
            encoder=message.encoder.name,
            fingerprint=message.encoder.fingerprint,
            dim=message.encoder.dim,
            index_rows=message.index_rows,
            limits=decode_limits(message.limits),
            operators=tuple(message.operators),
            attribute_names=tuple(message.attribute_names),
        )

    def search(
        self, target: Target, *, top_k: int | None = None, wanted: Filter | None = None
    ) -> Answer:
        """The nearest architectures of one graph, name, id or vector.

        Args:
            target: Canonical or not, a graph is understood in any numbering; a vector has shape
                (dim,).
            top_k: Number of hits; without one, the server's own default.
            wanted: What hits must be.

        Raises:
            InvalidQueryError: Names the field at fault.
            UnknownArchitectureError: No such name or id is indexed.
            IndexUnavailableError: Nobody answers; the call was tried several times.
            ServiceError: Anything else; `code` says what.
        """
        return _value(self.search_many([target], top_k=top_k, wanted=wanted)[0])

    def search_many(
        self, targets: Sequence[Target], *, top_k: int | None = None, wanted: Filter | None = None
    ) -> list[Answer | NarError]:
        """As `search`, for any number of targets: an answer, or the error, in each one's place."""
        queries = [_encode_query(target, top_k, wanted) for target in targets]

        def ask(batch: Sequence[retrieval_pb2.Query]) -> Sequence[retrieval_pb2.SearchResult]:
            request = retrieval_pb2.SearchRequest(queries=batch)
            return self._call(self._stub.Search, request).results

        return self._in_batches("queries", queries, ask, decode_answer)

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Vectors of graphs. Shape (graphs, dim), length 1.

        Raises:
            InvalidQueryError: Names the first graph at fault; others as for `search`.
        """
        messages = [encode_graph(graph) for graph in graphs]

        def ask(batch: Sequence[retrieval_pb2.Graph]) -> Sequence[retrieval_pb2.EmbedResult]:
            request = retrieval_pb2.EmbedRequest(graphs=batch)
            return self._call(self._stub.Embed, request).results

        vectors = self._in_batches("graphs", messages, ask, _decode_embedding)
        return np.stack([_value(vector) for vector in vectors])

    def get(self, names: Sequence[str]) -> list[Hit | NarError]:
        """What is known of architectures, by name or id; an unknown one gives its error."""

        def ask(batch: Sequence[str]) -> Sequence[retrieval_pb2.GetResult]:
            request = retrieval_pb2.GetRequest(architectures=batch)
            return self._call(self._stub.Get, request).results

        return self._in_batches("architectures", names, ask, _decode_known)

    def _call(self, method: Callable[..., Response], request: Message) -> Response:
        try:
            return method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise error_of_call(error) from None
