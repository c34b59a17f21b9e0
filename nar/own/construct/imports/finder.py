"""Imports that nothing else finds: a repository's own folders, generated files, stand-ins."""

import ast
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from itertools import takewhile
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final

from nar.capture.forward.dispatch import is_own_code
from nar.own.construct.evidence.repository import Repository
from nar.own.construct.evidence.settings import StatedSettings
from nar.own.construct.findings import Findings
from nar.own.construct.imports.removed_names import REMOVED_MODULES
from nar.own.construct.imports.same_layers import SAME_LAYERS
from nar.own.construct.imports.stand_ins import StandIn

_LOADERS: Final = str(Path(__file__).parent)
_NAR: Final = f"{Path(__file__).parents[3]}{os.sep}"
_COMPILING = re.compile(r"Extension|cythonize|pybind11")
_VERSION_FILE = re.compile(r"(^|[._])_?version$")
_IMPORT_ERRORS = re.compile(r"ImportError|ModuleNotFoundError|Exception|BaseException")
# What a stand-in's package says of itself; libraries compare versions.
_VERSION = "0.0.0"
_VERSION_NAMES = {
    "__version__": _VERSION,
    "version": _VERSION,
    "short_version": _VERSION,
    "__gitsha__": "unknown",
    "git_version": "unknown",
    "version_info": (0, 0, 0),
    "cuda": None,
}


@contextmanager
def stand_ins_for_missing(repository: Repository, findings: Findings) -> Iterator["MissingFinder"]:
    """Inside, files of a repository can import what is not installed; afterwards it is gone."""
    finder = MissingFinder(repository, findings)
    sys.meta_path.append(finder)
    sys.meta_path.insert(0, finder.failing)
    try:
        yield finder
    finally:
        sys.meta_path.remove(finder)
        sys.meta_path.remove(finder.failing)
        for name in finder.made:
            sys.modules.pop(name, None)
        for module, name in finder.added:
            module.__dict__.pop(name, None)


