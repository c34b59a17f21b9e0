"""What the methods of the service do: they decode, call the library and encode, and they block.

An item at fault gets a status of its own; an error that is raised concerns the whole call.

The methods that write put architectures into the index and take them out. An acknowledged write is
in the index even if a process is killed then, and this server finds it. What was measured on the
index before, such as novelty, is not measured again.

Explain compares graphs, which no index holds: they are read from a corpus, as far as it has them.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nar.answers.answer import READING, Graphs
from nar.answers.difference import Cut, MotifDifference, motif_difference
from nar.answers.novelty import Novelty
from nar.answers.query import PARTS, Answer, Query, in_place
from nar.answers.retrieve import Retriever, Searches
from nar.base.errors import (
    InvalidInputError,
    InvalidQueryError,
    NarError,
    UnknownArchitectureError,
)
from nar.base.workspace import version
from nar.encoding.stored import GraphEmbedder
from nar.graphs.architecture import Architecture
from nar.graphs.fingerprints import Fingerprinted, Network
from nar.graphs.ops import ATTRIBUTES, OPS
from nar.index.filters import EVERYTHING, Filter
from nar.index.rows import IndexEntry, IndexRow, IndexState, index_entry, index_row
from nar.serve.calls import Patience, StageClock, TimedEmbedder
from nar.serve.items import Items, NamedRows, Received, Reply, answer_at_once, rows_of
from nar.serve.scopes import EVERYBODY, Scope, ScopedIndex
from nar.serve.telemetry import Measured, Telemetry
from nar.v1 import retrieval_pb2 as wire
from nar.wire.limits import encode_limits, limits_of
from nar.wire.pages import decode_page, encode_page
from nar.wire.queries import at, check_totals, decode_name, decode_query
from nar.wire.records import (
    LabelChange,
    decode_change,
    decode_new,
    encode_answer,
    encode_architecture,
    encode_explanation,
    encode_state,
)
from nar.wire.settings import ServerConfig

Item = TypeVar("Item")


class WritableIndex(NamedRows, Protocol):
    """What writes need of an index: a `Reader`, an `ArchitectureIndex`, or a part of one."""

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Write rows; a row of the same id is replaced."""

    def delete(self, ids: Sequence[str]) -> int:
        """Delete rows."""


