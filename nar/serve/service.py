"""The servicer: the methods of the contract, each run by the interceptor on a thread."""

from nar.serve.retrieval import Retrieval
from nar.serve.stages import StageClock
from nar.v1.retrieval_pb2 import (
    DeleteRequest,
    DeleteResponse,
    DescribeRequest,
    DescribeResponse,
    EmbedRequest,
    EmbedResponse,
    ExplainRequest,
    ExplainResponse,
    GetRequest,
    GetResponse,
    ListRequest,
    ListResponse,
    SearchRequest,
    SearchResponse,
    UpsertRequest,
    UpsertResponse,
)
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceServicer


class Servicer(ArchitectureRetrievalServiceServicer):
    """Gives each method its name on the wire; in place of grpc's context comes the call's clock.

    Args:
        retrieval: Does the work.
    """

    def __init__(self, retrieval: Retrieval) -> None:
        self._retrieval = retrieval

    def Search(self, request: SearchRequest, clock: StageClock) -> SearchResponse:
        """Find the nearest architectures of each query."""
        return self._retrieval.search(request, clock, "Search")

    def SearchStream(self, request: SearchRequest, clock: StageClock) -> SearchResponse:
        """Find the nearest architectures of each query of one request of a stream."""
        return self._retrieval.search(request, clock, "SearchStream")

    def Embed(self, request: EmbedRequest, clock: StageClock) -> EmbedResponse:
        """Turn graphs into vectors."""
        return self._retrieval.embed(request, clock)

    def Get(self, request: GetRequest, clock: StageClock) -> GetResponse:
        """Look architectures up."""
        return self._retrieval.get(request, clock)

    def Describe(self, request: DescribeRequest, clock: StageClock) -> DescribeResponse:
        """Say what this server holds and accepts."""
        return self._retrieval.describe()

    def Upsert(self, request: UpsertRequest, clock: StageClock) -> UpsertResponse:
        """Embed architectures and write them."""
        return self._retrieval.writes.upsert(request, clock)

    def Delete(self, request: DeleteRequest, clock: StageClock) -> DeleteResponse:
        """Delete architectures."""
        return self._retrieval.writes.delete(request, clock)

    def Explain(self, request: ExplainRequest, clock: StageClock) -> ExplainResponse:
        """Say which motifs architectures share."""
        return self._retrieval.explanations.explain(request, clock)

    def List(self, request: ListRequest, clock: StageClock) -> ListResponse:
        """Show a page of the known architectures."""
        return self._retrieval.listed(request, clock)