class MissingFinder(MetaPathFinder):
    """Last on ``sys.meta_path``: answers only what a file of the repository asks for.

    An import that is tried, in a ``try`` that catches its failure or through ``find_spec``, fails
    as its writer expects.

    Attributes:
        made: Names of the modules that it made.
        added: Names that modules of libraries were given.
        findings: Where it records what was asked for.
        ignores_tries: Stand-ins are given for imports that are tried as well.
        failing: The files of the repository that fail when they are run whole.
    """

    def __init__(self, repository: Repository, findings: Findings) -> None:
        self.made: set[str] = set()
        self.added: list[tuple[ModuleType, str]] = []
        self.ignores_tries = False
        self.failing = FailingFiles()
        self._repository = repository
        self.findings = findings

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for what nothing before found; None where the import has to fail."""
        if fullname in REMOVED_MODULES:
            return ModuleSpec(fullname, _RemovedModule(self))
        frames = list(_frames_of_import())
        if not frames:
            return None
        asking = Path(frames[0].f_code.co_filename)
        top = fullname.partition(".")[0]
        if top in self._stand_in_packages:
            return self._stand_in(fullname)
        if not self._is_own(asking):
            return None
        if self._is_of_repository(top):
            return self._generated(fullname)
        holder = self._folder_with(top, asking)
        if holder is not None:
            sys.path.append(str(holder))
            return PathFinder.find_spec(fullname, [str(holder)])
        if not self.ignores_tries and self._is_tried(frames):
            return None
        if top in sys.stdlib_module_names:
            return None
        if PathFinder.find_spec(top) is None:
            return self._stand_in(fullname)
        return self._removed(fullname) if top in sys.modules and fullname != top else None

    def is_beside(self, path: Path) -> bool:
        """Whether a file is one of the repository's own, and not the file that is asked about."""
        return path != self._repository.path and self._is_below(path)

    def tree(self, path: Path) -> ast.Module:
        """The syntax tree of a file of the repository."""
        return self._repository.tree(path)

    def note_removed(self, name: str, words: str) -> None:
        """Record a module of a library that is gone."""
        self.made.add(name)
        self.findings.stand_in(f"{name} (removed from the library: {words})")

    def note_version(self, name: str) -> None:
        """Record a file of versions that no clone has."""
        self.made.add(name)
        self.findings.stand_in(
            f"{name} (no file of this clone, setup.py writes it: version {_VERSION})"
        )

    def reason_of(self, package: str) -> str:
        """Why a package is not there, and the way out."""
        if self._is_built_by_setup(package):
            return "it is compiled by setup.py of this repository: install the repository"
        if package in sys.modules and not isinstance(sys.modules[package], StandInPackage):
            return f"the installed {package} has none: install the version that the code is for"
        return f"pip install {package}, or give a stand-in"

    def attribute(self, module: str, name: str) -> Any:  # noqa: ANN401
        """What a stand-in's module has under a name."""
        full = f"{module}.{name}"
        if full in SAME_LAYERS:
            same = SAME_LAYERS[full]
            what = (
                "a mapping of its names"
                if same is StatedSettings
                else "the layer of the same parameters"
            )
            self.findings.stand_in(f"{full} (not installed: {what})")
            return same
        if any(each.startswith(f"{full}.") for each in SAME_LAYERS):
            return importlib.import_module(full)
        return StandIn(full, self.findings, self.reason_of(module.partition(".")[0]))

    def _generated(self, name: str) -> ModuleSpec | None:
        """A spec for a module of the repository that its ``setup.py`` writes or compiles."""
        if _VERSION_FILE.search(name):
            return ModuleSpec(name, _VersionModule(self))
        above, _, last = name.rpartition(".")
        if above in self.made or self._is_built_by_setup(last):
            self.findings.stand_in(f"{name} (compiled by setup.py: a stand-in)")
            self.made.add(name)
            return ModuleSpec(name, _StandInModule(self), is_package=True)
        return None

    def _removed(self, name: str) -> ModuleSpec:
        """A spec for a module that an installed library has no more, or not yet."""
        self.made.add(name)
        self.findings.stand_in(
            f"{name} (not in the installed {name.partition('.')[0]}: a stand-in)"
        )
        return ModuleSpec(name, _StandInModule(self), is_package=True)

    def _stand_in(self, name: str) -> ModuleSpec:
        package = name.partition(".")[0]
        self.made.add(name)
        if package == name:
            self.findings.stand_in(f"{package} (not installed: a stand-in that computes nothing)")
        return ModuleSpec(name, _StandInModule(self), is_package=True)

    @property
    def _stand_in_packages(self) -> set[str]:
        tops = {name for name in self.made if "." not in name}
        return {name for name in tops if isinstance(sys.modules.get(name), StandInPackage)}

    def _is_own(self, path: Path) -> bool:
        return self._is_below(path) or is_own_code(str(path))

    def _is_below(self, path: Path) -> bool:
        return path.is_relative_to(self._repository.root) and "site-packages" not in path.parts

    def _is_of_repository(self, top: str) -> bool:
        module = sys.modules.get(top)
        if module is None:
            return False
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        return any(place is not None and self._is_own(Path(place)) for place in places)

    def _folder_with(self, top: str, asking: Path) -> Path | None:
        """The folder to put on the path for a module or package of the repository itself."""
        for folder in (asking.parent, *asking.parents):
            is_inside = folder.is_relative_to(self._repository.root)
            if not is_inside and folder != asking.parent:
                break
            file = folder / f"{top}.py"
            # A file that imports its own name means the installed package of that name.
            if (file.is_file() and file != asking) or any((folder / top).rglob("*.py")):
                return folder
        files = [file for file in self._repository.python_files if file != asking]
        packages = {f.parent.parent for f in files if f.name == "__init__.py"} & {
            f.parent.parent for f in files if f.parent.name == top
        }
        holders = packages or {f.parent for f in files if f.stem == top}
        return holders.pop() if len(holders) == 1 else None

    def _is_tried(self, frames: list[FrameType]) -> bool:
        # Whoever asks NAR may expect it to fail, which says nothing of a repository's imports.
        asked = list(takewhile(lambda frame: not _is_of_nar(frame), frames))
        own = [frame for frame in asked if self._is_own(Path(frame.f_code.co_filename))]
        return any(
            _catches_import(self._repository.tree(Path(frame.f_code.co_filename)), frame.f_lineno)
            for frame in own
        )

    def _is_built_by_setup(self, name: str) -> bool:
        """Whether some ``setup.py`` of the repository compiles a module of that name."""
        for path in self._repository.python_files:
            if path.name == "setup.py":
                text = self._repository.text(path)
                if _COMPILING.search(text) and re.search(rf"\b{re.escape(name)}\b", text):
                    return True
        return False


