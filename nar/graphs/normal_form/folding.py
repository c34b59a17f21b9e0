"""From a graph to its normal form: find sums, from the inputs on, then put layers in their place.

Takes time linear in nodes and edges. All rules are in `nar.graphs.normal_form.rules`, but for
packed layers: query, key and value of an attention from one layer that was itself a sum. Capture
reads a packed layer as three layers, unless an adapter is added to it before it is taken apart.

::

    x -> linear -----------> add -> split -> attention    is  x -> linear -> attention
    x -> linear -> linear --/                                 x -> linear --/
                                                              x -> linear --/
"""

from dataclasses import replace

import numpy as np

from nar.graphs.canonical import Adjacency, Coded, canonical
from nar.graphs.graph import ComputationalGraph
from nar.graphs.normal_form.rules import LinearSum, LinearSums
from nar.graphs.ops import op_id

_SPLIT, _ATTENTION = op_id("split"), op_id("attention")


def normal_form(graph: ComputationalGraph) -> ComputationalGraph:
    """The graph that a deployed model shares with its source.

    Parameter total and FLOPs stay as in the graph as written: graphs hold no counts for each node.

    Args:
        graph: A valid graph in any numbering.

    Returns:
        A graph in canonical order; the graph itself where there is nothing to fold.
    """
    folded = _folded(Adjacency(graph))
    return graph if folded is graph else canonical(folded)


def inference_fingerprint(graph: ComputationalGraph) -> str:
    """Sha256 (hex) of the normal form with its attributes: "the same at inference".

    The parameter total is left out, because folding changes it and graphs hold no counts for each
    node: `nar.graphs.fingerprints.same_at_inference` compares the totals, too.

    Args:
        graph: A valid graph in any numbering.
    """
    return inference_fingerprint_of(Adjacency(graph).coded())


def inference_fingerprint_of(written: Coded) -> str:
    """The inference fingerprint of a graph with codes, which serve if there is nothing to fold."""
    folded = _folded(written.adjacency)
    form = written if folded is written.adjacency.graph else Adjacency(folded).coded()
    return form.exact(parameters=0)


def _folded(adjacency: Adjacency) -> ComputationalGraph:
    """The normal form in some numbering; the graph itself where there is nothing to fold."""
    graph, sums = adjacency.graph, LinearSums(adjacency)
    layers, gone = _layers_for_sums(sums)
    if not gone:
        return graph
    parts = _unpacked(sums, layers)
    gone.difference_update(*parts.values())
    kept = [node for node in range(graph.nodes) if node not in gone]
    number = {node: position for position, node in enumerate(kept)}
    edges = [
        (number[sums.behind_norms[part]], number[node])
        for node in kept
        for source in ([layers[node].source] if node in layers else sums.operands[node])
        for part in parts.get(source, (source,))
    ]
    op_ids, attributes = graph.op_ids.copy(), graph.attributes.copy()
    for node, total in layers.items():
        if total.layer is not None:
            op_ids[node], attributes[node] = total.layer.op_id, total.layer.attributes
    return replace(
        graph,
        op_ids=op_ids[kept],
        attributes=attributes[kept],
        edge_index=np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
    )


def _layers_for_sums(sums: LinearSums) -> tuple[dict[int, LinearSum], set[int]]:
    """The last node of each sum that becomes one layer, and the nodes that the layers replace."""
    layers: dict[int, LinearSum] = {}
    gone: set[int] = set()
    for node in reversed(sums.order):
        if sums.behind_norms[node] != node:
            gone.add(node)
            continue
        total = sums.of[node]
        if total is None or not total.parts:
            continue
        if node not in gone and total.is_one_layer:
            layers[node] = total
        if node in gone or node in layers:
            gone.update(total.parts)
    return layers, gone


def _unpacked(sums: LinearSums, layers: dict[int, LinearSum]) -> dict[int, tuple[int, ...]]:
    """Put three layers in the place of each packed layer that only an attention reads, in parts.

    Args:
        sums: Sums of the graph.
        layers: Nodes that become one layer; the parts of packed layers are added.

    Returns:
        For each split that goes, the three nodes that are read in its place: the node of the layer,
        the split, and the first operand of the sum.
    """
    parts: dict[int, tuple[int, ...]] = {}
    for node, total in list(layers.items()):
        layer = total.layer.third() if total.layer else None
        split = sums.only_reader(node, _SPLIT)
        if layer is None or split is None or sums.only_reader(split, _ATTENTION) is None:
            continue
        parts[split] = (node, split, total.parts[0])
        layers.update(dict.fromkeys(parts[split], replace(total, layer=layer)))
    return parts