class Writes:
    """The methods that write; called from several threads at once.

    Args:
        embedder: Turns graphs into vectors of the index's encoder.
        index: Takes the vectors.
        items: Decodes and encodes the items of calls.
        scope: What the caller may write.
        taken: Gives those of some names whose rows are of others.
    """

    def __init__(
        self,
        embedder: GraphEmbedder,
        index: WritableIndex,
        items: Items,
        scope: Scope = EVERYBODY,
        taken: "Callable[[Sequence[str]], Collection[str]] | None" = None,
    ) -> None:
        self._embedder = embedder
        self._index = index
        self._items = items
        self._scope = scope
        self._taken = taken or _nobodys

    def upsert(self, request: wire.UpsertRequest, clock: StageClock) -> wire.UpsertResponse:
        """Embed and write all architectures that can be read, in one write."""
        with clock.stage("parse"):
            graphs = [each.graph for each in request.architectures]
            check_totals("architectures", graphs, self._items.limits)
            decode = partial(decode_new, graph=partial(self._items.graph, clock=clock))
            decoded = self._items.decode("architectures", request.architectures, decode, clock)
        news = _once(
            "architectures", "name", decoded, [each.name for each in request.architectures]
        )
        news = self._allowed(news)
        good = [each for each in news if isinstance(each, Architecture)]
        vectors = TimedEmbedder(self._embedder, clock).embed([each.graph for each in good])
        rows = [index_row(*pair) for pair in zip(good, vectors, strict=True)]
        clock.patience.check()
        self._index.upsert(rows)
        results = self._items.encode(
            "Upsert", in_place(news, rows), _encode_written, wire.UpsertResult
        )
        return wire.UpsertResponse(results=results, timings=clock.timings())

    def _allowed(self, news: Sequence[Architecture | NarError]) -> list[Architecture | NarError]:
        """Refuse what the caller may not write: before anything of it is embedded."""
        taken = self._taken([each.labels.name for each in news if isinstance(each, Architecture)])
        return [
            each
            if isinstance(each, NarError)
            else self._refusal(index_entry(each), f"architectures[{position}]", taken) or each
            for position, each in enumerate(news)
        ]

    def _refusal(
        self, entry: IndexEntry, field: str, taken: Collection[str]
    ) -> InvalidQueryError | None:
        fault = self._scope.refusal(entry, field)
        if fault is None and entry.name in taken:
            return InvalidQueryError(f"{field}.name", "wanted a name that this token may write")
        return fault

    def label(self, request: wire.LabelRequest, clock: StageClock) -> wire.LabelResponse:
        """Change labels of all architectures that are known, in one write; vectors stay."""
        decoded = self._items.decode("changes", request.changes, decode_change, clock)
        names = [each.architecture for each in request.changes]
        changes = _once("changes", "architecture", decoded, names)
        known = rows_of(
            [each.name if isinstance(each, LabelChange) else each for each in changes], self._index
        )
        results = [
            self._changed(f"changes[{position}]", change, row)
            for position, (change, row) in enumerate(zip(changes, known, strict=True))
        ]
        # A name and its id mean one row, of which the first change holds.
        rows = {row.id: row for row in reversed(results) if isinstance(row, IndexRow)}
        self._index.upsert([*rows.values()])
        return wire.LabelResponse(
            results=self._items.encode("Label", results, _encode_labelled, wire.LabelResult)
        )

    def _changed(
        self, field: str, change: LabelChange | NarError, row: IndexRow | NarError
    ) -> IndexRow | NarError:
        if isinstance(change, NarError) or isinstance(row, NarError):
            return row if isinstance(row, NarError) else change  # type: ignore[return-value]
        try:
            with at(field):
                now = change.applied(row)
        except InvalidInputError as error:
            return error
        return self._scope.refusal(now, field) or now

    def delete(self, request: wire.DeleteRequest, clock: StageClock) -> wire.DeleteResponse:
        """Delete all architectures that are known, in one write."""
        names = self._items.decode("architectures", request.architectures, decode_name, clock)
        known = [
            self._scope.refusal(row, f"architectures[{number}]") or row
            if isinstance(row, IndexRow)
            else row
            for number, row in enumerate(rows_of(names, self._index))
        ]
        self._index.delete(sorted({row.id for row in known if isinstance(row, IndexRow)}))
        results = self._items.encode("Delete", known, _encode_deleted, wire.DeleteResult)
        return wire.DeleteResponse(results=results)


def _once(
    field: str, key: str, decoded: Sequence[Item | NarError], names: Sequence[str]
) -> list[Item | NarError]:
    """Refuse each item whose name came before, even where the earlier was refused."""
    first = {name: position for position, name in reversed(list(enumerate(names)))}
    return [
        each
        if isinstance(each, NarError) or first[name] == position
        else _twice(f"{field}[{position}].{key}", f"{field}[{first[name]}]")
        for position, (name, each) in enumerate(zip(names, decoded, strict=True))
    ]


def _twice(field: str, earlier: str) -> InvalidQueryError:
    return InvalidQueryError(field, f"{earlier} has the same name; send one item of a name")


def _encode_written(row: IndexRow) -> wire.UpsertResult:
    return wire.UpsertResult(architecture=encode_architecture(row))


def _encode_labelled(row: IndexRow) -> wire.LabelResult:
    return wire.LabelResult(architecture=encode_architecture(row))


def _encode_deleted(row: IndexRow) -> wire.DeleteResult:
    return wire.DeleteResult(architecture=encode_architecture(row))


# Calls that a server makes of itself before it says that it is ready: after forty, searches took as
# long as they do later (measured with the atlas on two cores).
WARMING: Final = 40
# Chosen: so long for all hits, on a machine that does much else.
WARMING_S: Final = 30.0
_GRAPH_PARTS: Final = frozenset(wire.Part.Value(f"PART_{part.upper()}") for part in READING)
Embedded = tuple[Fingerprinted, NDArray[np.float32]]


class Indexed(Searches, Measured, WritableIndex, Protocol):
    """What a server needs of an index: a `Reader`, an `ArchitectureIndex`, or a part of one."""

    @property
    def state(self) -> IndexState:
        """Where the rows are."""

    def count(self) -> int:
        """Number of rows, asked of the index itself."""

    def rows_answering(self) -> int:
        """Number of rows that answer, which needs no store where they are in memory."""

    @property
    def alias(self) -> str:
        """Name under which the index is published."""

    def counted(self, wanted: Filter) -> int:
        """Number of the rows that pass a filter."""

    def page(self, after: str, limit: int, wanted: Filter) -> list[IndexEntry]:
        """The rows of the next ids, in their order."""


