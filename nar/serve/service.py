"""The servicer: the methods of the contract, each run by the interceptor on a thread."""

from nar.serve.calls import StageClock
from nar.serve.retrieval import Retrieval
from nar.v1.retrieval_pb2 import (
    DeleteRequest,
    DeleteResponse,
    DescribeRequest,
    DescribeResponse,
    ExplainRequest,
    ExplainResponse,
    GetRequest,
    GetResponse,
    ListRequest,
    ListResponse,
    UpsertRequest,
    UpsertResponse,
)
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceServicer


class Servicer(ArchitectureRetrievalServiceServicer):
    """Gives each method its name on the wire; in place of grpc's context comes the call's clock.

    Those that several calls share are no methods of it: `Retrieval.shared`.

    Args:
        retrieval: Does the work.
    """

    def __init__(self, retrieval: Retrieval) -> None:
        self._retrieval = retrieval

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
