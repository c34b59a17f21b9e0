"""DARTS networks as the paper draws them (A.4), node by node: what the composed ones must equal."""

import numpy as np

from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, op_id
from nar.zoo.sources.darts.genotypes import Cell, Genotype

CELLS, REDUCTIONS = 20, (6, 13)


def drawn(genotype: Genotype, *, parameters: int, flops: int) -> ComputationalGraph:
    """The graph of a genotype in the order of its operands; it is not canonical."""
    names: list[str] = ["input", "conv"]
    strides = [0, 0]
    edges = [(0, 1)]

    def node(name: str, reads: list[int], stride: int = 0) -> int:
        edges.extend((source, len(names)) for source in reads)
        names.append(name)
        strides.append(stride)
        return len(names) - 1

    def draw(cell: Cell, values: list[int], *, reduces: bool) -> int:
        for pair in cell.nodes:
            operations = [
                node(edge.operation, [values[edge.source]], 2 if reduces and edge.source < 2 else 0)
                for edge in pair
            ]
            values.append(node("add", operations))
        return node("concat", values[2:])

    before, last = 1, 1
    for number in range(CELLS):
        reduces = number in REDUCTIONS
        cell = genotype.reduction if reduces else genotype.normal
        before, last = last, draw(cell, [before, last], reduces=reduces)
    node("linear", [node("adaptive_avg_pool", [last])])
    attributes = np.zeros((len(names), len(ATTRIBUTES)), dtype=np.int16)
    attributes[:, ATTRIBUTES.index("stride")] = strides
    return ComputationalGraph(
        np.array([op_id(name) for name in names], dtype=np.uint16),
        attributes,
        np.array(edges, dtype=np.int32).T.copy(),
        parameters,
        flops,
    )
