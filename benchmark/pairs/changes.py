"""Changed models made automatically, of graphs alone: what a pair scorer learns originals from.

People edit more than this, and by other means: edits are measured on models whose code was changed
(`benchmark.editing`), and nothing of these is learned from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmark.editing.parts import run, without_head
from benchmark.rewriting.rewrite import NotApplicableError
from benchmark.tasks.questions import Numbers
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, op_id

Changing = Callable[[ComputationalGraph, np.random.Generator], ComputationalGraph]

_ACTIVATIONS: Final = {
    "relu": "gelu", "relu6": "relu", "leaky_relu": "relu", "prelu": "relu", "elu": "relu",
    "gelu": "silu", "silu": "relu", "mish": "relu", "hard_swish": "relu", "tanh": "gelu",
}  # fmt: skip
_NORMS: Final = {
    "batch_norm": "group_norm", "layer_norm": "rms_norm", "rms_norm": "layer_norm",
    "group_norm": "batch_norm", "instance_norm": "batch_norm",
}  # fmt: skip
_INSERTED: Final = ("mul", "sigmoid", "layer_norm", "silu")
_LAYERS: Final = [op_id(name) for name in ("linear", "conv", "conv_grouped", "conv_depthwise")]
_RATIO: Final = ATTRIBUTES.index("channel_ratio")
_QUARTERS: Final = 4  # of an octave: the unit of a channel ratio
_SHARES: Final = (0.2, 0.9)
# How often each change is drawn. Chosen: parts and other widths are hardest to find; of parts alone
# a scorer would learn that whatever is asked for is larger.
LIKELY: Final[Mapping[str, float]] = {
    "part": 0.4, "wider": 0.2, "classes": 0.1, "activation": 0.05, "norm": 0.05, "both": 0.05,
    "inserted": 0.05, "headless": 0.05, "wrapped": 0.05,
}  # fmt: skip


def changed(
    graphs: Sequence[ComputationalGraph], rng: np.random.Generator
) -> tuple[list[ComputationalGraph], Numbers]:
    """Each graph once, changed in a way that is drawn; some bear it not and are left out.

    Returns:
        The changed graphs, and the number of the original of each.
    """
    names, weights = list(LIKELY), list(LIKELY.values())
    made, whose = [], []
    for number, graph in enumerate(graphs):
        try:
            made.append(_CHANGES[str(rng.choice(names, p=weights))](graph, rng))
        except NotApplicableError:
            continue
        whose.append(number)
    return made, np.array(whose, dtype=np.int64)


def _part(graph: ComputationalGraph, rng: np.random.Generator) -> ComputationalGraph:
    share = rng.uniform(*_SHARES)
    begin = rng.uniform(0, 1 - share)
    return run(graph, begin=begin, end=begin + share)


def _exchanging(*tables: Mapping[str, str]) -> Changing:
    ids = {op_id(old): op_id(new) for table in tables for old, new in table.items()}

    def exchange(graph: ComputationalGraph, _: np.random.Generator) -> ComputationalGraph:
        exchanged = np.array([ids.get(each, each) for each in graph.op_ids.tolist()], np.uint16)
        if np.array_equal(exchanged, graph.op_ids):
            raise NotApplicableError("nothing to exchange")
        return canonical(replace(graph, op_ids=exchanged))

    return exchange


def _inserted(graph: ComputationalGraph, rng: np.random.Generator) -> ComputationalGraph:
    """An operator after every layer of one kind."""
    return _after(graph, graph.op_ids == rng.choice(_layers_of(graph)), str(rng.choice(_INSERTED)))


def _with_softmax(graph: ComputationalGraph, _: np.random.Generator) -> ComputationalGraph:
    is_result = np.ones(graph.nodes, dtype=np.bool_)
    is_result[graph.edge_index[0]] = False
    return _after(graph, is_result, "softmax")


def _after(graph: ComputationalGraph, where: NDArray[np.bool_], name: str) -> ComputationalGraph:
    nodes = np.flatnonzero(where).astype(np.int32)
    new = np.arange(graph.nodes, dtype=np.int32)
    new[nodes] = graph.nodes + np.arange(len(nodes), dtype=np.int32)
    source, target = graph.edge_index
    edges = [np.stack([new[source], target]), np.stack([nodes, new[nodes]])]
    ids = np.full(len(nodes), op_id(name), dtype=np.uint16)
    plain = np.zeros((len(nodes), graph.attributes.shape[1]), dtype=np.int16)
    return canonical(
        replace(
            graph,
            op_ids=np.concatenate([graph.op_ids, ids]),
            attributes=np.concatenate([graph.attributes, plain]),
            edge_index=np.concatenate(edges, axis=1).astype(np.int32),
        )
    )


def _other_classes(graph: ComputationalGraph, rng: np.random.Generator) -> ComputationalGraph:
    _layers_of(graph)
    attributes = graph.attributes.copy()
    attributes[np.flatnonzero(np.isin(graph.op_ids, _LAYERS))[-1], _RATIO] += rng.integers(1, 24)
    return canonical(replace(graph, attributes=attributes))


def _wider(graph: ComputationalGraph, rng: np.random.Generator) -> ComputationalGraph:
    """All widths but those of inputs and classes, by a factor."""
    _layers_of(graph)
    octaves = int(rng.choice([-2, -1, 1, 2]))
    layers = np.flatnonzero(np.isin(graph.op_ids, _LAYERS))
    attributes = graph.attributes.copy()
    attributes[layers[0], _RATIO] += _QUARTERS * octaves
    attributes[layers[-1], _RATIO] -= _QUARTERS * octaves
    more = 4.0**octaves
    parameters, flops = round(graph.parameters * more), round(graph.flops * more)
    return canonical(replace(graph, attributes=attributes, parameters=parameters, flops=flops))


def _layers_of(graph: ComputationalGraph) -> NDArray[np.uint16]:
    kinds = np.unique(graph.op_ids[np.isin(graph.op_ids, _LAYERS)])
    if not len(kinds):
        raise NotApplicableError("it has no layer with weights")
    return kinds


_CHANGES: Final[Mapping[str, Changing]] = {
    "part": _part,
    "activation": _exchanging(_ACTIVATIONS),
    "norm": _exchanging(_NORMS),
    "both": _exchanging(_ACTIVATIONS, _NORMS),
    "inserted": _inserted,
    "classes": _other_classes,
    "headless": lambda graph, _: without_head(graph),
    "wider": _wider,
    "wrapped": _with_softmax,
}
