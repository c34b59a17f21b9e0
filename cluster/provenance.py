"""Identities of captures: declared versions, and the content of a user's files.

Versions of the libraries, of the capture code (`nar.capture.CAPTURE_VERSION`) and of the source's
record (`Source.capture_version`) decide a captured graph. While they are unchanged, a capture stays
valid, wherever the code has moved. Each source has an identity of its own, so that a new source, or
another version of one library, leaves all other captures as they are.

A user's model is decided by more: its file and whatever of the user's own that imports, which is
told from the text of the files; the packages that these import; and other files that were opened
while it was captured, which `cluster.capture_worker` notes.
"""

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from importlib.machinery import PathFinder
from itertools import chain
from pathlib import Path
from typing import Final

from nar.base.asking import NOTHING_STATED, Asking
from nar.base.model_files import (
    GGUF,
    HDF5,
    KERAS,
    ONNX,
    OPENVINO,
    PYTHON,
    TFLITE,
    TORCHSCRIPT,
    kind_of_file,
)
from nar.base.model_folders import kind_of_json, named_in_folder, read_json
from nar.base.workspace import DISTRIBUTION, package_path
from nar.capture import CAPTURE_VERSION
from nar.corpus import SCHEMA_VERSION
from nar.graphs.normal_form import NORMAL_FORM_VERSION
from nar.own.construct.root import import_folders, repository_root
from nar.own.files import SOURCE as FILE
from nar.own.files import STATED_LABELS_VERSION
from nar.own.user_code import place_of_import
from nar.zoo.sources import package_of, source_of

from .ledger import digest, file_digest

# Chosen: as many files of a repository as capture reads; what a factory imports has hundreds at
# most.
_MOST_FILES: Final = 700
# Chosen: a larger file is weights or data, and is not read whole at every run.
_READ_BYTES: Final = 64 * 2**20
# Folders of installed packages, whose versions count in place of their files.
INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
# The libraries that build what a file says, by the kind of the file.
_LIBRARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "transformers": ("transformers",),
    "timm": ("timm",),
    "diffusers": ("diffusers",),
    "open_clip": ("open_clip", "timm", "transformers"),
    GGUF.what: ("transformers",),
    ONNX.what: ("onnx",),
    # They are read as models of ONNX.
    TFLITE.what: ("onnx",),
    OPENVINO.what: ("onnx",),
    KERAS.what: ("onnx",),
    HDF5.what: ("onnx", "h5py"),
    "keras": ("onnx",),
}


def source_name(spec: str) -> str:
    """The name of a spec's source; the source of every file is ``file``."""
    source = source_of(spec)
    return FILE if source is None else source.name


def stated_for(spec: str, asking: Asking) -> Asking:
    """What is stated of a model: of a user's own file alone, as libraries bring their inputs."""
    return asking if source_of(spec) is None else NOTHING_STATED


def identity(spec: str, asking: Asking = NOTHING_STATED) -> str:
    """Digest of everything that decides the capture of a model and is known before it.

    Args:
        spec: The model.
        asking: What the user states of models of their own.
    """
    return identity_of(ingredients(spec, asking))


def identity_of(parts: Mapping[str, str]) -> str:
    """Digest of ingredients."""
    return digest(*parts.values())


def ingredients(spec: str, asking: Asking = NOTHING_STATED) -> dict[str, str]:
    """What decides the capture of a model, each by what a person calls it.

    Args:
        spec: The model.
        asking: What the user states of models of their own.
    """
    source = source_of(spec)
    common = {
        "the capture code of NAR": f"capture {CAPTURE_VERSION}",
        "the columns of a corpus": f"schema {SCHEMA_VERSION}",
    }
    if source is not None:
        own = {f"the source {source.name}": f"{source.name} {source.capture_version}"}
        libraries = _libraries(source.name)
    else:
        own, libraries = _of_file(spec, asking)
    installed = _versions(("torch", *libraries))
    return common | own | {name: f"{name} {version}" for name, version in installed.items()}


def state_of(path: Path) -> str:
    """What a file is like now: the digest of its bytes; of a large file its size and time.

    Empty where there is no such file.
    """
    if not path.is_file():
        return ""
    known = path.stat()
    if known.st_size > _READ_BYTES:
        return f"{known.st_size} bytes of {known.st_mtime_ns}"
    return file_digest(path)


def changed_files(read: Mapping[str, str], now: dict[str, str]) -> list[str]:
    """The files that are not as they were when a capture opened them.

    Args:
        read: The state of each file then.
        now: The states of files that were looked at before; gets those that are looked at here.
    """
    for file in read.keys() - now.keys():
        now[file] = state_of(Path(file))
    return [file for file, state in read.items() if now[file] != state]


def _of_file(spec: str, asking: Asking) -> tuple[dict[str, str], tuple[str, ...]]:
    """The ingredients of a user's model, and the libraries whose versions are ingredients, too."""
    path = _file_of(spec)
    stated = [] if asking == NOTHING_STATED else [*asking.inputs, *sorted(asking.allowed)]
    own = {str(path): " ".join([FILE, file_digest(path)])}
    if asking.runs and kind_of_file(path) is TORCHSCRIPT:
        stated.append("run")
    if stated:
        own["what is stated of it"] = " ".join(stated)
    if path.suffix.lower() == ".json":
        own["how labels are read from a configuration"] = f"labels {STATED_LABELS_VERSION}"
    if kind_of_file(path) is OPENVINO:
        # Without the numbers beside it, a net is read by its shapes.
        beside = path.with_suffix(".bin")
        own[str(beside)] = f"{beside.name} {state_of(beside) or 'is not there'}"
    if path.suffix != PYTHON:
        return own, _libraries_of_kind(path)
    imported = imported_by(path)
    others = {each: file_digest(path.parent / each) for each in imported.files}
    return own | {each: f"{each} {code}" for each, code in others.items()}, imported.packages