class PatientGraphs:
    """Graphs of hits, read as long as somebody waits for the answer.

    Args:
        graphs: Where the graphs are read.
        patience: The patience of the caller.
    """

    def __init__(self, graphs: Graphs, patience: Patience) -> None:
        self._graphs = graphs
        self._patience = patience

    def graphs(self, names: Sequence[str], sources: Collection[str]) -> Mapping[str, Architecture]:
        """Architectures by name."""
        self._patience.check()
        return self._graphs.graphs(names, sources)

    def backbones(self, names: Sequence[str], sources: Collection[str]) -> Mapping[str, str]:
        """Families of encoders by name."""
        self._patience.check()
        return self._graphs.backbones(names, sources)


def compares_graphs(request: wire.SearchRequest) -> bool:
    """Whether some query asks for a part of its answer for which graphs of hits are read."""
    return any(
        part in _GRAPH_PARTS
        for query in request.queries
        for part in (*query.parts, *query.parts_if_new)
    )


class Retrieval:
    """The work behind the service; called from several threads at once.

    Args:
        embedder: Turns graphs into vectors.
        index: Holds vectors of the same encoder.
        novelty: How far its architectures are from each other, if that was measured.
        graphs: Where the graphs of indexed architectures are read.
        config: Limits.
        telemetry: Counts items and times stages.
        scope: What the callers may see and do; the index is already the part that they may see.

    Attributes:
        takes_writes: Whether the methods that write are let in.
        writes: The methods that write.
        explanations: What Explain does.
    """

    def __init__(
        self,
        embedder: GraphEmbedder,
        index: Indexed,
        *,
        novelty: Novelty | None,
        graphs: Graphs | None = None,
        config: ServerConfig,
        telemetry: Telemetry,
        scope: Scope = EVERYBODY,
    ) -> None:
        self._embedder = embedder
        self._index = index
        self._config, self._telemetry = config, telemetry
        self._novelty = novelty
        self._graphs = graphs
        self._limits = limits_of(config)
        self._items = Items(self._limits, telemetry)
        self.takes_writes = config.writable and "write" in scope.rights
        taken = index.taken if isinstance(index, ScopedIndex) else None
        self.writes = Writes(embedder, index, self._items, scope, taken)
        self.explanations = Explanations(index, graphs, self._items)

    @property
    def alias(self) -> str:
        """The alias of the index."""
        return self._index.alias

    def within(self, scope: Scope) -> "Retrieval":
        """The same work for callers who may see a part of the index.

        Distances were measured over the whole index, so no novelty is said.
        """
        if scope.is_whole and not scope.prefix:
            return self
        return Retrieval(
            self._embedder,
            ScopedIndex(self._index, scope),
            novelty=self._novelty if scope.is_whole else None,
            graphs=self._graphs,
            config=self._config,
            telemetry=self._telemetry,
            scope=scope,
        )

    def count_rows(self) -> int:
        """Architectures in the index, asked of the index itself."""
        return self._index.count()

    def goes_on(self, max_stale_s: float) -> bool:
        """Whether rows in memory answer whose store was read not too long ago.

        Args:
            max_stale_s: How long ago that may be.
        """
        index = self._index
        return index.state.is_in_memory and time.time() - index.agreed_s <= max_stale_s

    def warm_up(self) -> None:
        """Answer what a caller might ask, so that no caller waits for what is done but once."""
        entries = self._index.page("", WARMING, EVERYTHING)
        names = [entry.name for entry in entries]
        # Written down for nobody: these are no calls.
        clock = StageClock(Patience(WARMING_S))
        for name in names:
            self._answer([Query(name)], clock)
        if self._graphs is None or not entries:
            return
        first = entries[0]
        for read in self._graphs.graphs([first.name], [first.source]).values():
            self._answer([Query(read, parts=frozenset(PARTS))], clock)

    def search(self, requests: Sequence[Received], method: str) -> list[Reply]:
        """Find the nearest architectures of each query, for all calls together.

        Args:
            requests: The requests of several calls.
            method: Name under which the queries are counted.
        """
        encode = partial(self._encode_answers, method=method)
        return answer_at_once(requests, self._decode_queries, self._answer, encode)

    def _decode_queries(
        self, request: wire.SearchRequest, clock: StageClock
    ) -> list[Query | NarError]:
        with clock.stage("parse"):
            graphs = [query.graph for query in request.queries if query.HasField("graph")]
            check_totals("queries", graphs, self._limits)
            decode = partial(
                decode_query,
                limits=self._limits,
                dim=self._embedder.dim,
                fingerprint=clock.fingerprint,
                graphs={},
            )
            return self._items.decode("queries", request.queries, decode, clock)

    def _answer(self, queries: Sequence[Query], clock: StageClock) -> list[Answer | NarError]:
        with clock.stage("search"):
            embedder = TimedEmbedder(self._embedder, clock)
            graphs = PatientGraphs(self._graphs, clock.patience) if self._graphs else None
            bounds = self._limits.max_call_nodes, self._limits.max_top_k
            retriever = Retriever(embedder, self._index, self._novelty, graphs, *bounds)
            answers = retriever.search_all(queries)
        since = self._index.stale_since
        return answers if since is None else [_stale(each, since) for each in answers]

    def _encode_answers(
        self, answers: Sequence[Answer | NarError], clock: StageClock, method: str
    ) -> wire.SearchResponse:
        results = self._items.encode(method, answers, encode_answer, wire.SearchResult)
        return wire.SearchResponse(results=results, timings=clock.timings())

    def embed(self, requests: Sequence[Received]) -> list[Reply]:
        """Turn graphs into vectors; the graphs of all calls are embedded together."""
        return answer_at_once(requests, self._decode_graphs, self._embed, self._encode_embeddings)

    def _decode_graphs(
        self, request: wire.EmbedRequest, clock: StageClock
    ) -> list[Fingerprinted | NarError]:
        with clock.stage("parse"):
            check_totals("graphs", request.graphs, self._limits)
            decode = partial(self._items.graph, clock=clock)
            return self._items.decode("graphs", request.graphs, decode, clock)

    def _embed(self, graphs: Sequence[Fingerprinted], clock: StageClock) -> list[Embedded]:
        vectors = TimedEmbedder(self._embedder, clock).embed([each.graph for each in graphs])
        return list(zip(graphs, vectors, strict=True))

    def _encode_embeddings(
        self, embedded: Sequence[Embedded | NarError], clock: StageClock
    ) -> wire.EmbedResponse:
        results = self._items.encode("Embed", embedded, _encode_embedding, wire.EmbedResult)
        return wire.EmbedResponse(results=results, timings=clock.timings())

    def get(self, request: wire.GetRequest, clock: StageClock) -> wire.GetResponse:
        """Look architectures up."""
        names = self._items.decode("architectures", request.architectures, decode_name, clock)
        known = rows_of(names, self._index)
        results = self._items.encode("Get", known, _encode_row, wire.GetResult)
        return wire.GetResponse(results=results, stale_since=self._index.stale_since)

    def listed(self, request: wire.ListRequest, clock: StageClock) -> wire.ListResponse:
        """Show a page of the known architectures, by id."""
        with clock.stage("parse"):
            page = decode_page(request, self._limits)
        with clock.stage("search"):
            # One more than is shown tells whether there is another page.
            entries = self._index.page(page.after, page.size + 1, page.wanted)
        return encode_page(page, entries, self._index.stale_since)

    def describe(self, _request: wire.DescribeRequest, _clock: StageClock) -> wire.DescribeResponse:
        """Say what this server holds and accepts."""
        embedder = self._embedder
        return wire.DescribeResponse(
            version=version(),
            encoder=wire.Encoder(
                name=embedder.name, fingerprint=embedder.fingerprint, dim=embedder.dim
            ),
            index_rows=self._index.rows_answering(),
            limits=encode_limits(self._limits),
            operators=OPS,
            attribute_names=ATTRIBUTES,
            index=encode_state(self._index.state, takes_writes=self.takes_writes),
        )


