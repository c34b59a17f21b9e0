"""What the page draws of models: a model in short, its motifs opened, and two models side by side.

      A B B B C B B B C D          motifs, in the order of their first nodes
      A (B x3 C) x2 D              what is drawn: four nodes, two counts

A run of equal motifs is one node; runs that repeat as a sequence are one group. Two models are
aligned by what their nodes are, never by names.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nar.answers.difference import difference
from nar.answers.uses import Uses
from nar.base.errors import InvalidGraphError
from nar.graphs.architecture import Architecture
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, op_name
from nar.motifs.partition import MacroGraph, MotifPartition, macro_graph, partition
from nar.views.difference import edits_report


@dataclass(frozen=True, slots=True)
class Run:
    """A run of equal motifs, as one node.

    Attributes:
        kind: Position of its motif type in `ModelView.motifs`.
        count: Motifs in the run.
        is_chain: Whether each motif feeds the next; else some stand beside each other.
        group: Number of its group.
    """

    kind: int
    count: int
    is_chain: bool
    group: int


@dataclass(frozen=True, slots=True)
class Operator:
    """One node of an opened motif.

    Attributes:
        name: Name of the operator.
        attributes: Its attributes that are set.
    """

    name: str
    attributes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MotifView:
    """One motif type of a model, opened.

    Attributes:
        code: Its fingerprint, 16 hex digits.
        count: Occurrences in the model.
        operators: Operators of its first occurrence, in canonical order.
        links: Pairs of positions in `operators`.
        users: Architectures of the atlas that contain it; None where they were not counted.
    """

    code: str
    count: int
    operators: tuple[Operator, ...]
    links: tuple[tuple[int, int], ...]
    users: int | None


@dataclass(frozen=True, slots=True)
class ModelView:
    """One model as it is drawn: its motif types, and its macro graph in short.

    Attributes:
        name: Name of the model.
        parameters: Learned scalars.
        flops: Floating-point operations of one forward pass.
        nodes: Operators.
        edges: Values passed.
        motifs: Motif types, by first occurrence; a node's `kind` is a position here.
        drawn: Nodes of the macro graph in short.
        links: Pairs of positions in `drawn`.
        repeats: How often each group of nodes repeats.
    """

    name: str
    parameters: int
    flops: int
    nodes: int
    edges: int
    motifs: tuple[MotifView, ...]
    drawn: tuple[Run, ...]
    links: tuple[tuple[int, int], ...]
    repeats: tuple[int, ...]


def model_view(model: Architecture, uses: Uses | None) -> ModelView:
    """Cut a model into motifs, and draw repeated ones once.

    Args:
        model: The model.
        uses: Which architectures use which motif, if that was counted.
    """
    graph = model.graph
    cut = partition(graph)
    condensed_graph = condensed(macro_graph(cut))
    return ModelView(
        model.labels.name,
        graph.parameters,
        graph.flops,
        graph.nodes,
        graph.edges,
        _motifs(cut, uses),
        condensed_graph.nodes,
        condensed_graph.links,
        condensed_graph.repeats,
    )


def _motifs(cut: MotifPartition, uses: Uses | None) -> tuple[MotifView, ...]:
    counts = cut.counts()
    users = uses.how_many(counts) if uses else [None] * len(counts)
    first_of: dict[int, int] = {}
    for motif, code in enumerate(cut.motif_codes.tolist()):
        first_of.setdefault(code, motif)
    order = np.argsort(cut.node_to_motif, kind="stable")
    borders = np.searchsorted(cut.node_to_motif[order], np.arange(cut.motifs + 1))
    inner = cut.node_to_motif[cut.graph.edge_index]
    inside = cut.graph.edge_index[:, inner[0] == inner[1]]
    by_motif = np.argsort(cut.node_to_motif[inside[0]], kind="stable")
    inside = inside[:, by_motif]
    ends = np.searchsorted(cut.node_to_motif[inside[0]], np.arange(cut.motifs + 1))
    views = []
    for (code, count), used in zip(counts.items(), users, strict=True):
        motif = first_of[code]
        members = order[borders[motif] : borders[motif + 1]]
        edges = np.searchsorted(members, inside[:, ends[motif] : ends[motif + 1]])
        links = tuple((source, target) for source, target in edges.T.tolist())
        operators = tuple(_operator(cut.graph, node) for node in members.tolist())
        views.append(MotifView(f"{code:016x}", count, operators, links, used))
    return tuple(views)


def _operator(graph: ComputationalGraph, node: int) -> Operator:
    values = zip(ATTRIBUTES, graph.attributes[node].tolist(), strict=True)
    attributes = {name: value for name, value in values if value}
    return Operator(op_name(int(graph.op_ids[node])), attributes)


# Chosen: runs that may form one group; the search for groups takes time in proportion.
_LONGEST: Final = 24


@dataclass(frozen=True, slots=True)
class MacroSummary:
    """A macro graph in short.

    Attributes:
        nodes: Runs; a repeated group has its runs here once.
        links: Pairs of positions in `nodes`: a value goes from one to the other.
        repeats: Shape (groups,): how often each group repeats.
    """

    nodes: tuple[Run, ...]
    links: tuple[tuple[int, int], ...]
    repeats: tuple[int, ...]


def condensed(macro: MacroGraph) -> MacroSummary:
    """Draw a macro graph in short: what repeats is one node, and is counted.

    Example:
        >>> line = np.array([[0, 1, 2], [1, 2, 3]], dtype=np.int32)
        >>> condensed_graph = condensed(MacroGraph(np.array([7, 9, 9, 5], dtype=np.uint64), line))
        >>> [(node.kind, node.count) for node in condensed_graph.nodes], condensed_graph.links
        ([(0, 1), (1, 2), (2, 1)], ((0, 1), (1, 2)))
    """
    kinds = kinds_of(macro)
    linked = set(map(tuple, macro.edge_index.T.tolist()))
    runs = _runs(kinds)
    groups = _groups([(kinds[first], last - first) for first, last in runs])
    nodes: list[Run] = []
    node_of = np.empty(len(kinds), dtype=np.int64)
    for number, (start, period, repeats) in enumerate(groups):
        first_node = len(nodes)
        for position in range(period * repeats):
            first, last = runs[start + position]
            node_of[first:last] = first_node + position % period
            if position < period:
                is_chain = all((each, each + 1) in linked for each in range(first, last - 1))
                nodes.append(Run(kinds[first], last - first, is_chain, number))
    return MacroSummary(tuple(nodes), _links(node_of, macro), tuple(each[2] for each in groups))


def kinds_of(macro: MacroGraph) -> list[int]:
    """Motif type of each motif; types are numbered by first occurrence."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(code, len(numbers)) for code in macro.motif_codes.tolist()]


