"""Rewrites that merge layers for deployment: the numbers stay, nodes go."""

from typing import Any

from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from benchmark.rewriting.files import hollow
from benchmark.rewriting.rewrite import NotApplicableError, Original, Rewrite, captured
from nar.capture import CaptureInputs
from nar.capture.torch_internals import AnyBatchNorm
from nar.graphs.graph import ComputationalGraph
from nar.zoo.libraries import import_library

Pair = tuple[nn.Module, AnyBatchNorm]


def folding_rewrites() -> tuple[Rewrite, ...]:
    """The same numbers from fewer layers."""
    return (
        Rewrite("folded_batch_norm", "near", folded_batch_norm),
        Rewrite("reparameterised", "near", reparameterised),
    )


def folded_batch_norm(original: Original) -> ComputationalGraph:
    """Every batch norm that reads a convolution becomes a part of it."""
    module, inputs = original.build()
    module.eval()
    pairs = _convolutions_before_norms(original.name, module, inputs)
    if not pairs:
        raise NotApplicableError("no batch norm after a convolution")
    for convolution, norm in pairs:
        _fold(module, convolution, norm)
    return captured(original.name, module, inputs)


def _convolutions_before_norms(name: str, module: nn.Module, inputs: CaptureInputs) -> list[Pair]:
    """(convolution, batch norm) of one forward pass, each module in one pair at most."""
    made: dict[int, tuple[Tensor, nn.Module]] = {}  # holds the tensors: an id is used once
    pairs: list[Pair] = []

    def note(layer: nn.Module, _inputs: object, output: Tensor) -> None:
        made[id(output)] = (output, layer)

    def match(layer: nn.Module, args: tuple[Any, ...]) -> None:
        result = made.pop(id(args[0]), None)
        if result is not None and isinstance(layer, AnyBatchNorm):
            _, convolution = result
            pairs.append((convolution, layer))

    hooks = [
        child.register_forward_hook(note) for child in module.modules() if type(child) is nn.Conv2d
    ]
    hooks += [
        child.register_forward_pre_hook(match)
        for child in module.modules()
        if isinstance(child, AnyBatchNorm)
    ]
    captured(name, module, inputs)
    for hook in hooks:
        hook.remove()
    return pairs


def _fold(module: nn.Module, convolution: nn.Module, norm: AnyBatchNorm) -> None:
    folded = fuse_conv_bn_eval(convolution, norm)  # type: ignore[type-var]
    rest = [getattr(norm, part) for part in ("drop", "act") if hasattr(norm, part)]
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if child is convolution:
                parent.add_module(name, folded)
            elif child is norm:
                parent.add_module(name, nn.Sequential(*rest))


def reparameterised(original: Original) -> ComputationalGraph:
    """As timm merges the branches of a trained model."""
    if original.library != "timm":
        raise NotApplicableError("only timm's models know how to merge their branches")
    module, inputs = hollow(original)  # merging reads weights
    merged = import_library("timm.utils").reparameterize_model(module)
    if len(list(merged.modules())) == len(list(module.modules())):
        raise NotApplicableError("no branches to merge")
    return captured(original.name, merged, inputs)
