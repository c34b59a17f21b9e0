"""The models of pytorchcv, each once: data sets that only change the classes are left out."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.example import Entry as InputEntry
from nar.zoo.example import made
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward

# Endings that name the data set or language a model was trained on. Models whose endings are in one
# group share the network up to its classes; for small images (first group) it has another stem.
_DATA_SETS: tuple[tuple[str, ...], ...] = (
    ("_cifar10", "_cifar100", "_svhn"),
    ("_cub", "_voc", "_coco", "_ade20k", "_cityscapes", "_celebamaskhq"),
    (
        "_en", "_en_ls", "_en_nr", "_fr", "_de", "_it", "_es", "_ca", "_pl", "_ru", "_ru34",
    ),
)  # fmt: skip
_SMALL_IMAGES = _DATA_SETS[0]

_MODULES_OF_TASK: dict[str, str] = {
    "image-segmentation": (
        "bisenet cgnet contextnet dabnet danet deeplabv3 edanet enet erfnet esnet espcnet fastscnn "
        "fcn8sd fpenet icnet lednet linknet pspnet segnet sinet sqnet unet"
    ),
    "object-detection": "centernet lffd",
    "keypoint-detection": (
        "alphapose_coco ibppose_coco lwopenpose_cmupan simplepose_coco simpleposemobile_coco "
        "superpointnet"
    ),
    "face-reconstruction": "pfpcnet prnet",
    "speech-driven-animation": "nvpattexp visemenet voca",
    "automatic-speech-recognition": "jasper jasperdr quartznet",
    "optical-flow": "raft",
    "video-inpainting": "propainter propainter_ip propainter_rfc",
}
_TASK_OF = {
    module: task for task, modules in _MODULES_OF_TASK.items() for module in modules.split()
}

# Only the network is captured: turning heat maps into coordinates reads values, and turning sound
# into mel frames is preprocessing by another library.
_CHOSEN: dict[str, dict[str, bool]] = {
    "alphapose_coco": {"return_heatmap": True},
    "simplepose_coco": {"return_heatmap": True},
    "simpleposemobile_coco": {"return_heatmap": True},
    "jasper": {"from_audio": False},
    "jasperdr": {"from_audio": False},
    "quartznet": {"from_audio": False},
}


# One image of the size that a model names, unless its module takes something else.
_IMAGE = ([1, "in_channels|3", "height", "width"],)
# Mel frames, and how many frames are not padding.
_SPEECH = ([1, "in_size", 200], {"long": [1], "value": 200})
_FRAME = (240, 432)
# The shapes of the library's own tests.
_INPUTS: Mapping[str, Sequence[InputEntry]] = {
    "jasper": _SPEECH,
    "jasperdr": _SPEECH,
    "quartznet": _SPEECH,
    "raft": ([1, 3, *_FRAME], [1, 3, *_FRAME]),
    # Flow and masks.
    "propainter_rfc": ([1, 5, 2, *_FRAME], [1, 5, 1, *_FRAME]),
    # Frames, masks after and before propagation, flow between three local frames.
    "propainter": (
        [1, 5, 3, *_FRAME], [1, 5, 1, *_FRAME], [1, 5, 1, *_FRAME], [1, 2, 4, *_FRAME], 3,
    ),
    # Frames, their masks, and flow there and back between neighbours.
    "propainter_ip": ([5, 3, *_FRAME], [5, 1, *_FRAME], [4, 4, *_FRAME]),
    "pfpcnet": ([1, 1, 320, 240],),
    "prnet": ([1, 3, 256, 256],),
    "superpointnet": ([1, 1, 240, 320],),
    "lffd": ([1, 3, 640, 640],),
    "voca": ([1, 1, 16, 29], {"long": [1], "value": 3}),
    "nvpattexp": ([1, 8, 16, 29], {"long": [1], "value": 3}),
    "visemenet": ([34, 8, 195], {"long": [34, 76], "value": 3}),
}  # fmt: skip


def _entry(model: str) -> Entry | None:
    build = _distinct().get(model)
    if build is None:
        return None
    module = build.__module__.rpartition(".")[2]
    capture = by_forward(
        partial(build, pretrained=False, **_CHOSEN.get(module, {})),
        partial(_inputs, _INPUTS.get(module, _IMAGE)),
    )
    return Entry(module, _TASK_OF.get(module, "image-classification"), capture)


@cache
def _distinct() -> dict[str, Callable[..., nn.Module]]:
    """Name -> constructor, without what differs from an earlier name by its data set only."""
    kept: dict[tuple[str, bool], str] = {}
    models: dict[str, Callable[..., nn.Module]] = import_library("pytorchcv.model_provider")._models
    for name in models:
        kept.setdefault(_design(name), name)
    return {name: models[name] for name in kept.values()}


def _design(name: str) -> tuple[str, bool]:
    """A name without its data set, and whether that has small images."""
    endings = (ending for group in _DATA_SETS for ending in group if name.endswith(ending))
    ending = max(endings, key=len, default="")
    return name.removesuffix(ending), ending in _SMALL_IMAGES


def _inputs(entries: Sequence[InputEntry], model: nn.Module) -> CaptureInputs:
    return CaptureInputs(tuple(made(entry, partial(_known, model)) for entry in entries))


def _known(model: nn.Module, name: str) -> object:
    sides = {"height": 0, "width": 1}
    return model.in_size[sides[name]] if name in sides else getattr(model, name, None)  # type: ignore[index]


PYTORCHCV = Source(
    name="pytorchcv",
    library="pytorchcv",
    licence="MIT",
    form="<model>, of models for several data sets the first",
    example="resnet18",
    names=lambda: list(_distinct()),
    entry=_entry,
)
