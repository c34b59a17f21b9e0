"""Functions of libraries replaced while a user's code runs, also where the code imports them.

A replacement may outlive its time, where a module binds it by ``from library import function``. So
each looks whether it is still its time, and otherwise is the function that it replaced.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# From the function that is replaced to the function that takes its place.
Replacement = Callable[[Callable[..., Any]], Callable[..., Any]]
# Module -> dotted name in it -> what replaces that.
Patches = Mapping[str, Mapping[str, Replacement]]


@dataclass(slots=True)
class _Switch:
    """Whether replacements act, and what there is to put back."""

    is_on: bool = True
    undo: list[Callable[[], None]] = field(default_factory=list)


@contextmanager
def patched(patches: Patches) -> Iterator[None]:
    """Inside, functions are replaced: at once in modules that are there, else on their import."""
    switch = _Switch()
    finder = _Watching(patches, switch)
    for name in patches.keys() & sys.modules.keys():
        _patch(sys.modules[name], patches[name], switch)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        switch.is_on = False
        sys.meta_path.remove(finder)
        for put_back in reversed(switch.undo):
            put_back()


def _patch(module: ModuleType, replacements: Mapping[str, Replacement], switch: _Switch) -> None:
    for dotted, replacement in replacements.items():
        holder: Any = module
        *above, name = dotted.split(".")
        for part in above:
            holder = getattr(holder, part, None)
        if holder is None or not hasattr(holder, name):
            continue
        own = vars(holder).get(name)
        # A class method is replaced by one: which class it is called on is its first argument.
        is_of_class = isinstance(own, classmethod)
        real = own.__func__ if is_of_class else getattr(holder, name)
        stands = _switched(real, replacement(real), switch)
        setattr(holder, name, classmethod(stands) if is_of_class else stands)
        switch.undo.append(_putting_back(holder, name, own))


def _switched(
    real: Callable[..., Any], stands: Callable[..., Any], switch: _Switch
) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return (stands if switch.is_on else real)(*args, **kwargs)

    call.__name__ = getattr(real, "__name__", "call")
    return call


def _putting_back(holder: Any, name: str, own: object) -> Callable[[], None]:  # noqa: ANN401
    def put_back() -> None:
        if own is None:
            delattr(holder, name)
        else:
            setattr(holder, name, own)

    return put_back


class _Watching(MetaPathFinder):
    """First on ``sys.meta_path``: lets the others find a module, and patches it once it has run."""

    def __init__(self, patches: Patches, switch: _Switch) -> None:
        self._patches = patches
        self._switch = switch

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that Python's own finder gives, with a loader that patches."""
        if fullname not in self._patches:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Patching(spec.loader, self._patches[fullname], self._switch)
        return spec


class _Patching(Loader):
    """Runs a module as its own loader does, then replaces functions in it."""

    def __init__(
        self, loader: Loader, replacements: Mapping[str, Replacement], switch: _Switch
    ) -> None:
        self._loader = loader
        self._replacements = replacements
        self._switch = switch

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if self._switch.is_on:
            _patch(module, self._replacements, self._switch)
