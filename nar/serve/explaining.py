"""What Explain does: it says which motifs a graph shares with indexed architectures.

The index holds no graphs: they are read from a corpus, as far as it has them.
"""

from collections.abc import Mapping, Sequence

from nar.answers.answer import Graphs
from nar.answers.difference import Cut, MotifDifference, motif_difference
from nar.answers.query import in_place
from nar.base.errors import InvalidQueryError, NarError, UnknownArchitectureError
from nar.graphs.architecture import Architecture
from nar.graphs.fingerprints import Network
from nar.index.rows import IndexRow
from nar.serve.calls import StageClock
from nar.serve.items import Items, Looked, rows_of
from nar.v1 import retrieval_pb2 as wire
from nar.wire.queries import at, decode_name
from nar.wire.records import encode_explanation


class Explanations:
    """Compares architectures; called from several threads at once.

    Args:
        index: Holds the architectures.
        graphs: Has their graphs; None where the server reads no corpus.
        items: Decodes and encodes the items of calls.
    """

    def __init__(self, index: Looked, graphs: Graphs | None, items: Items) -> None:
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
            reason = f"wanted at most {bound} nodes in all of them, they have {total}"
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
