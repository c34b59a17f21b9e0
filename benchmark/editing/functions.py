"""Edits of functions: another activation, another norm, wherever a model calls one."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.editing.surgery import at_home, replace_modules
from benchmark.rewriting.rewrite import NotApplicableError
from benchmark.rewriting.spelled import Spelled, Spelling
from nar.capture import CaptureInputs
from nar.capture.torch_internals import AnyBatchNorm
from nar.zoo.building import Built

GROUPS = 32
# The rule: a rectifier becomes GELU, GELU becomes SiLU, and everything else a rectifier.
_RECTIFIERS = (
    functional.relu, functional.relu6, functional.hardtanh, functional.leaky_relu,
    functional.prelu, torch.relu, torch.relu_, torch.prelu, Tensor.relu, Tensor.relu_,
)  # fmt: skip
_OTHERS = (
    functional.silu, functional.mish, functional.hardswish, functional.elu, functional.selu,
    functional.celu,
)  # fmt: skip
_NEXT: dict[Callable[..., Any], Callable[[Tensor], Tensor]] = {
    **dict.fromkeys(_RECTIFIERS, functional.gelu),
    functional.gelu: functional.silu,
    **dict.fromkeys(_OTHERS, functional.relu),
}
# Activations that libraries write out, and what they are.
_WRITTEN_OUT: dict[str, type[nn.Module]] = {
    **dict.fromkeys(
        ("NewGELUActivation", "FastGELUActivation", "AccurateGELUActivation", "GELUActivation",
         "QuickGELUActivation", "QuickGELU", "BloomGelu", "GeLU"),
        nn.GELU,
    ),
    **dict.fromkeys(("Swish", "MemoryEfficientSwish", "MemoryEfficientMish"), nn.SiLU),
    **dict.fromkeys(("HSwish", "ReLUSquaredActivation", "SquaredReLU"), nn.Hardswish),
}  # fmt: skip


def other_activation(module: nn.Module, inputs: CaptureInputs) -> Built:
    """Each activation becomes another one by a fixed rule; gates, which are sigmoids, stay."""
    replace_modules(module, _plain_activation)
    new = {called: partial(_on_values_alone, other) for called, other in _NEXT.items()}
    return Spelled(module, Spelling(new)), inputs


def _plain_activation(layer: nn.Module) -> nn.Module | None:
    kind = _WRITTEN_OUT.get(type(layer).__name__)
    return None if kind is None else kind()


def _on_values_alone(other: Callable[[Tensor], Tensor], *args: Any, **kwargs: Any) -> Tensor:  # noqa: ANN401
    """The other activation, which has no slope, no bounds, and does not write in place."""
    return other(args[0] if args else kwargs["input"])


def other_norm(module: nn.Module, inputs: CaptureInputs) -> Built:
    """Batch norms become group norms, layer norms RMS norms, and RMS norms layer norms."""
    with at_home(module):
        replaced = replace_modules(module, _next_norm)
    if not replaced:
        raise NotApplicableError("it has no norm that is a module")
    return module, inputs


def both(module: nn.Module, inputs: CaptureInputs) -> Built:
    """Another norm and another activation."""
    return other_activation(*other_norm(module, inputs))


def _next_norm(layer: nn.Module) -> nn.Module | None:
    if isinstance(layer, AnyBatchNorm):
        # Some libraries keep the activation that follows in the norm.
        rest = [getattr(layer, part) for part in ("drop", "act") if hasattr(layer, part)]
        return nn.Sequential(_group_norm(layer.num_features), *rest)
    weight, kind = getattr(layer, "weight", None), type(layer).__name__
    if not isinstance(weight, Tensor) or "Norm" not in kind or isinstance(layer, nn.GroupNorm):
        return None
    shape = tuple(weight.shape)
    if "RMS" in kind or (hasattr(layer, "variance_epsilon") and not hasattr(layer, "bias")):
        return _Norm(nn.LayerNorm(shape), layer)
    if "LayerNorm" in kind:
        return _Norm(nn.RMSNorm(shape), layer)
    return None


def _group_norm(width: int) -> nn.GroupNorm:
    """Of 32 groups, or of the largest number below that divides the width into more than ones."""
    most = min(GROUPS, max(width // 2, 1))
    groups = next(groups for groups in range(most, 0, -1) if width % groups == 0)
    return nn.GroupNorm(groups, width)


class _Norm(nn.Module):
    """A norm over the last axis, or over channels that come first, as the norm that it replaces.

    Args:
        norm: The new norm.
        old: The norm that it replaces.
    """

    def __init__(self, norm: nn.Module, old: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self._is_channels_first = _is_channels_first(old)

    @property
    def weight(self) -> Tensor:
        """What code asks for the type of its numbers."""
        return cast("Tensor", self.norm.weight)

    def forward(self, values: Tensor) -> Tensor:
        """Normalise."""
        is_other_axis = values.shape[-1] != self.weight.shape[-1]
        result: Tensor
        if values.ndim > 2 and (self._is_channels_first or is_other_axis):
            result = self.norm(values.movedim(1, -1)).movedim(-1, 1)
        else:
            result = self.norm(values)
        return result


def _is_channels_first(layer: nn.Module) -> bool:
    return "2d" in type(layer).__name__ or getattr(layer, "data_format", "") == "channels_first"
