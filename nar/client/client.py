"""Client: asks a NAR server, and gives and raises the records and errors of the library."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import Any, Self, TypeVar

import grpc
import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from nar.answers.difference import MotifDifference
from nar.answers.query import Answer, Query, Target
from nar.base.errors import NarError
from nar.base.own_labels import LabelValue
from nar.client import questions
from nar.client.calling import PLAIN, answers, callers_of, open_channel
from nar.graphs.architecture import Architecture
from nar.graphs.by import By
from nar.graphs.graph import ComputationalGraph
from nar.index.filters import EVERYTHING, Filter
from nar.index.rows import Hit
from nar.v1 import retrieval_pb2 as wire
from nar.wire.pages import encode_listing, next_request
from nar.wire.records import Compared, LabelChange, decode_architecture
from nar.wire.settings import ClientConfig

Item = TypeVar("Item")
Record = TypeVar("Record")


class Client:
    """A connection to one server; close it, or use it in a `with`.

    Args:
        target: Address: ``127.0.0.1:50051``; several: ``ipv4:10.0.0.1:50051,10.0.0.2:50051``.
        token: What the server wants callers to bring.
        timeout_s: How long one call may take. A call that finds no server is tried again for 3 s.
        config: Whether to speak TLS, whom to trust and what to show.

    Raises:
        ConfigError: The target, the token or a file of the configuration is at fault, or the token
            would leave this machine in clear text.
    """

    def __init__(
        self,
        target: str,
        *,
        token: str | None = None,
        timeout_s: float = 30.0,
        config: ClientConfig = PLAIN,
    ) -> None:
        self._callers = callers_of(partial(open_channel, target), config, token, timeout_s)
        self._description: questions.Description | None = None
        self._describing = Lock()

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
        for channel in self._callers.end():
            channel.close()

    def describe(self) -> questions.Description:
        """What the server is, and what it accepts."""
        return questions.decode_description(self._call("Describe", wire.DescribeRequest()))

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
            top_k: Number of networks, whose copies are hits, too; without one, the server's own
                default. A server that does not know of networks counts hits.
            wanted: What hits must be; by default anything.
            by: What hits should share with it: see `nar.answers.query.Query`.

        Raises:
            InvalidQueryError: Names the field at fault.
            UnknownArchitectureError: No such name or id is indexed.
            IndexUnavailableError: Nobody answers; the call was tried several times.
            ServiceError: Anything else; `code` says what.
        """
        return questions.value(self.search_many([target], top_k=top_k, wanted=wanted, by=by)[0])

    def answers(self, queries: Sequence[Query]) -> list[Answer]:
        """Answer queries together, each with its own settings: see `Retriever.answers`.

        Queries about one graph, in one call, embed it once.

        Raises:
            InvalidQueryError: Names the field of a query at fault; others as for `search`.
        """
        return [questions.value(outcome) for outcome in self.search_all(queries)]

    def search_all(self, queries: Sequence[Query]) -> list[Answer | NarError]:
        """For each query its answer, or the error that `answers` raises for it."""
        return self._ask(questions.ANSWERS, queries)

    def search_many(
        self,
        targets: Sequence[Target],
        *,
        top_k: int | None = None,
        wanted: Filter = EVERYTHING,
        by: By = "design",
    ) -> list[Answer | NarError]:
        """For each of any number of targets its answer, or the error that `search` raises."""
        return self._ask(questions.searching(top_k, wanted, by), targets)

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
        the server ends a stream that brings nothing for a minute. grpc makes a call again only up
        to the first answer; after it, the caller may ask again for what was not answered.

        Raises:
            IndexUnavailableError: The server stops, or is gone.
            ServiceError: RESOURCE_EXHAUSTED where the server is full; others as for `search`.
        """
        question = questions.searching(top_k, wanted, by)
        requests = question.requests(targets, self._server().limits)
        start = 0
        for response in answers(self._callers.current(), "SearchStream", requests):
            yield from question.records(response, start=start)
            start += len(response.results)

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Vectors of graphs. Shape (graphs, dim), length 1.

        Raises:
            InvalidQueryError: Names the first graph at fault; others as for `search`.
        """
        vectors = self._ask(questions.EMBED, graphs)
        return questions.matrix(vectors, self._server().dim)

    def get(self, names: Sequence[str]) -> list[Hit | NarError]:
        """What is known of each architecture, by name or id, or the error that it is unknown."""
        return self._ask(questions.GET, names)

    def explain(self, target: Compared, others: Sequence[str]) -> list[MotifDifference | NarError]:
        """Which motifs a graph, or an indexed architecture, shares with indexed ones, such as hits.

        Args:
            target: What is compared: the first of every comparison.
            others: Names or ids.

        Returns:
            For each of the others the comparison, or the error that it is unknown, or that the
            server has no graph of it.

        Raises:
            UnknownArchitectureError: The target is unknown, or the server has no graph of it.
            ServiceError: As for `search`.
        """
        return self._ask(questions.comparing(target, others, self.get(others)), others)

    def upsert(self, items: Sequence[Architecture]) -> list[Hit | NarError]:
        """Write architectures into the index; each replaces an architecture of its name.

        The same items twice give the same index. Many go in several calls: when one fails, the
        items of the calls before it are written.

        Args:
            items: Architectures of different names.

        Returns:
            How each is indexed now, or the error of its graph or of a text that is too long.

        Raises:
            ServiceError: PERMISSION_DENIED where the server takes no writes, or none with this
                token; others as for `search`.
        """
        return self._ask(questions.UPSERT, items)

    def delete(self, names: Sequence[str]) -> list[Hit | NarError]:
        """Delete architectures, by name or id.

        A call whose answer was lost is made again, and finds what it deleted unknown.

        Returns:
            How each was indexed, or the error that it is unknown.

        Raises:
            ServiceError: As for `upsert`.
        """
        return self._ask(questions.DELETE, names)

    def label(
        self,
        name: str,
        labels: Mapping[str, LabelValue] = MappingProxyType({}),
        *,
        removed: Iterable[str] = (),
    ) -> Hit:
        """Change labels of an indexed architecture; nothing is embedded anew.

        Args:
            name: Its name or id.
            labels: Labels of your own to set, by any key, or its family and task; others stay.
            removed: Keys of own labels to take away.

        Returns:
            How it is indexed now.

        Raises:
            InvalidInputError: A key or value cannot be one.
            UnknownArchitectureError: No such name or id is indexed.
            ServiceError: As for `upsert`.
        """
        change = LabelChange(name, labels, frozenset(removed))
        return questions.value(self.label_many([change])[0])

    def label_many(self, changes: Sequence[LabelChange]) -> list[Hit | NarError]:
        """How each of any number of changes fared, of different architectures: see `label`."""
        return self._ask(questions.LABEL, changes)

    def _call(self, method: str, request: Message) -> Any:  # noqa: ANN401
        caller = self._callers.current()
        try:
            return caller.call(method, request)
        except grpc.RpcError as error:
            raise caller.error_of(error) from None

    def _ask(
        self, question: questions.Question[Item, Record], items: Sequence[Item]
    ) -> list[Record | NarError]:
        """Ask for any number of items, in calls that the server's limits allow."""
        # All requests are made before the first call: an item at fault raises before a write.
        requests = [*question.requests(items, self._server().limits)]
        records: list[Record | NarError] = []
        for request in requests:
            records += question.records(self._call(question.method, request), start=len(records))
        return records

    def _server(self) -> questions.Description:
        with self._describing:
            if self._description is None:
                self._description = self.describe()
            return self._description

    # The last method: in methods after it, `list` would be no type any more.
    def list(self, *, wanted: Filter = EVERYTHING, page_size: int | None = None) -> Iterator[Hit]:
        """Known architectures by id, asked for page by page while they are read.

        An architecture that is written meanwhile comes or does not; none comes twice, and every
        architecture that is indexed all the time comes.

        Args:
            wanted: What they must be; by default anything.
            page_size: How many to ask for at a time; without one, as many as the server gives.

        Raises:
            InvalidQueryError: Names the field at fault; others as for `search`.
        """
        return self._pages(encode_listing(wanted, page_size))

    def _pages(self, request: wire.ListRequest | None) -> Iterator[Hit]:
        while request is not None:
            response = self._call("List", request)
            yield from map(decode_architecture, response.architectures)
            request = next_request(request, response)
