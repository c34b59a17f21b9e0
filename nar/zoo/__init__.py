"""Named sources of architectures: a name in, a captured and labelled graph out.

``timm:resnet50``, ``torchvision:resnet50``, ``transformers:bert/BertForMaskedLM``,
``darts:<genotype>``, ``path/to/file.py:factory``, ``model.pt2``, ``model.onnx``.
"""

from collections.abc import Callable
from dataclasses import dataclass

from nar.architecture import architecture
from nar.errors import UnknownArchitectureError
from nar.zoo.darts.models import list_darts, resolve_darts
from nar.zoo.file_models import is_file_name, resolve_file
from nar.zoo.spec import ArchitectureSpec, ZooCapture
from nar.zoo.timm_models import list_timm, resolve_timm
from nar.zoo.torchvision_models import list_torchvision, resolve_torchvision
from nar.zoo.transformers.models import list_transformers, resolve_transformers

__all__ = [
    "SOURCES",
    "ArchitectureSpec",
    "ZooCapture",
    "capture_architecture",
    "list_specs",
    "resolve",
]


@dataclass(frozen=True, slots=True)
class _Source:
    list_names: Callable[[], list[str]]
    resolve: Callable[[str], ArchitectureSpec]


_SOURCES = {
    "timm": _Source(list_timm, resolve_timm),
    "torchvision": _Source(list_torchvision, resolve_torchvision),
    "transformers": _Source(list_transformers, resolve_transformers),
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


def capture_architecture(name: str) -> ZooCapture:
    """Build, capture and label the model behind a name.

    Raises:
        UnknownArchitectureError: No source has that name.
        MissingLibraryError: The source's library is not installed.
        CaptureError: The model could not be built or captured.
    """
    spec = resolve(name)
    capture = spec.capture()
    return ZooCapture(architecture(spec.labels, capture.graph), capture.unknown_operators)