def _nobodys(_names: Sequence[str]) -> Collection[str]:
    """No name is taken where a caller sees all rows."""
    return ()


def _stale(answer: Answer | NarError, since: float) -> Answer | NarError:
    return answer if isinstance(answer, NarError) else replace(answer, stale_since=since)


def _encode_row(row: IndexRow) -> wire.GetResult:
    return wire.GetResult(architecture=encode_architecture(row))


def _encode_embedding(embedded: Embedded) -> wire.EmbedResult:
    graph, vector = embedded
    return wire.EmbedResult(
        vector=wire.Vector(values=vector.tolist()),
        topology=graph.topology,
        exact=graph.exact,
        inference=graph.inference,
    )


class Explanations:
    """Compares architectures; called from several threads at once.

    Args:
        index: Holds the architectures.
        graphs: Has their graphs; None where the server reads no corpus.
        items: Decodes and encodes the items of calls.
    """

    def __init__(self, index: NamedRows, graphs: Graphs | None, items: Items) -> None:
        self._index = index
        self._graphs = graphs
        self._items = items

    def explain(self, request: wire.ExplainRequest, clock: StageClock) -> wire.ExplainResponse:
        """Say what the target shares with each of the others."""
        with clock.stage("parse"):
            names = self._items.decode("others", request.others, decode_name, clock)
            target = Cut(self._target(request, clock))
        rows = [
            self._fitting(row, f"others[{position}]")
            for position, row in enumerate(rows_of(names, self._index))
        ]
        self._check_total(rows)
        others = self._with_graphs(rows)
        results = self._items.encode(
            "Explain",
            in_place(others, self._compared(target, others, clock)),
            lambda compared: encode_explanation(*compared),
            wire.ExplainResult,
        )
        return wire.ExplainResponse(results=results, timings=clock.timings())

    def _target(self, request: wire.ExplainRequest, clock: StageClock) -> Network:
        """The graph that is compared.

        Raises:
            InvalidInputError: Names the field at fault.
            UnknownArchitectureError: No such architecture is indexed, or it has no graph here.
        """
        kind = request.WhichOneof("target")
        if kind is None:
            raise InvalidQueryError("target", "wanted a graph or an architecture, came none")
        with at(kind):
            if kind == "graph":
                return self._items.graph(request.graph, clock)
            name = decode_name(request.architecture)
        rows = [self._fitting(row, kind) for row in rows_of([name], self._index)]
        [target] = self._with_graphs(rows)
        if isinstance(target, NarError):
            raise target
        _, architecture = target
        return architecture

    def _fitting(self, row: IndexRow | NarError, field: str) -> IndexRow | NarError:
        """The row, or an error where its graph is larger than a graph in a request may be."""
        bound = self._items.limits.max_nodes
        if isinstance(row, IndexRow) and row.nodes > bound:
            return InvalidQueryError(field, f"wanted at most {bound} nodes, it has {row.nodes}")
        return row

    def _check_total(self, rows: Sequence[IndexRow | NarError]) -> None:
        """See that the others are no more work together than one call may be.

        Raises:
            InvalidQueryError: Says how many nodes they have; a fault of the whole call.
        """
        bound = self._items.limits.max_call_nodes
        total = sum({row.id: row.nodes for row in rows if isinstance(row, IndexRow)}.values())
        if total > bound:
            reason = f"wanted at most {bound} nodes in all graphs together, they have {total}"
            raise InvalidQueryError("others", f"{reason}; ask for them in several calls")

    def _with_graphs(
        self, rows: Sequence[IndexRow | NarError]
    ) -> list[tuple[IndexRow, Architecture] | NarError]:
        """Each row with its graph, or an error where there is none."""
        wanted = [row for row in rows if isinstance(row, IndexRow)]
        graphs = self._read(wanted)
        return [row if isinstance(row, NarError) else _with_graph(row, graphs) for row in rows]

    def _read(self, rows: Sequence[IndexRow]) -> Mapping[str, Architecture]:
        if self._graphs is None or not rows:
            return {}
        names = dict.fromkeys(row.name for row in rows)
        return self._graphs.graphs([*names], {row.source for row in rows})

    def _compared(
        self,
        target: Cut,
        others: Sequence[tuple[IndexRow, Architecture] | NarError],
        clock: StageClock,
    ) -> list[tuple[IndexRow, MotifDifference]]:
        """What the target shares with each of the others; each is cut into motifs once."""
        drawn = {each[0].id: each for each in others if not isinstance(each, NarError)}
        shares = {}
        for key, (_, architecture) in drawn.items():
            with clock.stage("motifs"):
                shares[key] = motif_difference(target, Cut(architecture))
        return [(each[0], shares[each[0].id]) for each in others if not isinstance(each, NarError)]


def _with_graph(
    row: IndexRow, graphs: Mapping[str, Architecture]
) -> tuple[IndexRow, Architecture] | NarError:
    architecture = graphs.get(row.name)
    if architecture is None or architecture.exact != row.exact:
        return UnknownArchitectureError(
            f"{row.name!r} is indexed without a graph: the corpus that this server reads, if any, "
            "has none of it, or that of another version"
        )
    return row, architecture