def _runs(kinds: Sequence[int]) -> list[tuple[int, int]]:
    """First position, and position behind the last, of each run of equal entries."""
    borders = [at for at in range(1, len(kinds)) if kinds[at] != kinds[at - 1]]
    return list(zip([0, *borders], [*borders, len(kinds)], strict=True))


def _groups(runs: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Start, period and repeats of the groups that cover all runs, one after the other.

    At each run the sequence whose repetitions cover most runs is taken; of equals, the shortest.
    """
    groups = []
    start = 0
    while start < len(runs):
        period, repeats = max(
            (
                (period, _repeats(runs, start, period))
                for period in range(1, min(_LONGEST, len(runs) - start) + 1)
            ),
            key=lambda each: (each[0] * each[1] if each[1] > 1 else 1, -each[0]),
        )
        groups.append((start, period, repeats))
        start += period * repeats
    return groups


def _repeats(runs: Sequence[tuple[int, int]], start: int, period: int) -> int:
    """How often the sequence that begins at a run comes in a row."""
    body = runs[start : start + period]
    repeats = 1
    while runs[start + repeats * period : start + (repeats + 1) * period] == body:
        repeats += 1
    return repeats


def _links(node_of: NDArray[np.int64], macro: MacroGraph) -> tuple[tuple[int, int], ...]:
    """Links between drawn nodes, without links that lead back to the start of a repetition."""
    ends = node_of[macro.edge_index]
    forward = np.unique(ends[:, ends[0] < ends[1]], axis=1)
    return tuple((source, target) for source, target in forward.T.tolist())


# Chosen: drawn nodes that are aligned; where few are alike, that takes the product of both lengths.
_MOST: Final = 4_000


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of two aligned models.

    Attributes:
        first: Position among the drawn nodes of the first model; None for a gap.
        second: Position among the drawn nodes of the second model; None for a gap.
    """

    first: int | None
    second: int | None


def aligned(first: ModelView, second: ModelView) -> tuple[Pair, ...]:
    """Rows with every drawn node of both models, each in the order of its model.

    Nodes of one motif type stand beside each other where the order allows it; between them stands
    what one model has in the place of the other's nodes.

    Example:
        >>> [(row.first, row.second) for row in _rows([(0, 0, 1), (2, 1, 1), (3, 2, 0)])]
        [(0, 0), (1, None), (2, 1)]
    """
    left, right = _codes(first), _codes(second)
    if max(len(left), len(right)) > _MOST:
        return tuple(_beside(0, len(left), 0, len(right)))
    matches = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return tuple(_rows([(match.a, match.b, match.size) for match in matches]))


def comparison(first: Architecture, second: Architecture, max_nodes: int) -> dict[str, Any]:
    """What the page shows of two models, ready for JSON; users of their blocks are not counted.

    Args:
        first: A model.
        second: Another.
        max_nodes: Nodes that both may have together.

    Raises:
        InvalidGraphError: They have more.
    """
    nodes = first.graph.nodes + second.graph.nodes
    if nodes > max_nodes:
        raise InvalidGraphError("second", f"wanted {max_nodes:,} nodes in both, came {nodes:,}")
    compared = difference(first, second)
    views = [model_view(side, None) for side in (first, second)]
    return {
        "first": asdict(views[0]),
        "second": asdict(views[1]),
        "rows": [(pair.first, pair.second) for pair in aligned(*views)],
        "verdict": compared.verdict,
        "shared": compared.shared,
        "changes": compared.changes,
        "edits": edits_report(compared.motifs.edits),
        "operators": [asdict(each) for each in compared.operators],
    }


def _codes(view: ModelView) -> list[str]:
    return [view.motifs[node.kind].code for node in view.drawn]


def _rows(matches: list[tuple[int, int, int]]) -> Iterator[Pair]:
    left = right = 0
    for at_left, at_right, size in matches:
        yield from _beside(left, at_left, right, at_right)
        yield from (Pair(at_left + each, at_right + each) for each in range(size))
        left, right = at_left + size, at_right + size


def _beside(left: int, left_end: int, right: int, right_end: int) -> Iterator[Pair]:
    """Nodes without a counterpart, in the order of each model; the longer side meets gaps."""
    pairs = zip_longest(range(left, left_end), range(right, right_end))
    return (Pair(first, second) for first, second in pairs)