class FailingFiles(MetaPathFinder):
    """First on ``sys.meta_path``: gives files that fail when they are run whole another loader."""

    def __init__(self) -> None:
        self._loaders: dict[str, Callable[[Path], Loader]] = {}

    def add(self, name: str, loader: Callable[[Path], Loader]) -> bool:
        """Load the module of a name by another loader; False where it is so already.

        Args:
            name: Of the module.
            loader: Makes it, of the module's file.
        """
        is_new = name not in self._loaders
        self._loaders[name] = loader
        return is_new

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec with the other loader; None for every other module."""
        if fullname not in self._loaders:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = self._loaders[fullname](Path(spec.origin))
        return spec


class StandInPackage(ModuleType):
    """A module of a package that is not installed: it has every name that is no dunder."""

    finder: MissingFinder

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name == "__version__":
            return _VERSION
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self.__dict__["_finder"].attribute(self.__name__, name)


class _StandInModule(Loader):
    """Makes the module of a package that is not installed."""

    def __init__(self, finder: MissingFinder) -> None:
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = StandInPackage(spec.name)
        module.__dict__["_finder"] = self._finder
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing."""


class _VersionModule(Loader):
    """Makes the module that a ``setup.py`` writes with the version in it."""

    def __init__(self, finder: MissingFinder) -> None:
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(_VERSION_NAMES)
        self._finder.note_version(module.__name__)


class _RemovedModule(Loader):
    """Makes a module that a library had in earlier versions."""

    def __init__(self, finder: MissingFinder) -> None:
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        fill, words = REMOVED_MODULES[module.__name__]
        fill(module)
        self._finder.note_removed(module.__name__, words)


def _frames_of_import() -> Iterator[FrameType]:
    """The frames above the import that is going on; none where ``find_spec`` only asks."""
    frame: FrameType | None = sys._getframe(1)
    is_asking = True
    while frame is not None:
        name = frame.f_code.co_filename
        is_machinery = (
            name.startswith("<frozen importlib")
            or name == __file__
            or name.endswith("importlib/__init__.py")
        )
        if is_asking and ("importlib.util" in name or name.endswith("importlib/util.py")):
            return
        if not is_machinery:
            is_asking = False
            yield frame
        frame = frame.f_back


def _is_of_nar(frame: FrameType) -> bool:
    """Whether a frame is NAR's, but for the loaders that stand between two files of a user."""
    name = frame.f_code.co_filename
    return name.startswith(_NAR) and not name.startswith(_LOADERS)


def _catches_import(tree: ast.Module, line: int) -> bool:
    """Whether a line stands in the body of a ``try`` that catches that something is missing."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Try):
            continue
        end = node.body[-1].end_lineno or node.body[-1].lineno
        if node.body[0].lineno <= line <= end:
            caught = (ast.unparse(h.type) if h.type else "Exception" for h in node.handlers)
            if any(map(_IMPORT_ERRORS.search, caught)):
                return True
    return False
