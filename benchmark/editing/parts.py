"""Parts of models: of a graph a run of nodes, a block, a trunk; of a module one of its halves."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from benchmark.editing.change import Change, by_surgery
from benchmark.editing.surgery import run_once
from benchmark.rewriting.rewrite import NotApplicableError
from benchmark.tasks.asking import PARTS
from nar.capture import CaptureInputs
from nar.capture.graphs import LAYERS
from nar.graphs.architecture import Architecture
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph, cut_out, operand_lists
from nar.graphs.ops import op_id
from nar.motifs.partition import partition
from nar.zoo.building import Built

Mask = NDArray[np.bool_]

_WEIGHTED = np.array(sorted(op_id(name) for name in LAYERS), dtype=np.uint16)
# Where a trunk ends: what mixes or evens out the features that a head reads.
_TRUNK = (
    "batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm", "attention", "add",
    "concat", "mean", "max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool",
)  # fmt: skip
_LAYERS = (
    "linear", "conv", "conv_grouped", "conv_depthwise", "conv_transpose", "matmul",
)  # fmt: skip
_SUMS = (op_id("add"), op_id("mul"))
MAX_HEAD = 0.5  # a larger one is no head: the graph has no trunk to be seen
MIN_BLOCK = 3
# Name -> where a run of nodes begins and ends, in shares of the canonical order.
_RUNS = {
    "first_70": (0.0, 0.7),
    "last_70": (0.3, 1.0),
    "first_40": (0.0, 0.4),
    "last_40": (0.6, 1.0),
    "middle_half": (0.25, 0.75),
}
Cutting = Callable[[ComputationalGraph], ComputationalGraph]


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


def graph_parts() -> tuple[Change, ...]:
    """Every part that a captured graph is cut into."""
    cuttings: dict[str, Cutting] = {
        "without_embedding": without_embedding,
        "without_head": without_head,
        **{name: partial(run, begin=begin, end=end) for name, (begin, end) in _RUNS.items()},
        "one_block": one_block,
    }
    return tuple(Change(name, PARTS, partial(_of, each)) for name, each in cuttings.items())


def _of(cutting: Cutting, original: Architecture) -> ComputationalGraph:
    return cutting(original.graph)


def run(graph: ComputationalGraph, *, begin: float, end: float) -> ComputationalGraph:
    """Consecutive nodes of the canonical order.

    Args:
        graph: In canonical order.
        begin: Where the run begins, as a share of the nodes.
        end: Where it ends.

    Raises:
        NotApplicableError: The run is empty, or holds nothing but inputs.
    """
    kept = np.zeros(graph.nodes, dtype=np.bool_)
    kept[round(begin * graph.nodes) : round(end * graph.nodes)] = True
    return cut(graph, kept)


def without_embedding(graph: ComputationalGraph) -> ComputationalGraph:
    """Embeddings go, and what only adds and scales them: features are the input.

    An embedding that an attention reads, or that is only added to other values, is a bias or a
    position of features: it stays.

    Args:
        graph: In canonical order.

    Raises:
        NotApplicableError: There is no other embedding.
    """
    is_embedding = graph.op_ids == op_id("embedding")
    embedded, readers = _made_of(graph, is_embedding), readers_of(graph)
    of_tokens = np.zeros(graph.nodes, dtype=np.bool_)
    for node in np.flatnonzero(is_embedding).tolist():
        is_bias = any(graph.op_ids[reader] == op_id("attention") for reader in readers[node])
        is_position = all(
            graph.op_ids[reader] in _SUMS and not embedded[reader] for reader in readers[node]
        )
        of_tokens[node] = not is_bias and not is_position
    if not of_tokens.any():
        raise NotApplicableError("no embedding of tokens")
    return cut(graph, ~_made_of(graph, of_tokens))


def _made_of(graph: ComputationalGraph, values: Mask) -> Mask:
    """Which nodes are some values, or sums and products of nothing but those."""
    made = values.copy()
    for node, operands in enumerate(operand_lists(graph.nodes, graph.edge_index)):
        if graph.op_ids[node] in _SUMS and operands:
            made[node] = all(made[operand] for operand in operands)
    return made


def without_head(graph: ComputationalGraph) -> ComputationalGraph:
    """The trunk alone: what comes after the last norm, pooling, attention or sum goes.

    Args:
        graph: In canonical order.

    Raises:
        NotApplicableError: No layer comes after those, or too much does.
    """
    kept = _trunk(graph)
    if not has_head(graph):
        raise NotApplicableError("no layer after the last norm, pooling or sum")
    if (~kept).mean() > MAX_HEAD:
        raise NotApplicableError("no trunk that ends in a norm, a pooling or a sum")
    return cut(graph, kept)


def has_head(graph: ComputationalGraph) -> bool:
    """Whether a layer with weights comes after the last norm, pooling, attention or sum."""
    return bool(np.isin(graph.op_ids[~_trunk(graph)], [op_id(name) for name in _LAYERS]).any())


def _trunk(graph: ComputationalGraph) -> Mask:
    return _leads_to(graph, np.isin(graph.op_ids, [op_id(name) for name in _TRUNK]))


def _leads_to(graph: ComputationalGraph, wanted: Mask) -> Mask:
    """Which nodes are wanted, or reach a wanted node."""
    leads = wanted.copy()
    by_target = np.argsort(-graph.edge_index[1], kind="stable")
    for source, target in graph.edge_index.T[by_target].tolist():
        leads[source] |= leads[target]
    return leads


def one_block(graph: ComputationalGraph) -> ComputationalGraph:
    """One copy of the largest motif that the graph repeats.

    Args:
        graph: In canonical order.

    Raises:
        NotApplicableError: It repeats no motif of some size.
    """
    motifs = partition(graph)
    sizes = np.bincount(motifs.node_to_motif, minlength=motifs.motifs)
    counts = motifs.counts()
    repeated = [motif for motif, code in enumerate(motifs.motif_codes.tolist()) if counts[code] > 1]
    largest = max(repeated, key=lambda motif: int(sizes[motif]), default=None)
    if largest is None or sizes[largest] < MIN_BLOCK:
        raise NotApplicableError("no block that repeats")
    return cut(graph, motifs.node_to_motif == largest)


def module_parts() -> tuple[Change, ...]:
    """The trunks of models that have two."""
    surgeries = {"encoder_alone": partial(_alone, 0), "decoder_alone": partial(_alone, 1)}
    return tuple(by_surgery(name, PARTS, surgery) for name, surgery in surgeries.items())


def _alone(which: int, module: nn.Module, inputs: CaptureInputs) -> Built:
    """One trunk, and its first call in a forward pass of the whole."""
    trunk = trunks(module)[which]
    calls: list[CaptureInputs] = []

    def note(_trunk: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        calls.append(CaptureInputs(args, dict(kwargs)))

    run_once(module, inputs, [trunk.register_forward_pre_hook(note, with_kwargs=True)])
    if not calls:
        raise NotApplicableError("the model never calls it as a whole")
    return trunk, calls[0]


def trunks(module: nn.Module) -> tuple[nn.Module, nn.Module]:
    """Encoder and decoder of a model, which are attributes of it or of one of its children.

    A backbone with a head is no such pair: the backbone alone is another model's design.

    Raises:
        NotApplicableError: It has not both.
    """
    for owner in (module, *module.children()):
        encoder, decoder = (getattr(owner, name, None) for name in ("encoder", "decoder"))
        if isinstance(encoder, nn.Module) and isinstance(decoder, nn.Module):
            return encoder, decoder
    raise NotApplicableError("it has no encoder and decoder")
