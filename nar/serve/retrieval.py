"""What the methods of the service do: they decode, call the library and encode, and they block.

An item at fault gets a status of its own; an error that is raised concerns the whole call.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nar.config import ServerConfig
from nar.encoding.embed import Embedder
from nar.errors import NarError
from nar.fingerprints import Fingerprinted
from nar.index.filters import Filter
from nar.index.rows import IndexEntry, IndexRow
from nar.index.state import IndexState
from nar.novelty import Novelty
from nar.ops import ATTRIBUTES, OPS
from nar.query import Answer, Query, in_place
from nar.retrieve import Retriever, Searches, unknown
from nar.serve.answers import encode_answer, encode_architecture, encode_state
from nar.serve.convert import check_totals, decode_each, decode_name, decode_query
from nar.serve.graphs import Fingerprint, decode_graph
from nar.serve.limits import encode_limits, limits_of
from nar.serve.pages import decode_page, encode_page
from nar.serve.stages import StageClock, TimedEmbedder
from nar.serve.status import code_name, status_of
from nar.serve.store_metrics import Watched
from nar.serve.telemetry import Telemetry
from nar.v1 import retrieval_pb2 as wire

Embedding = NDArray[np.float32]
Item = TypeVar("Item")
Record = TypeVar("Record")
Result = TypeVar("Result")


class Indexed(Searches, Watched, Protocol):
    """What a server needs of an index: a `Reader` or an `ArchitectureIndex`."""

    @property
    def state(self) -> IndexState:
        """Where the rows are."""

    def count(self) -> int:
        """Number of rows, asked of the index itself."""

    def page(self, after: str, limit: int, wanted: Filter) -> list[IndexEntry]:
        """The rows of the next ids, in their order."""


class Retrieval:
    """The work behind the service; called from several threads at once.

    Args:
        embedder: Turns graphs into vectors.
        index: Holds vectors of the same encoder.
        novelty: How far its architectures are from each other, if that was measured.
        config: Limits.
        telemetry: Counts items and times stages.
    """

    def __init__(
        self,
        embedder: Embedder,
        index: Indexed,
        *,
        novelty: Novelty | None,
        config: ServerConfig,
        telemetry: Telemetry,
    ) -> None:
        self._embedder = embedder
        self._index = index
        self._novelty = novelty
        self._limits = limits_of(config)
        self._telemetry = telemetry

    def count_rows(self) -> int:
        """Architectures in the index, asked of the index itself."""
        return self._index.count()

    def search(self, request: wire.SearchRequest, clock: StageClock) -> wire.SearchResponse:
        """Find the nearest architectures of each query, all of them together."""
        with clock.stage("parse"):
            graphs = [query.graph for query in request.queries if query.HasField("graph")]
            check_totals("queries", graphs, self._limits)
            decode = partial(self._decode_query, fingerprint=clock.fingerprint)
            queries = self._decode("queries", request.queries, decode, clock)
        with clock.stage("search"):
            answers = self._answer(queries, clock)
        results = self._encode("Search", answers, encode_answer, wire.SearchResult)
        return wire.SearchResponse(results=results, timings=clock.timings())

    def embed(self, request: wire.EmbedRequest, clock: StageClock) -> wire.EmbedResponse:
        """Turn graphs into vectors, all of them together."""
        with clock.stage("parse"):
            check_totals("graphs", request.graphs, self._limits)
            decode = partial(self._decode_graph, fingerprint=clock.fingerprint)
            graphs = self._decode("graphs", request.graphs, decode, clock)
        good = [graph for graph in graphs if isinstance(graph, Fingerprinted)]
        vectors = TimedEmbedder(self._embedder, clock).embed([each.graph for each in good])
        embedded = in_place(graphs, zip(good, vectors, strict=True))
        results = self._encode("Embed", embedded, _encode_embedding, wire.EmbedResult)
        return wire.EmbedResponse(results=results, timings=clock.timings())

    def get(self, request: wire.GetRequest, clock: StageClock) -> wire.GetResponse:
        """Look architectures up."""
        names = self._decode("architectures", request.architectures, decode_name, clock)
        rows = self._index.get([name for name in names if isinstance(name, str)])
        known = [_row_of(name, rows) if isinstance(name, str) else name for name in names]
        return wire.GetResponse(results=self._encode("Get", known, _encode_row, wire.GetResult))

    def listed(self, request: wire.ListRequest, clock: StageClock) -> wire.ListResponse:
        """Show a page of the known architectures, by id."""
        with clock.stage("parse"):
            asked = decode_page(request, self._limits)
        with clock.stage("search"):
            # One more than is shown tells whether there is another page.
            entries = self._index.page(asked.after, asked.size + 1, asked.wanted)
        return encode_page(asked, entries)

    def describe(self) -> wire.DescribeResponse:
        """Say what this server holds and accepts."""
        embedder = self._embedder
        return wire.DescribeResponse(
            version=version("nar"),
            encoder=wire.Encoder(
                name=embedder.name, fingerprint=embedder.fingerprint, dim=embedder.dim
            ),
            index_rows=self.count_rows(),
            limits=encode_limits(self._limits),
            operators=OPS,
            attribute_names=ATTRIBUTES,
            index=encode_state(self._index.state),
        )

    def _decode(
        self,
        field: str,
        items: Sequence[Item],
        decode: Callable[[Item], Record],
        clock: StageClock,
    ) -> list[Record | NarError]:
        def patiently(item: Item) -> Record:
            clock.patience.check()
            return decode(item)

        return decode_each(field, items, patiently, max_items=self._limits.max_items)

    def _decode_query(self, message: wire.Query, fingerprint: Fingerprint) -> Query:
        return decode_query(message, self._limits, self._embedder.dim, fingerprint)

    def _decode_graph(self, message: wire.Graph, fingerprint: Fingerprint) -> Fingerprinted:
        limits = self._limits
        return decode_graph(
            message,
            max_nodes=limits.max_nodes,
            max_edges=limits.max_edges,
            fingerprint=fingerprint,
        )

    def _answer(
        self, queries: Sequence[Query | NarError], clock: StageClock
    ) -> list[Answer | NarError]:
        """Answer all queries that could be decoded together; the others keep their errors."""
        good = [query for query in queries if isinstance(query, Query)]
        retriever = Retriever(TimedEmbedder(self._embedder, clock), self._index, self._novelty)
        return in_place(queries, retriever.search_all(good))

    def _encode(
        self,
        method: str,
        outcomes: Sequence[Record | NarError],
        encode: Callable[[Record], Result],
        refusal: Callable[..., Result],
    ) -> list[Result]:
        """The result of each item: its answer, or its error as a status of its own."""
        results = []
        for outcome in outcomes:
            if isinstance(outcome, NarError):
                status = status_of(outcome)
                result, code = refusal(status=status), code_name(status)
            else:
                result, code = encode(outcome), "OK"
            self._telemetry.item_answered(method, code)
            results.append(result)
        return results


def _row_of(name: str, rows: Mapping[str, IndexRow]) -> IndexRow | NarError:
    return rows[name] if name in rows else unknown(name)


def _encode_row(row: IndexRow) -> wire.GetResult:
    return wire.GetResult(architecture=encode_architecture(row))


def _encode_embedding(embedded: tuple[Fingerprinted, Embedding]) -> wire.EmbedResult:
    graph, vector = embedded
    return wire.EmbedResult(
        vector=wire.Vector(values=vector.tolist()),
        topology=graph.topology,
        exact=graph.exact,
        inference=graph.inference,
    )
