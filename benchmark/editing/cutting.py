"""Parts of a graph: which nodes stay, and how large what stays is."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmark.rewriting.rewrite import NotApplicableError
from nar.capture.graphs import LAYERS
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph, cut_out
from nar.graphs.ops import op_id

Mask = NDArray[np.bool_]

_WEIGHTED = np.array(sorted(op_id(name) for name in LAYERS), dtype=np.uint16)


def cut(graph: ComputationalGraph, kept: Mask) -> ComputationalGraph:
    """The nodes that are kept, in canonical order.

    Each node outside whose value they read becomes one ``input``. A graph knows only the totals of
    its parameters and operations: the part gets as large a share of both as it has of the layers
    with weights, which is an estimate.

    Args:
        graph: A valid graph.
        kept: Shape (nodes,), which nodes stay.

    Raises:
        NotApplicableError: Nothing would stay, nothing would go, or what stays has no operator.
    """
    if kept.all() or not kept.any():
        raise NotApplicableError("the part is the whole, or nothing")
    part = cut_out(graph, kept)
    if (part.op_ids == op_id("input")).all():
        raise NotApplicableError("nothing but inputs would stay")
    share = _share(graph, kept)
    part = replace(
        part,
        parameters=round(graph.parameters * share),
        flops=round(graph.flops * share),
    )
    part.validate()
    return canonical(part)


def _share(graph: ComputationalGraph, kept: Mask) -> float:
    """Which share of the layers with weights stays; of all nodes where no layer has any."""
    counted = np.isin(graph.op_ids, _WEIGHTED)
    if not counted.any():
        counted = np.ones(graph.nodes, dtype=np.bool_)
    return float(kept[counted].mean())


def readers_of(graph: ComputationalGraph) -> list[list[int]]:
    """Who reads the value of each node."""
    readers: list[list[int]] = [[] for _ in range(graph.nodes)]
    for source, target in graph.edge_index.T.tolist():
        readers[source].append(target)
    return readers
