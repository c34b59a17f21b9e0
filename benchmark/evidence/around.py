"""What deployment puts around a network, on its graph: operators, adapters, one more output.

A wrapping is named by a text such as ``input:sub,div result:softmax adapters:8:0.5 output``.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from nar.graphs.graph import ComputationalGraph, operand_lists
from nar.graphs.ops import ATTRIBUTES, op_id

_RATIO: Final = ATTRIBUTES.index("channel_ratio")
_INPUT: Final = op_id("input")
_LINEAR: Final = op_id("linear")
# Chosen: graphs hold no widths; a transformer of this one is what people adapt.
_WIDTH: Final = 768
# Chosen: weights of one adapter are this small a share of any network that is adapted.
_WITHOUT_ADAPTER: Final = 1_000_000


class GraphEditor:
    """A graph that gets further nodes.

    Args:
        graph: A valid graph.
    """

    def __init__(self, graph: ComputationalGraph) -> None:
        self._graph = graph
        self.op_ids = graph.op_ids.tolist()
        self._rows = graph.attributes.tolist()
        self.operands = operand_lists(graph.nodes, graph.edge_index)
        self.parameters = graph.parameters

    def add(self, operator: str, operands: Sequence[int], ratio: int = 0) -> int:
        """One more node; gives its number."""
        row = [0] * len(ATTRIBUTES)
        row[_RATIO] = ratio
        self.op_ids.append(op_id(operator))
        self._rows.append(row)
        self.operands.append(list(operands))
        return len(self.op_ids) - 1

    def readers(self, node: int) -> list[int]:
        """Who reads a node."""
        return [reader for reader, sources in enumerate(self.operands) if node in sources]

    def redirect(self, node: int, to: int, readers: Sequence[int]) -> None:
        """Let readers of one node read another one."""
        for reader in readers:
            self.operands[reader] = [to if each == node else each for each in self.operands[reader]]

    def ratio(self, node: int) -> int:
        """Attribute ``channel_ratio`` of a node."""
        return int(self._rows[node][_RATIO])

    def results(self) -> list[int]:
        """Nodes that nobody reads."""
        read = {source for sources in self.operands for source in sources}
        return [node for node in range(len(self.op_ids)) if node not in read]

    def graph(self) -> ComputationalGraph:
        """The graph, in some numbering."""
        edges = [(source, node) for node, of in enumerate(self.operands) for source in of]
        return replace(
            self._graph,
            op_ids=np.array(self.op_ids, dtype=np.uint16),
            attributes=np.array(self._rows, dtype=np.int16),
            edge_index=np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
            parameters=self.parameters,
        )


def wrapped(graph: ComputationalGraph, wrapping: str) -> ComputationalGraph | None:
    """A graph with something around it; None where a network has no place for it.

    Args:
        graph: A valid graph in canonical order.
        wrapping: What is put around it.
    """
    grown = GraphEditor(graph)
    for part in wrapping.split():
        kind, *given = part.split(":")
        if not _KINDS[kind](grown, given):
            return None
    return grown.graph()


def _on_result(grown: GraphEditor, given: Sequence[str]) -> bool:
    """The last result in canonical order is read by a chain of operators."""
    value = grown.results()[-1]
    for operator in given[0].split(","):
        value = grown.add(operator, [value])
    return True


def _on_input(grown: GraphEditor, given: Sequence[str]) -> bool:
    """Each operator reads the first input that is no table of words."""
    inputs = [node for node, op in enumerate(grown.op_ids) if op == _INPUT]
    if not inputs:
        return False
    [source, *_] = inputs
    readers = grown.readers(source)
    value = source
    for operator in given[0].split(","):
        value = grown.add(operator, [value])
    grown.redirect(source, value, readers)
    return True


def _adapters(grown: GraphEditor, given: Sequence[str]) -> bool:
    """A share of the linear layers get a low-rank change; which layers is drawn."""
    rank, share = int(given[0]), float(given[1])
    layers = [node for node, op in enumerate(grown.op_ids) if op == _LINEAR]
    layers = [node for node in layers if len(grown.operands[node]) == 1 and grown.readers(node)]
    # An adapter is small beside what it adapts.
    room = grown.parameters // 20
    rng = random.Random(f"{rank} {len(layers)}")
    chosen = sorted(rng.sample(layers, max(1, round(share * len(layers)))) if layers else [])
    for node in chosen:
        [source] = grown.operands[node]
        readers, up = grown.readers(node), grown.ratio(node)
        narrow = round(4 * np.log2(rank / _WIDTH))
        if up - narrow <= 0:
            return False
        change = grown.add("linear", [grown.add("linear", [source], narrow)], up - narrow)
        total = grown.add("add", [node, grown.add("mul", [change])])
        grown.redirect(node, total, readers)
    grown.parameters += min(room, rank * 2 * _WIDTH * len(chosen))
    return bool(chosen) and grown.parameters > _WITHOUT_ADAPTER


def _output(grown: GraphEditor, _given: Sequence[str]) -> bool:
    """A value in the middle is pooled and projected, too."""
    middle = len(grown.op_ids) // 2
    grown.add("linear", [grown.add("mean", [middle])])
    return True


_KINDS: Final[dict[str, Callable[[GraphEditor, Sequence[str]], bool]]] = {
    "result": _on_result,
    "input": _on_input,
    "adapters": _adapters,
    "output": _output,
}
