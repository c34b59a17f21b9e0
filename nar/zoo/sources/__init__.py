"""The registry of sources of architectures: a row of `MODULES` and one record a source.

The record bears the name of its source in capitals. Its module is imported when a name asks for the
source, not before.

Other packages register sources by an entry point of the group ``nar.sources``. Where NAR and the
package are installed side by side, ``mine:<model>`` is a name like any other::

    [project.entry-points."nar.sources"]
    mine = "my_zoo:SOURCE"

``my_zoo.SOURCE`` is a `nar.zoo.source.Source` whose name is ``mine``: see
``deploy/examples/private_zoo``. Such a package is imported when a name asks for its source, too.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module, metadata
from typing import Final

from nar.base.errors import PluginError, UnknownArchitectureError
from nar.zoo.libraries import installed
from nar.zoo.source import Source

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


# Name of a source -> module of its record, in the order in which sources are listed.
MODULES: Final[Mapping[str, str]] = {
    "timm": "nar.zoo.sources.timm",
    "torchvision": "nar.zoo.sources.torchvision",
    "transformers": "nar.zoo.sources.transformers.models",
    "litgpt": "nar.zoo.sources.litgpt",
    "diffusers": "nar.zoo.sources.diffusers",
    "effdet": "nar.zoo.sources.effdet",
    "mmdet": "nar.zoo.sources.mmdet",
    "mmpretrain": "nar.zoo.sources.openmmlab.whole_models",
    "mmseg": "nar.zoo.sources.mmseg",
    "mmpose": "nar.zoo.sources.openmmlab.whole_models",
    "mmocr": "nar.zoo.sources.openmmlab.whole_models",
    "mmaction": "nar.zoo.sources.openmmlab.whole_models",
    "monai": "nar.zoo.sources.tabled",
    "open_clip": "nar.zoo.sources.open_clip",
    "pytorchcv": "nar.zoo.sources.pytorchcv",
    "torchsr": "nar.zoo.sources.torchsr",
    "vit_pytorch": "nar.zoo.sources.vit_pytorch",
    "torchaudio": "nar.zoo.sources.tabled",
    "speechbrain": "nar.zoo.sources.tabled",
    "braindecode": "nar.zoo.sources.tabled",
    "neuralforecast": "nar.zoo.sources.time_series",
    "pyg": "nar.zoo.sources.pyg",
    "spandrel": "nar.zoo.sources.tabled",
    "kornia": "nar.zoo.sources.tabled",
    "pythae": "nar.zoo.sources.pythae",
    "torchgan": "nar.zoo.sources.tabled",
    "stanza": "nar.zoo.sources.stanza",
    "supar": "nar.zoo.sources.tabled",
    "libmultilabel": "nar.zoo.sources.tabled",
    "esm": "nar.zoo.sources.tabled",
    "deepctr_torch": "nar.zoo.sources.click_through",
    "rtdl_revisiting_models": "nar.zoo.sources.tabled",
    "stable_baselines3": "nar.zoo.sources.stable_baselines3",
    "pypots": "nar.zoo.sources.time_series",
    "dynamic_network_architectures": "nar.zoo.sources.tabled",
    "pytorchvideo": "nar.zoo.sources.tabled",
    "libreyolo": "nar.zoo.sources.tabled",
    "yolo": "nar.zoo.sources.yolo",
    "papers": "nar.zoo.sources.papers",
    "asteroid": "nar.zoo.sources.tabled",
    "demucs": "nar.zoo.sources.tabled",
    "neuralop": "nar.zoo.sources.tabled",
    "torch_rechub": "nar.zoo.sources.click_through",
    "smp": "nar.zoo.sources.smp",
    "torchvision_detection": "nar.zoo.sources.torchvision_detection",
    "torchvision_segmentation": "nar.zoo.sources.torchvision_segmentation",
    "transformers_composed": "nar.zoo.sources.transformers.composed",
    "x_transformers": "nar.zoo.sources.x_transformers",
    "darts": "nar.zoo.sources.darts.models",
}


def shipped_source(name: str) -> Source | None:
    """The source that NAR has under a name; None for no source of NAR's."""
    module = MODULES.get(name)
    source: Source | None = getattr(import_module(module), name.upper()) if module else None
    return source


def shipped_sources() -> tuple[Source, ...]:
    """All sources that NAR has: their modules are imported."""
    return tuple(filter(None, map(shipped_source, MODULES)))


def source_names() -> tuple[str, ...]:
    """What stands before the colon of specs: NAR's sources, then those of other packages."""
    return (*MODULES, *(name for name in plugin_names() if name not in MODULES))


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
    return shipped_source(prefix) or plugin_source(prefix)


def package_of(library: str) -> tuple[str, str] | None:
    """Name and version of the package that installs a library; None if it is not installed.

    Args:
        library: Its import name.
    """
    return installed(library, _distribution(library))


def _distribution(library: str) -> str:
    """The package that the records name for a library; empty where it bears the same name."""
    named = (source.distribution for source in shipped_sources() if source.library == library)
    return next(filter(None, named), "")


def licences() -> dict[str, str]:
    """Package -> SPDX identifier of its licence, for the packages whose models sources list.

    A source that another package registers and that cannot be used is left out.
    """
    sources = list(shipped_sources())
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
