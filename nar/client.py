"""Client: asks a NAR server, and gives and raises the records and errors of the library."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar

import grpc
import numpy as np
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from numpy.typing import NDArray

from nar.by import By
from nar.config import ClientConfig
from nar.errors import InvalidQueryError, NarError
from nar.graph import ComputationalGraph
from nar.index.filters import EVERYTHING, Filter
from nar.index.rows import Hit
from nar.query import Answer, Target
from nar.serve.answers import decode_answer, decode_architecture
from nar.serve.batching import batches, size_of
from nar.serve.channel import open_channel
from nar.serve.convert import encode_query
from nar.serve.description import Description, decode_description
from nar.serve.graphs import encode_graph
from nar.serve.pages import encode_listing, listed
from nar.serve.remote import error_of_call, error_of_status
from nar.v1 import retrieval_pb2
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub

Record = TypeVar("Record")
Item = TypeVar("Item", bound=Message | str)
Response = TypeVar("Response", bound=Message)


class Answered(Protocol):
    """The result of one item of a call."""

    @property
    def status(self) -> Status:
        """How the item fared."""


Result = TypeVar("Result", bound=Answered)

# Every method only reads, so a call may be made again. UNAVAILABLE says that it was not answered;
# so does CANCELLED, unless the caller did it: it is what grpc says while a server closes its port.
SERVICE_CONFIG: Final = {
    "methodConfig": [
        {
            "name": [{"service": "nar.v1.ArchitectureRetrievalService"}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
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
PLAIN: Final = ClientConfig()


class Client:
    """A connection to one server; close it, or use it in a `with`.

    Args:
        target: Address: ``127.0.0.1:50051``.
        token: What the server wants callers to bring.
        timeout_s: How long one call may take, tries after UNAVAILABLE included.
        config: Whether to speak TLS, whom to trust and what to show.

    Raises:
        ConfigError: A file of the configuration is at fault, or a token would leave this machine
            in clear text.
    """

    def __init__(
        self,
        target: str,
        *,
        token: str | None = None,
        timeout_s: float = 30.0,
        config: ClientConfig = PLAIN,
    ) -> None:
        self._channel = open_channel(target, config, has_secret=bool(token), options=OPTIONS)
        self._stub = ArchitectureRetrievalServiceStub(self._channel)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._timeout_s = timeout_s
        self._description: Description | None = None

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
        request = retrieval_pb2.DescribeRequest()
        message: retrieval_pb2.DescribeResponse = self._call(self._stub.Describe, request)
        return decode_description(message)

    def search(
        self,
        target: Target,
        *,
        top_k: int | None = None,
        wanted: Filter = EVERYTHING,
        by: By = "design",
    ) -> Answer:
        """The nearest architectures of one graph, name, id or vector.

        Args:
            target: A captured architecture, a graph in any numbering, the name or id of an
                indexed architecture, or a vector of shape (dim,).
            top_k: Number of hits; without one, the server's own default.
            wanted: What hits must be; by default anything.
            by: What hits should share with it: see `nar.query.Query`.

        Raises:
            InvalidQueryError: Names the field at fault.
            UnknownArchitectureError: No such name or id is indexed.
            IndexUnavailableError: Nobody answers; the call was tried several times.
            ServiceError: Anything else; `code` says what.
        """
        return _value(self.search_many([target], top_k=top_k, wanted=wanted, by=by)[0])

    def search_many(
        self,
        targets: Sequence[Target],
        *,
        top_k: int | None = None,
        wanted: Filter = EVERYTHING,
        by: By = "design",
    ) -> list[Answer | NarError]:
        """For each of any number of targets its answer, or the error that `search` raises."""
        queries = [encode_query(target, top_k, wanted, by) for target in targets]

        def ask(batch: Sequence[retrieval_pb2.Query]) -> Sequence[retrieval_pb2.SearchResult]:
            request = retrieval_pb2.SearchRequest(queries=batch)
            response: retrieval_pb2.SearchResponse = self._call(self._stub.Search, request)
            return response.results

        return self._in_batches("queries", queries, ask, decode_answer)

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Vectors of graphs. Shape (graphs, dim), length 1.

        Raises:
            InvalidQueryError: Names the first graph at fault; others as for `search`.
        """
        messages = [encode_graph(graph) for graph in graphs]

        def ask(batch: Sequence[retrieval_pb2.Graph]) -> Sequence[retrieval_pb2.EmbedResult]:
            request = retrieval_pb2.EmbedRequest(graphs=batch)
            response: retrieval_pb2.EmbedResponse = self._call(self._stub.Embed, request)
            return response.results

        vectors = self._in_batches("graphs", messages, ask, _decode_embedding)
        rows = [_value(vector) for vector in vectors]
        return np.array(rows, dtype=np.float32).reshape(len(graphs), self._server().dim)

    def get(self, names: Sequence[str]) -> list[Hit | NarError]:
        """What is known of each architecture, by name or id, or the error that it is unknown."""

        def ask(batch: Sequence[str]) -> Sequence[retrieval_pb2.GetResult]:
            request = retrieval_pb2.GetRequest(architectures=batch)
            response: retrieval_pb2.GetResponse = self._call(self._stub.Get, request)
            return response.results

        return self._in_batches("architectures", names, ask, _decode_known)

    def _call(self, method: Callable[..., Response], request: Message) -> Response:
        try:
            return method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise error_of_call(error) from None

    def _in_batches(
        self,
        field: str,
        items: Sequence[Item],
        ask: Callable[[Sequence[Item]], Sequence[Result]],
        decode: Callable[[Result], Record],
    ) -> list[Record | NarError]:
        """Ask for any number of items, in calls that the server's limits allow."""
        limits = self._server().limits
        records: list[Record | NarError] = []
        for start, stop in batches([size_of(item) for item in items], limits):
            for position, result in enumerate(ask(items[start:stop])):
                outcome = _outcome(result, decode)
                if isinstance(outcome, InvalidQueryError):
                    here, there = f"{field}[{position}]", f"{field}[{start + position}]"
                    outcome = InvalidQueryError(
                        there + outcome.field.removeprefix(here), outcome.reason
                    )
                records.append(outcome)
        return records

    def _server(self) -> Description:
        if self._description is None:
            self._description = self.describe()
        return self._description

    # The last method: in what follows it, `list` is no type any more.
    def list(self, *, wanted: Filter = EVERYTHING, page_size: int | None = None) -> Iterator[Hit]:
        """Known architectures by id, asked for page by page while they are read.

        What is written meanwhile may be among them or not; nothing comes twice, and what is there
        all the time comes.

        Args:
            wanted: What they must be; by default anything.
            page_size: How many to ask for at a time; without one, as many as the server gives.

        Raises:
            InvalidQueryError: Names the field at fault; others as for `search`.
        """
        request = encode_listing(wanted, page_size)
        return listed(partial(self._call, self._stub.List), request)


def _outcome(result: Result, decode: Callable[[Result], Record]) -> Record | NarError:
    return error_of_status(result.status) if result.status.code else decode(result)


def _decode_embedding(result: retrieval_pb2.EmbedResult) -> NDArray[np.float32]:
    return np.array(result.vector.values, dtype=np.float32)


def _decode_known(result: retrieval_pb2.GetResult) -> Hit:
    return decode_architecture(result.architecture)


def _value(outcome: Record | NarError) -> Record:
    if isinstance(outcome, NarError):
        raise outcome
    return outcome