def _file_of(spec: str) -> Path:
    path = spec.partition(f"{PYTHON}:")[0] + PYTHON if f"{PYTHON}:" in spec else spec
    if Path(path).is_dir():
        found = named_in_folder(Path(path))
        return Path(found.name) if found else Path(path)
    return Path(path)


def kind_of_spec(spec: str) -> str:
    """What kind of file a spec names, with its article; empty for a model of a source."""
    if source_of(spec) is not None:
        return ""
    path = _file_of(spec)
    if path.suffix == PYTHON:
        return "a factory of a Python file"
    found = kind_of_file(path)
    return found.what if found else ""


def _libraries_of_kind(path: Path) -> tuple[str, ...]:
    found = kind_of_file(path) if path.is_file() else None
    if path.suffix.lower() != ".json":
        return _LIBRARIES.get(found.what, ()) if found else ()
    try:
        kind = kind_of_json(read_json(path))
    except (OSError, ValueError):  # its capture says what is wrong
        return ()
    return _LIBRARIES.get(kind.name, ()) if kind else ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What a Python file imports, directly and through others.

    Attributes:
        files: The user's own files, as paths from the folder of the file, sorted.
        packages: Import names of installed packages, sorted.
    """

    files: tuple[str, ...]
    packages: tuple[str, ...]


def imported_by(path: Path) -> Imported:
    """What running a file imports, told from the text of it and of its user's other files.

    Imports within functions count, since a factory may reach them; nothing is run.
    """
    whole = path.resolve()
    roots = [
        place_of_import(path)[0],
        whole.parent,
        *map(Path, import_folders(repository_root(path), path)),
    ]
    files, packages, waiting = {whole: None}, set[str](), [whole]
    while waiting and len(files) < _MOST_FILES:
        here = waiting.pop()
        for wanted in _imports(here):
            found = list(_own_files(wanted, here, roots))
            new = [each for each in found if each not in files]
            files.update(dict.fromkeys(new))
            waiting += new
            if not found and not wanted.level:
                packages.add(wanted.parts[0])
    beside = sorted(os.path.relpath(each, whole.parent) for each in files if each != whole)
    return Imported(tuple(beside), tuple(sorted(filter(_is_package, packages))))


@dataclass(frozen=True, slots=True)
class _Import:
    """One import: ``from ..a import b`` has level 2, the parts ``a``, and may mean ``b`` too."""

    level: int
    parts: tuple[str, ...]
    names: tuple[str, ...] = ()


def _imports(path: Path) -> tuple[_Import, ...]:
    try:
        return _imports_in(path.read_bytes())
    except OSError:
        return ()


@lru_cache(maxsize=4_096)  # Chosen: the files of a large zoo, each a few records.
def _imports_in(text: bytes) -> tuple[_Import, ...]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # running the file reports it
        return ()
    found: list[_Import] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [_Import(0, tuple(each.name.split("."))) for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = tuple(node.module.split(".")) if node.module else ()
            found.append(_Import(node.level, parts, tuple(each.name for each in node.names)))
    return tuple(found)


def _own_files(wanted: _Import, here: Path, roots: Iterable[Path]) -> Iterator[Path]:
    """The user's files that an import runs: modules, and the packages that they lie in."""
    starts = [here.parents[wanted.level - 1]] if wanted.level else roots
    for start in starts:
        found = list(_below(start, wanted))
        if found:
            yield from found
            return


def _below(start: Path, wanted: _Import) -> Iterator[Path]:
    folder = start
    for part in wanted.parts:
        yield from _module(folder, part)
        folder /= part
    if folder != start or wanted.level:
        for name in wanted.names:
            yield from _module(folder, name)


def _module(folder: Path, name: str) -> Iterator[Path]:
    for path in (folder / name / "__init__.py", folder / f"{name}{PYTHON}"):
        if path.is_file() and not INSTALLED.intersection(path.parts):
            yield path.resolve()
            return


@cache
def _is_package(name: str) -> bool:
    """Whether a name is that of an installed package, and no part of Python."""
    try:
        return name not in sys.stdlib_module_names and PathFinder.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


@cache
def labels_identity() -> str:
    """Digest of the reviewed table from which families are read."""
    return digest(file_digest(package_path("labels", "families.yaml")))


@cache
def files_identity() -> str:
    """Digest of everything that decides the bytes of a shard, but its rows."""
    return digest(
        f"schema {SCHEMA_VERSION}",
        f"normal form {NORMAL_FORM_VERSION}",
        f"pyarrow {metadata.version('pyarrow')}",
    )


def packages(sources: Iterable[str]) -> dict[str, str]:
    """Version of each distribution that makes the models of some sources, NAR included."""
    return _versions((DISTRIBUTION, "torch", *chain.from_iterable(map(_libraries, sources))))


def _libraries(source: str) -> tuple[str, ...]:
    """Import names of the libraries that a source's models are built from."""
    record = source_of(source)
    return () if record is None else tuple(filter(None, (record.library, *record.parts)))


def _versions(libraries: Iterable[str]) -> dict[str, str]:
    """Version of each installed distribution that has any of the libraries."""
    installed = map(package_of, libraries)
    return dict(sorted(package for package in installed if package is not None))
