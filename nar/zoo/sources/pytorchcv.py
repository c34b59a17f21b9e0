"""The models of pytorchcv, each once: data sets that only change the classes are left out."""

from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor, nn

from nar.architecture import Labels
from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import Recipe, capture_recipe
from nar.zoo.libraries import import_library, library_version
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "pytorchcv"
FLOW_SIZE = (240, 432)
FRAMES = 5
LOCAL_FRAMES = 3
SPEECH_FRAMES = 200

# Endings that name the data set or language a model was trained on. Those of one group share the
# network up to its classes; small images (first group) have another stem than large ones.
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

# The network alone: what turns heat maps into coordinates reads values, and what turns sound into
# mel frames is preprocessing, by a library of its own.
_CHOSEN: dict[str, dict[str, bool]] = {
    "alphapose_coco": {"return_heatmap": True},
    "simplepose_coco": {"return_heatmap": True},
    "simpleposemobile_coco": {"return_heatmap": True},
    "jasper": {"from_audio": False},
    "jasperdr": {"from_audio": False},
    "quartznet": {"from_audio": False},
}


def list_pytorchcv() -> list[str]:
    """Every model in the library's order, of equal networks for several data sets the first."""
    return [f"{SOURCE}:{model}" for model in _distinct()]


def resolve_pytorchcv(name: str) -> ArchitectureSpec:
    """The spec behind ``pytorchcv:<model>``.

    Raises:
        UnknownArchitectureError: pytorchcv has no such model, or has it under another data set.
    """
    build = _distinct().get(name.removeprefix(f"{SOURCE}:"))
    if build is None:
        way_out = "of models for several data sets only the first is listed"
        raise unknown_architecture(name, list_pytorchcv(), way_out=way_out)
    module = build.__module__.rpartition(".")[2]
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version(SOURCE),
        family=family_of(SOURCE, module),
        task=_TASK_OF.get(module, "image-classification"),
    )
    build = partial(build, pretrained=False, **_CHOSEN.get(module, {}))
    recipe = Recipe(build, partial(_inputs, module))
    return ArchitectureSpec(labels, partial(capture_recipe, name, recipe))


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


def _inputs(module: str, model: nn.Module) -> CaptureInputs:
    return CaptureInputs(_INPUTS.get(module, _image)(model))


_Arguments = tuple[Tensor | int, ...]


def _image(model: nn.Module) -> _Arguments:
    height, width = model.in_size  # type: ignore[misc]
    return (torch.empty(1, getattr(model, "in_channels", 3), int(height), int(width)),)


def _speech(model: nn.Module) -> _Arguments:
    """Mel frames and how many of them count."""
    return torch.empty(1, int(model.in_size), SPEECH_FRAMES), torch.full((1,), SPEECH_FRAMES)  # type: ignore[arg-type]


def _two_frames(_model: nn.Module) -> _Arguments:
    return torch.empty(1, 3, *FLOW_SIZE), torch.empty(1, 3, *FLOW_SIZE)


def _flow_and_mask(_model: nn.Module) -> _Arguments:
    return torch.empty(1, FRAMES, 2, *FLOW_SIZE), torch.empty(1, FRAMES, 1, *FLOW_SIZE)


def _masked_clip(_model: nn.Module) -> _Arguments:
    """Frames, their masks, and flow there and back between neighbours."""
    return (
        torch.empty(FRAMES, 3, *FLOW_SIZE),
        torch.empty(FRAMES, 1, *FLOW_SIZE),
        torch.empty(FRAMES - 1, 4, *FLOW_SIZE),
    )


def _propagated_clip(_model: nn.Module) -> _Arguments:
    """Frames, masks after and before propagation, flow between local frames, how many are local."""
    masks = torch.empty(1, FRAMES, 1, *FLOW_SIZE)
    return (
        torch.empty(1, FRAMES, 3, *FLOW_SIZE),
        masks,
        torch.empty_like(masks),
        torch.empty(1, LOCAL_FRAMES - 1, 4, *FLOW_SIZE),
        LOCAL_FRAMES,
    )


# Modules whose models take something else than one image of `in_size`: shapes of their own tests.
_INPUTS: dict[str, Callable[[nn.Module], _Arguments]] = {
    "jasper": _speech,
    "jasperdr": _speech,
    "quartznet": _speech,
    "raft": _two_frames,
    "propainter_rfc": _flow_and_mask,
    "propainter": _propagated_clip,
    "propainter_ip": _masked_clip,
    "pfpcnet": lambda _: (torch.empty(1, 1, 320, 240),),
    "prnet": lambda _: (torch.empty(1, 3, 256, 256),),
    "superpointnet": lambda _: (torch.empty(1, 1, 240, 320),),
    "lffd": lambda _: (torch.empty(1, 3, 640, 640),),
    "voca": lambda _: (torch.empty(1, 1, 16, 29), torch.full((1,), 3)),
    "nvpattexp": lambda _: (torch.empty(1, 8, 16, 29), torch.full((1,), 3)),
    "visemenet": lambda _: (torch.empty(34, 8, 195), torch.full((34, 76), 3)),
}
