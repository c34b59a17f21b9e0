"""Operators of mmcv without its C++: those that learn are torchvision's, the others only raise.

The wheels of `mmcv-lite` hold Python alone. What its operators look up in ``mmcv._ext`` when they
are imported is answered here, and convolutions and windows that models call are led to torchvision.
"""

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.nn.modules.utils import _pair

from nar.zoo.libraries import import_library
from nar.zoo.sources.torchvision_heads import roi_align

_EXTENSION = "mmcv._ext"
_DEFORM_CONV = (
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor"
)
# Sides in pixels: one for both, or height and width.
Sides = int | Sequence[int]


class _Extension(ModuleType):
    """Has a function of every name, which says that there is none."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(name)

        def operator(*_args: object, **_kwargs: object) -> NoReturn:
            raise NotImplementedError(f"mmcv's operator {name} is compiled, and captures nowhere")

        return operator


@cache
def prepare_mmcv() -> None:
    """Once a process, before models of OpenMMLab are imported.

    Raises:
        MissingLibraryError: mmcv-lite is not installed.
    """
    import_library("mmcv")
    extension = _Extension(_EXTENSION)
    extension.__spec__ = ModuleSpec(_EXTENSION, None)
    sys.modules.setdefault(_EXTENSION, extension)
    operators = import_library("mmcv.ops")
    for module, name, function in (
        ("deform_conv", "deform_conv2d", _deform_conv),
        ("modulated_deform_conv", "modulated_deform_conv2d", _modulated_deform_conv),
        ("roi_align", "roi_align", _windows),
    ):
        setattr(import_library(f"mmcv.ops.{module}"), name, function)
        setattr(operators, name, function)
    # Its language models are written for a transformers of 2023; no image model needs them.
    vars(import_library("mmpretrain.utils.dependency"))["WITH_MULTIMODAL"] = False


def _deform_conv(
    features: Tensor,
    offset: Tensor,
    weight: Tensor,
    stride: Sides = 1,
    padding: Sides = 0,
    dilation: Sides = 1,
    groups: int = 1,
    deform_groups: int = 1,
    bias: bool = False,  # as mmcv has it: always False
    im2col_step: int = 32,
) -> Tensor:
    """`mmcv.ops.deform_conv2d`, by torchvision's operator."""
    none = features.new_empty((features.shape[0], 0)), features.new_empty(weight.shape[0])
    return _convolve(
        features, weight, offset, none, (stride, padding, dilation), (groups, deform_groups), False
    )


def _modulated_deform_conv(
    features: Tensor,
    offset: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sides = 1,
    padding: Sides = 0,
    dilation: Sides = 1,
    groups: int = 1,
    deform_groups: int = 1,
) -> Tensor:
    """`mmcv.ops.modulated_deform_conv2d`, by torchvision's operator."""
    added = features.new_empty(weight.shape[0]) if bias is None else bias
    sides = (stride, padding, dilation)
    return _convolve(features, weight, offset, (mask, added), sides, (groups, deform_groups), True)


def _convolve(
    features: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask_and_bias: tuple[Tensor, Tensor],
    sides: Sequence[Sides],
    groups: tuple[int, int],
    is_modulated: bool,
) -> Tensor:
    _define_deform_conv()
    pixels = [pixel for side in sides for pixel in _pair(side)]
    operator = torch.ops.torchvision.deform_conv2d
    result: Tensor = operator(
        features, weight, offset, *mask_and_bias, *pixels, *groups, is_modulated
    )
    return result


def _windows(
    features: Tensor,
    rois: Tensor,
    output_size: Sides,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    pool_mode: str = "avg",
    aligned: bool = True,
) -> Tensor:
    """`mmcv.ops.roi_align`, by torchvision's operator."""
    height, width = _pair(output_size)
    result: Tensor = roi_align()(
        features, rois, spatial_scale, height, width, sampling_ratio, aligned
    )
    return result


@cache
def _define_deform_conv() -> torch.library.Library | None:
    """Once a process, where torchvision's C++ operators could not be loaded.

    Returns:
        The library of the stand-in, if any: it exists only as long as it does.
    """
    if hasattr(torch.ops.torchvision, "deform_conv2d"):
        return None
    operators = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    operators.define(_DEFORM_CONV)  # type: ignore[no-untyped-call]
    operators.impl("deform_conv2d", _deform_conv_shape, "Meta")  # type: ignore[no-untyped-call]
    return operators


def _deform_conv_shape(features: Tensor, weight: Tensor, offset: Tensor, *_rest: Any) -> Tensor:  # noqa: ANN401
    return features.new_empty((features.shape[0], weight.shape[0], *offset.shape[-2:]))
