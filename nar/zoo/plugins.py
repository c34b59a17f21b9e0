"""Sources that other packages register, by an entry point of the group ``nar.sources``.

Where NAR and the package are installed side by side, ``mine:<model>`` is a name like any other::

    [project.entry-points."nar.sources"]
    mine = "my_zoo:SOURCE"

``my_zoo.SOURCE`` is a `nar.zoo.source.Source` whose name is ``mine``: see
``deploy/examples/private_zoo``. A package is imported when a name asks for its source, not before.
"""

import sys
from functools import cache
from importlib import metadata

from nar.base.errors import PluginError
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
