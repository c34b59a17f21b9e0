"""Named sources of architectures: a name in, a captured and labelled graph out.

``timm:resnet50``, ``torchvision:resnet50``, ``transformers:bert/BertForMaskedLM``,
``darts:<genotype>``, ``path/to/file.py:factory``, ``model.pt2``, ``model.onnx``.
"""

from collections.abc import Callable
from dataclasses import dataclass

from nar.architecture import architecture
from nar.errors import UnknownArchitectureError
from nar.zoo.sources.darts.models import list_darts, resolve_darts
from nar.zoo.sources.diffusers import list_diffusers, resolve_diffusers
from nar.zoo.sources.effdet import list_effdet, resolve_effdet
from nar.zoo.sources.file import is_file_name, resolve_file
from nar.zoo.sources.mmdet import MMDET
from nar.zoo.sources.mmpretrain import MMPRETRAIN
from nar.zoo.sources.mmseg import MMSEG
from nar.zoo.sources.monai import list_monai, resolve_monai
from nar.zoo.sources.open_clip import list_open_clip, resolve_open_clip
from nar.zoo.sources.pytorchcv import list_pytorchcv, resolve_pytorchcv
from nar.zoo.sources.smp import list_smp, resolve_smp
from nar.zoo.sources.timm import TIMM
from nar.zoo.sources.torchsr import list_torchsr, resolve_torchsr
from nar.zoo.sources.torchvision import list_torchvision, resolve_torchvision
from nar.zoo.sources.torchvision_detection import (
    list_torchvision_detection,
    resolve_torchvision_detection,
)
from nar.zoo.sources.torchvision_segmentation import (
    list_torchvision_segmentation,
    resolve_torchvision_segmentation,
)
from nar.zoo.sources.transformers.composed import list_composed, resolve_composed
from nar.zoo.sources.transformers.names import list_transformers, resolve_transformers
from nar.zoo.sources.vit_pytorch import list_vit_pytorch, resolve_vit_pytorch
from nar.zoo.sources.x_transformers import list_x_transformers, resolve_x_transformers
from nar.zoo.spec import ArchitectureSpec, ZooCapture
from nar.zoo.timing import Laps, lap

__all__ = [
    "SOURCES",
    "ArchitectureSpec",
    "ZooCapture",
    "capture_architecture",
    "defining_module",
    "list_specs",
    "resolve",
]


@dataclass(frozen=True, slots=True)
class _Source:
    list_names: Callable[[], list[str]]
    resolve: Callable[[str], ArchitectureSpec]


_SOURCES = {
    "timm": _Source(TIMM.specs, TIMM.resolve),
    "torchvision": _Source(list_torchvision, resolve_torchvision),
    "transformers": _Source(list_transformers, resolve_transformers),
    "diffusers": _Source(list_diffusers, resolve_diffusers),
    "effdet": _Source(list_effdet, resolve_effdet),
    "monai": _Source(list_monai, resolve_monai),
    "mmdet": _Source(MMDET.specs, MMDET.resolve),
    "mmpretrain": _Source(MMPRETRAIN.specs, MMPRETRAIN.resolve),
    "mmseg": _Source(MMSEG.specs, MMSEG.resolve),
    "open_clip": _Source(list_open_clip, resolve_open_clip),
    "pytorchcv": _Source(list_pytorchcv, resolve_pytorchcv),
    "torchsr": _Source(list_torchsr, resolve_torchsr),
    "vit_pytorch": _Source(list_vit_pytorch, resolve_vit_pytorch),
    "smp": _Source(list_smp, resolve_smp),
    "torchvision_detection": _Source(list_torchvision_detection, resolve_torchvision_detection),
    "torchvision_segmentation": _Source(
        list_torchvision_segmentation, resolve_torchvision_segmentation
    ),
    "transformers_composed": _Source(list_composed, resolve_composed),
    "x_transformers": _Source(list_x_transformers, resolve_x_transformers),
    "darts": _Source(list_darts, resolve_darts),
}
SOURCES: tuple[str, ...] = tuple(_SOURCES)


def list_specs(source: str) -> list[str]:
    """Names that a source offers, without building any model.

    Raises:
        UnknownArchitectureError: No such source.
        MissingLibraryError: The source's library is not installed.
    """
    if source not in _SOURCES:
        raise UnknownArchitectureError(f"{source}: no such source; wanted one of {SOURCES}")
    return _SOURCES[source].list_names()


def resolve(name: str) -> ArchitectureSpec:
    """The spec behind a name, labelled but not built.

    Raises:
        UnknownArchitectureError: No source has that name; the nearest names are given.
        MissingLibraryError: The source's library is not installed.
    """
    source = _SOURCES.get(name.partition(":")[0])
    if source is not None:
        return source.resolve(name)
    if is_file_name(name):
        return resolve_file(name)
    raise UnknownArchitectureError(
        f"{name}: wanted {', '.join(f'{known}:<model>' for known in SOURCES)}, "
        "path/to/file.py:factory, or a .pt2 or .onnx file"
    )


def defining_module(source: str) -> str:
    """Dotted name of the module that finds a source's models."""
    return _SOURCES[source].resolve.__module__


def capture_architecture(name: str) -> ZooCapture:
    """Build, capture and label the model behind a name.

    Raises:
        UnknownArchitectureError: No source has that name.
        MissingLibraryError: The source's library is not installed.
        CaptureError: The model could not be built or captured.
    """
    with Laps() as laps:
        with lap("build"):
            spec = resolve(name)
        # A source that does not say where its time goes spends it on the forward pass.
        with lap("forward"):
            capture = spec.capture()
        with lap("graph"):
            item = architecture(spec.labels, capture.graph)
    return ZooCapture(item, capture.unknown_operators, laps.seconds())
