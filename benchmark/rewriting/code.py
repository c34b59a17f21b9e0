"""Rewrites of the code around a model: numbering, wrapping, checkpoints, training settings."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from torch import nn
from torch.utils.checkpoint import checkpoint

from benchmark.rewriting.rewrite import Knobs, NotApplicableError, Original, Rewrite, captured
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph, operand_lists
from nar.zoo.sources.transformers.configs import parts

SEED = 0
RATE = 0.3


def code_rewrites() -> tuple[Rewrite, ...]:
    """The same model from other code."""
    return (
        Rewrite("renumbered", "equal", renumbered),
        Rewrite("wrapped", "equal", wrapped),
        Rewrite("checkpointed", "equal", checkpointed),
        Rewrite("other_dropout", "equal", other_dropout),
    )


def renumbered(original: Original) -> ComputationalGraph:
    """The nodes in some other order, brought to the canonical one again."""
    return canonical(shuffled(original.architecture.graph, seed=SEED))


def shuffled(graph: ComputationalGraph, *, seed: int) -> ComputationalGraph:
    """The same graph with its nodes numbered anew at random; operands keep their order."""
    numbers = np.random.default_rng(seed).permutation(graph.nodes)
    order = np.argsort(numbers)
    operands = operand_lists(graph.nodes, graph.edge_index)
    edges = [
        (numbers[source], number) for number, old in enumerate(order) for source in operands[old]
    ]
    return replace(
        graph,
        op_ids=graph.op_ids[order],
        attributes=graph.attributes[order],
        edge_index=np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
    )


class Renamed(nn.Module):
    """A module inside another one: every name in it changes.

    Args:
        module: The module.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.backbone = nn.ModuleDict({"network": module})

    def forward(self, *args: object, **kwargs: object) -> object:
        """What the module itself returns, in a list."""
        return [self.backbone["network"](*args, **kwargs)]


def wrapped(original: Original) -> ComputationalGraph:
    """As a part of another module."""
    module, inputs = original.build()
    return captured(original.name, Renamed(module), inputs)


def checkpointed(original: Original) -> ComputationalGraph:
    """Every block of every list of blocks under `torch.utils.checkpoint`."""
    module, inputs = original.build()
    blocks = list(_blocks(module))
    if not blocks:
        raise NotApplicableError("no list of blocks in it")
    for block in blocks:
        block.forward = _recomputed(block.forward)
    return captured(original.name, module, inputs)


def _blocks(module: nn.Module) -> Iterator[nn.Module]:
    for parent in module.modules():
        if isinstance(parent, nn.ModuleList | nn.Sequential):
            yield from (child for child in parent if any(True for _ in child.children()))


def _recomputed(forward: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: object, **kwargs: object) -> object:
        call = partial(forward, **kwargs)
        return checkpoint(call, *args, use_reentrant=False, preserve_rng_state=False)

    return run


def other_dropout(original: Original) -> ComputationalGraph:
    """Built with dropout, which does nothing outside training."""
    for knobs in _rates(original):
        # Who has no such setting says so in any way.
        try:
            module, inputs = original.build(**knobs)
        except (TypeError, ValueError, RuntimeError):
            continue
        return captured(original.name, module, inputs)
    raise NotApplicableError("its constructor has no dropout")


def _rates(original: Original) -> Iterator[Knobs]:
    if original.library == "timm":
        yield {"drop_rate": RATE, "drop_path_rate": RATE}
        yield {"drop_rate": RATE}
    elif original.library == "torchvision":
        yield {"stochastic_depth_prob": RATE}
        yield {"dropout": RATE}
    else:
        module, _ = original.build()
        rates = {
            name: RATE
            for part in parts(module.config)
            for name, value in vars(part).items()
            if "drop" in name and isinstance(value, float)
        }
        if rates:
            yield rates
