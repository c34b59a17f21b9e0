"""AsyncClient: what `nar.client.client` does, awaited."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
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
from nar.client.calling import PLAIN, awaited_answers, callers_of, open_async_channel
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


class AsyncClient:
    """A connection to one server, for one event loop; close it, or use it in an `async with`.

    It has the methods of `nar.Client`, with their arguments, results and errors. Cancelling a
    coroutine cancels its call.

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
        self._callers = callers_of(partial(open_async_channel, target), config, token, timeout_s)
        self._description: questions.Description | None = None
        self._describing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection."""
        for channel in self._callers.end():
            await channel.close(None)

    async def describe(self) -> questions.Description:
        """What the server is, and what it accepts."""
        return questions.decode_description(await self._call("Describe", wire.DescribeRequest()))

    async def search(
        self,
        target: Target,
        *,
        top_k: int | None = None,
        wanted: Filter = EVERYTHING,
        by: By = "design",
    ) -> Answer:
        """The nearest architectures of one graph, name, id or vector: see `Client.search`."""
        [outcome] = await self.search_many([target], top_k=top_k, wanted=wanted, by=by)
        return questions.value(outcome)

    async def answers(self, queries: Sequence[Query]) -> list[Answer]:
        """Answer queries together, each with its own settings: see `Retriever.answers`.

        Queries about one graph, in one call, embed it once.

        Raises:
            InvalidQueryError: Names the field of a query at fault; others as for `search`.
        """
        return [questions.value(outcome) for outcome in await self.search_all(queries)]

    async def search_all(self, queries: Sequence[Query]) -> list[Answer | NarError]:
        """For each query its answer, or the error that `answers` raises for it."""
        return await self._ask(questions.ANSWERS, queries)

    async def search_many(
        self,
        targets: Sequence[Target],
        *,
        top_k: int | None = None,
        wanted: Filter = EVERYTHING,
        by: By = "design",
    ) -> list[Answer | NarError]:
        """For each of any number of targets its answer, or the error that `search` raises."""
        return await self._ask(questions.searching(top_k, wanted, by), targets)

    async def search_stream(
        self,
        targets: AsyncIterable[Target] | Iterable[Target],
        *,
        top_k: int | None = None,
        wanted: Filter = EVERYTHING,
        by: By = "design",
    ) -> AsyncIterator[Answer | NarError]:
        """What `search_many` gives, one after the other, for targets that need not be there yet.

        See `Client.search_stream`; targets may be awaited, too.
        """
        question = questions.searching(top_k, wanted, by)
        limits = (await self._server()).limits
        requests = question.requests_as_they_come(_awaited(targets), limits)
        start = 0
        responses = awaited_answers(self._callers.current(), "SearchStream", requests)
        # Where no further answer is wanted, the call would otherwise go on until it is collected.
        async with aclosing(responses):
            async for response in responses:
                for record in question.records(response, start=start):
                    yield record
                start += len(response.results)

    async def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Vectors of graphs. Shape (graphs, dim), length 1: see `Client.embed`."""
        vectors = await self._ask(questions.EMBED, graphs)
        return questions.matrix(vectors, (await self._server()).dim)

    async def get(self, names: Sequence[str]) -> list[Hit | NarError]:
        """What is known of each architecture, by name or id, or the error that it is unknown."""
        return await self._ask(questions.GET, names)

    async def explain(
        self, target: Compared, others: Sequence[str]
    ) -> list[MotifDifference | NarError]:
        """Which motifs a target shares with indexed architectures: see `Client.explain`."""
        return await self._ask(questions.comparing(target, others, await self.get(others)), others)

    async def upsert(self, items: Sequence[Architecture]) -> list[Hit | NarError]:
        """Write architectures into the index: see `Client.upsert`."""
        return await self._ask(questions.UPSERT, items)

    async def delete(self, names: Sequence[str]) -> list[Hit | NarError]:
        """Delete architectures, by name or id: see `Client.delete`."""
        return await self._ask(questions.DELETE, names)

    async def label(
        self,
        name: str,
        labels: Mapping[str, LabelValue] = MappingProxyType({}),
        *,
        removed: Iterable[str] = (),
    ) -> Hit:
        """Change labels of an indexed architecture: see `Client.label`."""
        change = LabelChange(name, labels, frozenset(removed))
        return questions.value((await self.label_many([change]))[0])

    async def label_many(self, changes: Sequence[LabelChange]) -> list[Hit | NarError]:
        """How each of any number of changes fared: see `Client.label_many`."""
        return await self._ask(questions.LABEL, changes)

    async def _call(self, method: str, request: Message) -> Any:  # noqa: ANN401
        caller = self._callers.current()
        try:
            return await caller.call(method, request)
        except grpc.RpcError as error:
            raise caller.error_of(error) from None

    async def _ask(
        self, question: questions.Question[Item, Record], items: Sequence[Item]
    ) -> list[Record | NarError]:
        """Ask for any number of items, in calls that the server's limits allow."""
        # All requests are made before the first call: an item at fault raises before a write.
        requests = [*question.requests(items, (await self._server()).limits)]
        records: list[Record | NarError] = []
        for request in requests:
            response = await self._call(question.method, request)
            records += question.records(response, start=len(records))
        return records

    async def _server(self) -> questions.Description:
        async with self._describing:
            if self._description is None:
                self._description = await self.describe()
            return self._description

    # The last method: in methods after it, `list` would be no type any more.
    async def list(
        self, *, wanted: Filter = EVERYTHING, page_size: int | None = None
    ) -> AsyncIterator[Hit]:
        """Known architectures by id, page by page while they are read: see `Client.list`."""
        request: wire.ListRequest | None = encode_listing(wanted, page_size)
        while request is not None:
            response = await self._call("List", request)
            for architecture in response.architectures:
                yield decode_architecture(architecture)
            request = next_request(request, response)


async def _awaited(items: AsyncIterable[Item] | Iterable[Item]) -> AsyncIterator[Item]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
