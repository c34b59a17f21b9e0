"""Small graphs that can be checked by hand."""

from dataclasses import replace
from typing import Protocol

import numpy as np
from hypothesis import strategies as st

from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, op_id


def graph_of(text: str) -> ComputationalGraph:
    """A graph from ``"input; conv 0; relu 1; add 1 2"``: an operator and its operands a node."""
    lines = [line.split() for line in text.split(";")]
    edges = [(int(source), node) for node, (_, *sources) in enumerate(lines) for source in sources]
    return ComputationalGraph(
        op_ids=np.array([op_id(operator) for operator, *_ in lines], dtype=np.uint16),
        attributes=np.zeros((len(lines), len(ATTRIBUTES)), dtype=np.int16),
        edge_index=np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
    )


class Drawing:
    """A graph drawn node by node; every call gives the number of the node it adds."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, operator: str, *operands: int) -> int:
        self.lines.append(" ".join([operator, *map(str, operands)]))
        return len(self.lines) - 1

    def chain(self, operators: str, value: int) -> int:
        for operator in operators.split():
            value = self(operator, value)
        return value

    def graph(self) -> ComputationalGraph:
        return graph_of(";".join(self.lines))


def resnet(blocks_per_stage: list[int]) -> ComputationalGraph:
    """Bottleneck ResNet as torchvision builds it: 10 nodes a block, 12 where it downsamples."""
    draw = Drawing()
    value = draw.chain("conv batch_norm relu max_pool", draw("input"))
    for blocks in blocks_per_stage:
        for block in range(blocks):
            branch = draw.chain("conv batch_norm relu conv batch_norm relu conv batch_norm", value)
            shortcut = draw.chain("conv batch_norm", value) if block == 0 else value
            value = draw("relu", draw("add", branch, shortcut))
    draw.chain("adaptive_avg_pool linear", value)
    return draw.graph()


def bert(layers: int) -> ComputationalGraph:
    """Post-norm encoder: 10 nodes a layer."""
    draw = Drawing()
    words, positions = draw("embedding"), draw("embedding")
    value = draw.chain("layer_norm", draw("add", words, positions))
    for _ in range(layers):
        heads = [draw("linear", value) for _ in range(3)]
        attended = draw.chain("linear", draw("attention", *heads))
        value = draw("layer_norm", draw("add", attended, value))
        hidden = draw.chain("linear gelu linear", value)
        value = draw("layer_norm", draw("add", hidden, value))
    draw.chain("linear tanh", value)
    return draw.graph()


def swin(layers_per_stage: list[int]) -> ComputationalGraph:
    """Pre-norm windows, shifted in every other layer: 8 or 10 nodes a layer."""
    draw = Drawing()
    value = draw.chain("conv layer_norm", draw("input"))
    for stage, layers in enumerate(layers_per_stage):
        if stage:
            value = draw.chain("layer_norm linear", value)
        for layer in range(layers):
            rolled = "roll" if layer % 2 else ""
            inner = draw.chain(f"layer_norm {rolled} linear split", value)
            branch = draw.chain(f"linear {rolled}", draw("attention", inner, draw("index")))
            value = draw("add", branch, value)
            value = draw("add", draw.chain("layer_norm linear gelu linear", value), value)
    draw.chain("layer_norm mean linear", value)
    return draw.graph()


@st.composite
def random_graphs(draw: st.DrawFn, min_nodes: int = 1, max_nodes: int = 24) -> ComputationalGraph:
    """Any small acyclic graph, ordered operands included."""
    operators = st.sampled_from(["conv", "relu", "add", "sub", "concat", "attention"])
    lines = ["input"]
    for node in range(1, draw(st.integers(min_nodes, max_nodes))):
        operands = draw(st.lists(st.integers(0, node - 1), max_size=3, unique=True))
        lines.append(" ".join([draw(operators), *map(str, operands)]))
    return graph_of(";".join(lines))


class Shuffler(Protocol):
    """A source of random orders: `random.Random` or a numpy generator."""

    def shuffle(self, x: list[int]) -> None: ...


def renumbered(graph: ComputationalGraph, random: Shuffler) -> ComputationalGraph:
    """The same graph with its nodes in another order."""
    order = list(range(graph.nodes))
    random.shuffle(order)
    number = np.argsort(order).astype(np.int32)
    edges = number[graph.edge_index]
    by_target = np.argsort(edges[1], kind="stable") if graph.edges else slice(None)
    return replace(
        graph,
        op_ids=graph.op_ids[order],
        attributes=graph.attributes[order],
        edge_index=edges[:, by_target],
    )


def random_graph(nodes: int, seed: int, *, reads: int = 2) -> ComputationalGraph:
    """A large graph without design: random operators that read a few recent values."""
    rng = np.random.default_rng(seed)
    target = np.repeat(np.arange(1, nodes), reads)
    source = np.maximum(target - rng.integers(1, 20, size=len(target)), 0)
    edges = np.unique(np.stack([target, source]), axis=1)[::-1]
    return ComputationalGraph(
        op_ids=rng.integers(0, 60, size=nodes).astype(np.uint16),
        attributes=np.zeros((nodes, len(ATTRIBUTES)), dtype=np.int16),
        edge_index=np.ascontiguousarray(edges, dtype=np.int32),
    )
