"""The registry of sources of architectures: one module and one record a source."""

from nar.zoo.libraries import installed
from nar.zoo.source import Source
from nar.zoo.sources.darts.models import DARTS
from nar.zoo.sources.effdet import EFFDET
from nar.zoo.sources.mmdet import MMDET
from nar.zoo.sources.mmpretrain import MMPRETRAIN
from nar.zoo.sources.mmseg import MMSEG
from nar.zoo.sources.open_clip import OPEN_CLIP
from nar.zoo.sources.smp import SMP
from nar.zoo.sources.timm import TIMM
from nar.zoo.sources.torchsr import TORCHSR
from nar.zoo.sources.torchvision import TORCHVISION
from nar.zoo.sources.torchvision_detection import TORCHVISION_DETECTION
from nar.zoo.sources.torchvision_segmentation import TORCHVISION_SEGMENTATION
from nar.zoo.sources.unconverted import (
    DIFFUSERS,
    MONAI,
    PYTORCHCV,
    TRANSFORMERS,
    TRANSFORMERS_COMPOSED,
    VIT_PYTORCH,
    X_TRANSFORMERS,
)

# In the order in which names of several sources are listed.
SOURCES: tuple[Source, ...] = (
    TIMM,
    TORCHVISION,
    TRANSFORMERS,
    DIFFUSERS,
    EFFDET,
    MMDET,
    MMPRETRAIN,
    MMSEG,
    MONAI,
    OPEN_CLIP,
    PYTORCHCV,
    TORCHSR,
    VIT_PYTORCH,
    SMP,
    TORCHVISION_DETECTION,
    TORCHVISION_SEGMENTATION,
    TRANSFORMERS_COMPOSED,
    X_TRANSFORMERS,
    DARTS,
)


def source_names() -> tuple[str, ...]:
    """What stands before the colon of specs, source by source."""
    return tuple(source.name for source in SOURCES)


def source_of(spec: str) -> Source | None:
    """The source that a spec names before its colon, or that bears this name; None for a file.

    Example:
        >>> source_of("timm:resnet50").library
        'timm'
    """
    prefix = spec.partition(":")[0]
    return next((source for source in SOURCES if source.name == prefix), None)


def package_of(library: str) -> tuple[str, str] | None:
    """Name and version of the package that installs a library; None if it is not installed.

    Args:
        library: Its import name.
    """
    return installed(library, _distribution(library))


def _distribution(library: str) -> str:
    """The package that the records name for a library; empty where it bears the same name."""
    named = (source.distribution for source in SOURCES if source.library == library)
    return next(filter(None, named), "")


def licences() -> dict[str, str]:
    """Package -> SPDX identifier of its licence, for the packages whose models sources list."""
    return {each.distribution or each.library: each.licence for each in SOURCES if each.library}
