"""The servicer: each method is decode, call, encode, run on a thread of a bounded pool."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from nar.serve.interceptors import Context
from nar.serve.retrieval import Retrieval
from nar.v1.retrieval_pb2 import (
    DescribeRequest,
    DescribeResponse,
    EmbedRequest,
    EmbedResponse,
    GetRequest,
    GetResponse,
    SearchRequest,
    SearchResponse,
)
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceServicer

Request = TypeVar("Request")
Response = TypeVar("Response")


class Servicer(ArchitectureRetrievalServiceServicer):
    """Keeps the event loop free: it only waits, so health answers while graphs are encoded.

    Args:
        retrieval: Does the work.
        pool: Where; admission bounds what waits for it.
    """

    def __init__(self, retrieval: Retrieval, pool: Executor) -> None:
        self._retrieval = retrieval
        self._pool = pool

    async def Search(self, request: SearchRequest, context: Context) -> SearchResponse:
        """Find the nearest architectures of each query."""
        return await self._run(self._retrieval.search, request)

    async def Embed(self, request: EmbedRequest, context: Context) -> EmbedResponse:
        """Turn graphs into vectors."""
        return await self._run(self._retrieval.embed, request)

    async def Get(self, request: GetRequest, context: Context) -> GetResponse:
        """Look architectures up."""
        return await self._run(self._retrieval.get, request)

    async def Describe(self, request: DescribeRequest, context: Context) -> DescribeResponse:
        """Say what this server holds and accepts."""
        return await self._run(self._retrieval.describe, request)

    async def _run(self, work: Callable[[Request], Response], request: Request) -> Response:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, request)
