"""Client: asks a NAR server, and gives and raises the records and errors of the library."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import grpc
import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from nar.architecture import Architecture
from nar.by import By
from nar.config import ClientConfig
from nar.difference import MotifDifference
from nar.errors import NarError
from nar.graph import ComputationalGraph
from nar.index.filters import EVERYTHING, Filter
from nar.index.rows import Hit
from nar.query import Answer, Target
from nar.serve.answers import decode_answer, decode_architecture
from nar.serve.architectures import encode_new
from nar.serve.batching import Size, batches, size_of
from nar.serve.channel import open_channel
from nar.serve.convert import encode_query
from nar.serve.description import Description, decode_description
from nar.serve.explanations import Compared, decode_explanation, encode_request
from nar.serve.graphs import encode_graph
from nar.serve.outcomes import Result, outcomes, value
from nar.serve.pages import encode_listing, listed
from nar.serve.remote import error_of_call
from nar.serve.streaming import answers
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub

Record = TypeVar("Record")
Item = TypeVar("Item", bound=Message | str)
Response = TypeVar("Response", bound=Message)
_Known = wire.GetResult | wire.UpsertResult | wire.DeleteResult


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
        self._channel = open_channel(target, config, has_secret=bool(token))
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
        request = wire.DescribeRequest()
        message: wire.DescribeResponse = self._call(self._stub.Describe, request)
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
        return value(self.search_many([target], top_k=top_k, wanted=wanted, by=by)[0])

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

        return self._ask(self._stub.Search, wire.SearchRequest, "queries", queries, decode_answer)

    def search_stream(
        self,
        targets: Iterable[Target],
        *,
        top_k: int | None = None,
        wanted: Filter = EVERYTHING,
        by: By = "design",
    ) -> Iterator[Answer | NarError]:
        """What `search_many` gives, one after the other, for targets that need not be there yet.

        Targets are taken when they are about to be sent. The stream has no time limit of its own;
        the server ends one that brings nothing for a minute. grpc makes a call again only up to the
        first answer; after it, who asks may ask again for what was not answered.

        Raises:
            IndexUnavailableError: The server stops, or is gone.
            ServiceError: RESOURCE_EXHAUSTED where the server is full; others as for `search`.
        """
        queries = (encode_query(target, top_k, wanted, by) for target in targets)
        requests = (
            wire.SearchRequest(queries=batch)
            for batch in batches(queries, self._server().limits, size_of)
        )
        start = 0
        for response in answers(self._stub.SearchStream, requests, self._metadata):
            yield from outcomes("queries", response.results, decode_answer, start=start)
            start += len(response.results)

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Vectors of graphs. Shape (graphs, dim), length 1.

        Raises:
            InvalidQueryError: Names the first graph at fault; others as for `search`.
        """
        messages = [encode_graph(graph) for graph in graphs]

        vectors = self._ask(
            self._stub.Embed, wire.EmbedRequest, "graphs", messages, _decode_embedding
        )
        rows = [value(vector) for vector in vectors]
        return np.array(rows, dtype=np.float32).reshape(len(graphs), self._server().dim)

    def get(self, names: Sequence[str]) -> list[Hit | NarError]:
        """What is known of each architecture, by name or id, or the error that it is unknown."""
        return self._ask(self._stub.Get, wire.GetRequest, "architectures", names, _decode_known)

    def explain(self, target: Compared, others: Sequence[str]) -> list[MotifDifference | NarError]:
        """Which motifs a graph, or an indexed architecture, shares with indexed ones: its hits.

        Args:
            target: What is compared: the first of every comparison.
            others: Names or ids.

        Returns:
            For each of the others the comparison, or the error that it is unknown, or that the
            server has no graph of it.

        Raises:
            UnknownArchitectureError: The target is such a one.
            ServiceError: As for `search`.
        """
        nodes = dict(zip(others, map(_nodes, self.get(others)), strict=True))

        def size(name: str) -> Size:
            return size_of(name)._replace(nodes=nodes[name])

        request = partial(encode_request, target)
        return self._ask(self._stub.Explain, request, "others", others, decode_explanation, size)

    def upsert(self, items: Sequence[Architecture]) -> list[Hit | NarError]:
        """Write architectures into the index; one of the same name is replaced.

        The same items twice give the same index. Many go in several calls: those before one that
        fails are written.

        Args:
            items: Architectures of different names.

        Returns:
            How each is indexed now, or the error of its graph or of a text that is too long.

        Raises:
            ServiceError: PERMISSION_DENIED where the server takes no writes, or none with this
                token; others as for `search`.
        """
        news = [encode_new(item) for item in items]
        return self._ask(
            self._stub.Upsert, wire.UpsertRequest, "architectures", news, _decode_known
        )

    def delete(self, names: Sequence[str]) -> list[Hit | NarError]:
        """Delete architectures, by name or id.

        What a call deleted whose answer was lost is said to be unknown when it is made again.

        Returns:
            How each was indexed, or the error that it is unknown.

        Raises:
            ServiceError: As for `upsert`.
        """
        return self._ask(
            self._stub.Delete, wire.DeleteRequest, "architectures", names, _decode_known
        )

    def _call(self, method: Callable[..., Response], request: Message) -> Response:
        try:
            return method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise error_of_call(error) from None

    def _ask(
        self,
        method: Callable[..., Any],
        request: Callable[..., Message],
        field: str,
        items: Sequence[Item],
        decode: Callable[[Result], Record],
        size: Callable[[Item], Size] = size_of,
    ) -> list[Record | NarError]:
        """Ask for any number of items, in calls that the server's limits allow."""
        records: list[Record | NarError] = []
        for batch in batches(items, self._server().limits, size):
            response = self._call(method, request(**{field: batch}))
            records += outcomes(field, response.results, decode, start=len(records))
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


def _decode_embedding(result: wire.EmbedResult) -> NDArray[np.float32]:
    return np.array(result.vector.values, dtype=np.float32)


def _nodes(known: Hit | NarError) -> int:
    return known.nodes if isinstance(known, Hit) else 0


def _decode_known(result: _Known) -> Hit:
    return decode_architecture(result.architecture)
