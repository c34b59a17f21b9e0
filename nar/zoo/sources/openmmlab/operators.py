"""Operators of mmcv without its C++ part: torchvision's for networks, stand-ins for the rest.

The wheels of `mmcv-lite` hold Python alone. Its modules look their operators up in ``mmcv._ext``
when they are imported, and find stand-ins here, which raise when called. Convolutions and windows
that models call become torchvision's operators.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NoReturn

import torch
from torch import Tensor

from nar.capture.torch_internals import pair
from nar.zoo.libraries import import_library
from nar.zoo.sources.torchvision_heads import roi_align

_EXTENSION = "mmcv._ext"
_DEFORM_CONV = (
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor"
)
_ANNOTATIONS = ("", ".coco", ".cocoeval", ".mask")
# Module -> what is imported from it.
_ABSENT = {
    "mmaction.models.localizers.drn": (),
    "mmaction.models.localizers.drn.drn": ("DRN",),
    "mmaction.models.multimodal": (),
    "imgaug": (),
    "imgaug.augmenters": (),
    "lmdb": (),
    "munkres": ("Munkres",),
    "pyclipper": (),
    "rapidfuzz": ("fuzz",),
    "skimage": (),
    "skimage.morphology": ("skeletonize",),
}
# Sides in pixels: one for both, or height and width.
Sides = int | Sequence[int]


class _Extension(ModuleType):
    """Has a function of every name, which raises that there is no such operator."""

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
    _stand_in_for_absent_modules()
    import_library("mmcv.ops")
    operators = [module for name, module in sys.modules.items() if name.startswith("mmcv.ops")]
    for name, function in _FUNCTIONS.items():
        for module in operators:
            if callable(vars(module).get(name)):
                vars(module)[name] = function
    import_library("mmengine.logging").MMLogger.get_instance("nar", log_level="ERROR")
    # Its language models are written for a transformers of 2023; no image model needs them.
    vars(import_library("mmpretrain.utils.dependency"))["WITH_MULTIMODAL"] = False


def _stand_in_for_absent_modules() -> None:
    """Modules that libraries import, and no network calls.

    xtcocotools reads annotations, as pycocotools does; others read data and decode results. The
    wheel of mmaction2 lacks one localizer, and its language models want a transformers of 2023.
    """
    if find_spec("xtcocotools") is None:
        for name in _ANNOTATIONS:
            sys.modules.setdefault(f"xtcocotools{name}", import_module(f"pycocotools{name}"))
    for name, members in _ABSENT.items():
        if "." not in name and name not in sys.modules and find_spec(name):
            continue
        module = ModuleType(name)
        vars(module).update(dict.fromkeys(members))
        sys.modules.setdefault(name, module)


@contextmanager
def former_mmdet() -> Iterator[None]:
    """Inside, mmdet says that it is version 3.1: mmocr 1.0.1 asks for one before 3.2.

    Its networks take nothing of mmdet that has changed since.
    """
    mmdet = vars(import_library("mmdet"))
    version, mmdet["__version__"] = mmdet["__version__"], "3.1.0"
    try:
        yield
    finally:
        mmdet["__version__"] = version


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
    pixels = [pixel for side in sides for pixel in pair(side)]
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
    height, width = pair(output_size)
    result: Tensor = roi_align()(
        features, rois, spatial_scale, height, width, sampling_ratio, aligned
    )
    return result


def _psa_mask(features: Tensor, psa_type: int, mask_size: Sides) -> Tensor:
    """`mmcv.ops.psa_mask`, an operator of mmcv's own that only capture can run."""
    _define_own()
    result: Tensor = torch.ops.mmcv.psa_mask(features, psa_type, *pair(mask_size))
    return result


def _carafe(features: Tensor, masks: Tensor, kernel: int, groups: int, factor: int) -> Tensor:
    """`mmcv.ops.carafe`, an operator of mmcv's own that only capture can run."""
    _define_own()
    result: Tensor = torch.ops.mmcv.carafe(features, masks, kernel, groups, factor)
    return result


@cache
def _define_own() -> torch.library.Library:
    """Once a process. Returns the library of operators: they exist only as long as it does."""
    operators = torch.library.Library("mmcv", "DEF")  # type: ignore[no-untyped-call]
    for schema, shape in (
        ("psa_mask(Tensor input, int type, int height, int width) -> Tensor", _psa_mask_shape),
        (
            "carafe(Tensor input, Tensor masks, int kernel, int groups, int factor) -> Tensor",
            _carafe_shape,
        ),
    ):
        operators.define(schema)  # type: ignore[no-untyped-call]
        operators.impl(schema.partition("(")[0], shape, "Meta")  # type: ignore[no-untyped-call]
    return operators


def _psa_mask_shape(features: Tensor, *_settings: int) -> Tensor:
    batch, _, height, width = features.shape
    return features.new_empty((batch, height * width, height, width))


def _carafe_shape(
    features: Tensor, _masks: Tensor, _kernel: int, _groups: int, factor: int
) -> Tensor:
    batch, channels, height, width = features.shape
    return features.new_empty((batch, channels, height * factor, width * factor))


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


# What mmcv's modules call by these names, instead of the compiled operators.
_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "carafe": _carafe,
    "deform_conv2d": _deform_conv,
    "modulated_deform_conv2d": _modulated_deform_conv,
    "psa_mask": _psa_mask,
    "roi_align": _windows,
}
