"""The registry of sources of architectures: one module and one record a source.

Other packages register sources by an entry point of the group ``nar.sources``. Where NAR and the
package are installed side by side, ``mine:<model>`` is a name like any other::

    [project.entry-points."nar.sources"]
    mine = "my_zoo:SOURCE"

``my_zoo.SOURCE`` is a `nar.zoo.source.Source` whose name is ``mine``: see
``deploy/examples/private_zoo``. A package is imported when a name asks for its source, not before.
"""

import sys
from contextlib import suppress
from functools import cache
from importlib import metadata

from nar.base.errors import PluginError, UnknownArchitectureError
from nar.zoo.libraries import installed
from nar.zoo.source import Source
from nar.zoo.sources import tabled
from nar.zoo.sources.click_through import DEEPCTR_TORCH, TORCH_RECHUB
from nar.zoo.sources.darts.models import DARTS
from nar.zoo.sources.diffusers import DIFFUSERS
from nar.zoo.sources.effdet import EFFDET
from nar.zoo.sources.litgpt import LITGPT
from nar.zoo.sources.mmdet import MMDET
from nar.zoo.sources.mmseg import MMSEG
from nar.zoo.sources.open_clip import OPEN_CLIP
from nar.zoo.sources.openmmlab.whole_models import MMACTION, MMOCR, MMPOSE, MMPRETRAIN
from nar.zoo.sources.papers import PAPERS
from nar.zoo.sources.pyg import PYG
from nar.zoo.sources.pythae import PYTHAE
from nar.zoo.sources.pytorchcv import PYTORCHCV
from nar.zoo.sources.smp import SMP
from nar.zoo.sources.stable_baselines3 import STABLE_BASELINES3
from nar.zoo.sources.stanza import STANZA
from nar.zoo.sources.time_series import NEURALFORECAST, PYPOTS
from nar.zoo.sources.timm import TIMM
from nar.zoo.sources.torchsr import TORCHSR
from nar.zoo.sources.torchvision import TORCHVISION
from nar.zoo.sources.torchvision_detection import TORCHVISION_DETECTION
from nar.zoo.sources.torchvision_segmentation import TORCHVISION_SEGMENTATION
from nar.zoo.sources.transformers.composed import TRANSFORMERS_COMPOSED
from nar.zoo.sources.transformers.models import TRANSFORMERS
from nar.zoo.sources.vit_pytorch import VIT_PYTORCH
from nar.zoo.sources.x_transformers import X_TRANSFORMERS
from nar.zoo.sources.yolo import YOLO

GROUP = "nar.sources"


def plugin_names() -> tuple[str, ...]:
    """The sources that other packages register, in alphabetical order; no package is imported."""
    return tuple(sorted({entry.name for entry in _entry_points(tuple(sys.path))}))


def plugin_source(name: str) -> Source | None:
    """The source that another package registers under a name; None if none does.

    Raises:
        PluginError: Several packages register the name, or what is registered is not a source of
            that name.
    """
    found = [entry for entry in _entry_points(tuple(sys.path)) if entry.name == name]
    if len(found) > 1:
        owners = " and ".join(sorted(map(_owner, found)))
        raise PluginError(f"{name}: {owners} register this source; uninstall all but one")
    return _load(found[0]) if found else None


@cache
def _entry_points(_path: tuple[str, ...]) -> tuple[metadata.EntryPoint, ...]:
    """The entry points of all packages that are installed where Python looks for modules.

    Args:
        _path: Where Python looks; searching it takes tens of milliseconds, so the result is kept.
    """
    return tuple(metadata.entry_points(group=GROUP))


@cache
def _load(entry: metadata.EntryPoint) -> Source:
    try:
        source = entry.load()
    # A package may raise anything while it is imported.
    except Exception as error:
        raise _unusable(entry, f"{type(error).__name__}: {error}") from error
    if not isinstance(source, Source):
        raise _unusable(entry, f"wanted a {Source.__qualname__}, came {type(source).__name__}")
    if source.name != entry.name:
        raise _unusable(entry, f"wanted a source of that name, came {source.name}")
    return source


def _unusable(entry: metadata.EntryPoint, reason: str) -> PluginError:
    return PluginError(
        f"{entry.name}: the source that {_owner(entry)} registers as {entry.value} cannot be used: "
        f"{reason}; repair or uninstall that package"
    )


def _owner(entry: metadata.EntryPoint) -> str:
    """Name and version of the distribution that registers a source."""
    distribution = entry.dist
    assert distribution is not None, "an entry point that was found belongs to a distribution"
    return f"{distribution.name} {distribution.version}"


# In the order in which names of several sources are listed.
SOURCES: tuple[Source, ...] = (
    TIMM,
    TORCHVISION,
    TRANSFORMERS,
    LITGPT,
    DIFFUSERS,
    EFFDET,
    MMDET,
    MMPRETRAIN,
    MMSEG,
    MMPOSE,
    MMOCR,
    MMACTION,
    tabled.MONAI,
    OPEN_CLIP,
    PYTORCHCV,
    TORCHSR,
    VIT_PYTORCH,
    tabled.TORCHAUDIO,
    tabled.SPEECHBRAIN,
    tabled.BRAINDECODE,
    NEURALFORECAST,
    PYG,
    tabled.SPANDREL,
    tabled.KORNIA,
    PYTHAE,
    tabled.TORCHGAN,
    STANZA,
    tabled.SUPAR,
    tabled.LIBMULTILABEL,
    tabled.ESM,
    DEEPCTR_TORCH,
    tabled.RTDL_REVISITING_MODELS,
    STABLE_BASELINES3,
    PYPOTS,
    tabled.DYNAMIC_NETWORK_ARCHITECTURES,
    tabled.PYTORCHVIDEO,
    tabled.LIBREYOLO,
    YOLO,
    PAPERS,
    tabled.ASTEROID,
    tabled.DEMUCS,
    tabled.NEURALOP,
    TORCH_RECHUB,
    SMP,
    TORCHVISION_DETECTION,
    TORCHVISION_SEGMENTATION,
    TRANSFORMERS_COMPOSED,
    X_TRANSFORMERS,
    DARTS,
)


def source_names() -> tuple[str, ...]:
    """What stands before the colon of specs: NAR's sources, then those of other packages."""
    own = tuple(source.name for source in SOURCES)
    return (*own, *(name for name in plugin_names() if name not in own))


def source_of(spec: str) -> Source | None:
    """The source that a spec names before its colon, or that bears this name; None for a file.

    Where another package registers a name that NAR has too, NAR's source is taken.

    Raises:
        PluginError: Another package registers that source, and it cannot be used.

    Example:
        >>> source_of("timm:resnet50").library
        'timm'
    """
    prefix = spec.partition(":")[0]
    own = next((source for source in SOURCES if source.name == prefix), None)
    return own or plugin_source(prefix)


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
    """Package -> SPDX identifier of its licence, for the packages whose models sources list.

    A source that another package registers and that cannot be used is left out.
    """
    sources = list(SOURCES)
    for name in plugin_names():
        with suppress(PluginError):
            sources.extend(filter(None, [plugin_source(name)]))
    return {each.distribution or each.library: each.licence for each in sources if each.library}


def list_specs(source: str) -> list[str]:
    """Names that a source offers, without building any model.

    Raises:
        UnknownArchitectureError: No such source.
        MissingLibraryError: The source's library is not installed.
        PluginError: Another package registers the source, and it cannot be used.
    """
    record = source_of(source)
    if record is None or record.name != source:
        raise UnknownArchitectureError(f"{source}: no such source; wanted one of {source_names()}")
    return record.specs()
