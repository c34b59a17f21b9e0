"""ModelView: what the page draws of one model, and how it comes by the model."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nar.answers.uses import Uses
from nar.graphs.architecture import Architecture
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, op_name
from nar.motifs.macro_graph import macro_graph
from nar.motifs.partition import MotifPartition, partition
from nar.web.folding import Folded, fold


@dataclass(frozen=True, slots=True)
class Operator:
    """One node of an opened motif.

    Attributes:
        name: Of the operator.
        attributes: Those that are set.
    """

    name: str
    attributes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MotifView:
    """One motif type of a model, opened.

    Attributes:
        code: Its fingerprint, 16 hex digits.
        count: Occurrences in the model.
        operators: Those of its first occurrence, in canonical order.
        links: Pairs of positions in `operators`.
        users: Architectures of the atlas that contain it; None where nobody has counted.
    """

    code: str
    count: int
    operators: tuple[Operator, ...]
    links: tuple[tuple[int, int], ...]
    users: int | None


@dataclass(frozen=True, slots=True)
class ModelView:
    """One model as it is drawn: motif types, and the folded macro graph of them.

    Attributes:
        name: What it is called.
        parameters: Learned scalars.
        flops: Floating-point operations of one forward pass.
        nodes: Operators.
        edges: Values passed.
        motifs: Motif types, by first occurrence; a node's `kind` is a position here.
        drawn: Nodes of the folded macro graph.
        links: Pairs of positions in `drawn`.
        repeats: How often each group of nodes comes.
    """

    name: str
    parameters: int
    flops: int
    nodes: int
    edges: int
    motifs: tuple[MotifView, ...]
    drawn: tuple[Folded, ...]
    links: tuple[tuple[int, int], ...]
    repeats: tuple[int, ...]


def model_view(model: Architecture, uses: Uses | None) -> ModelView:
    """Cut a model into motifs and fold what repeats.

    Args:
        model: Which.
        uses: Who uses which motif, if that was counted.
    """
    graph = model.graph
    cut = partition(graph)
    folding = fold(macro_graph(cut))
    return ModelView(
        model.labels.name,
        graph.parameters,
        graph.flops,
        graph.nodes,
        graph.edges,
        _motifs(cut, uses),
        folding.nodes,
        folding.links,
        folding.repeats,
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
