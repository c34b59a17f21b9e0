"""A user's own models: a factory in a Python file, an exported program, ONNX, a config.json.

What a file is decides what is imported to read it: ONNX, TensorFlow Lite and OpenVINO take no
torch.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final, TypeAlias

from nar.base.asking import NOTHING_STATED, Asking
from nar.base.errors import InvalidInputError, UnknownArchitectureError
from nar.base.model_files import (
    CONFIG_FILE,
    EXPORTED,
    FACTORY,
    GGUF,
    HDF5,
    KERAS,
    ONNX,
    OPENVINO,
    TFLITE,
    TORCHSCRIPT,
    WANTED,
    kind_of_file,
    program_text,
)
from nar.base.model_folders import kind_of_json, named_in_file, named_in_folder, read_json
from nar.base.suggestions import close_files
from nar.capture import Capture
from nar.graphs.architecture import UNKNOWN, Labels
from nar.own.construct.arguments import read_arguments
from nar.zoo.libraries import installed
from nar.zoo.spec import ArchitectureSpec

SOURCE = "file"
# Raise it with every change to the labels that configurations state, so that they are read anew.
STATED_LABELS_VERSION: Final = 2

# What captures a file: its module, which is imported when it is needed, and its function.
_Reader: TypeAlias = tuple[str, str]
# Readers of files, by what they are.
_READERS: Final[dict[str, _Reader]] = {
    EXPORTED.what: ("nar.capture.exported", "capture_exported"),
    ONNX.what: ("nar.capture.onnx.file", "capture_onnx"),
    TFLITE.what: ("nar.capture.tflite", "capture_tflite"),
    OPENVINO.what: ("nar.capture.openvino", "capture_openvino"),
    KERAS.what: ("nar.capture.keras", "capture_keras"),
    HDF5.what: ("nar.capture.keras", "capture_keras"),
    GGUF.what: ("nar.zoo.sources.transformers.gguf_file", "capture_gguf"),
}
# Readers of JSON files, by the name of their kind.
_CONFIGURATIONS: Final[dict[str, _Reader]] = {
    "transformers": ("nar.zoo.sources.transformers.config_file", "capture_config_file"),
    "timm": ("nar.zoo.sources.timm", "capture_timm_config"),
    "diffusers": ("nar.zoo.sources.diffusers", "capture_diffusers_config"),
    "open_clip": ("nar.zoo.sources.open_clip", "capture_open_clip_config"),
    "keras": ("nar.capture.keras", "capture_keras"),
}


# Modules whose `labels_of_config` tells the family and the task that a JSON file states, and the
# library that builds it, by the name of its kind.
_STATING: Final[dict[str, tuple[str, str]]] = {
    "transformers": ("nar.zoo.sources.transformers.tasks", "transformers"),
    "timm": ("nar.zoo.sources.timm", "timm"),
    "diffusers": ("nar.zoo.sources.diffusers", "diffusers"),
    "open_clip": ("nar.zoo.sources.open_clip", "open_clip_torch"),
}


def resolve_file(name: str, asking: Asking = NOTHING_STATED) -> ArchitectureSpec:
    """The spec behind the name of a file, which is not read yet.

    Args:
        name: A file, or a factory in one, with arguments or without: ``net.py:make(64)``; or a
            folder, which means the file in it that says what it is.
        asking: What the user states; inputs go before those that a factory's module brings.

    Raises:
        UnknownArchitectureError: There is no such file; the nearest names beside it are given.
        InvalidInputError: The arguments are no values, or inputs are stated for no factory; or it
            is a file of a kind that is not read.
    """
    named = FACTORY.fullmatch(name)
    path = Path(named["path"]) if named else _resolved_path(Path(name))
    if not path.is_file():
        raise UnknownArchitectureError(f"{name}: there is no file {path}{_near(path)}")
    labels = _labels(name, path)
    if named:
        arguments = read_arguments(named["arguments"] or "")
        # It imports torch.
        from nar.own.factories import capture_factory

        run = partial(capture_factory, path, named["factory"], arguments, asking, name=name)
        return _guarded(labels, run, asking)
    if kind_of_file(path) is TORCHSCRIPT:
        if not asking.runs:
            raise InvalidInputError(name, program_text(path, TORCHSCRIPT))
        from nar.own.factories import capture_scripted

        return _guarded(labels, partial(capture_scripted, path, asking, name=name), asking)
    if asking.states_inputs:
        raise InvalidInputError(name, "wanted stated inputs for path/to/file.py:Model only")
    return ArchitectureSpec(labels, partial(_reader(path), path, name=name))


def _guarded(labels: Labels, run: Callable[[], Capture], asking: Asking) -> ArchitectureSpec:
    """The spec of a model whose code is run."""
    from nar.own.guard import guarded_capture

    return ArchitectureSpec(labels, partial(guarded_capture, run, asking.allowed))


def _resolved_path(path: Path) -> Path:
    """The file itself, or the file that a folder means.

    Raises:
        InvalidInputError: The folder means no file of it.
    """
    if not path.is_dir():
        return path
    found = named_in_folder(path)
    if found is not None and Path(found.name).is_file():
        return Path(found.name)
    means = f"it means {found.name}: name that" if found else "came one of anything else"
    reason = f"wanted a folder with a {CONFIG_FILE} or a graph; {means}"
    raise InvalidInputError(str(path), reason)


def _labels(name: str, path: Path) -> Labels:
    """What is known of a user's model before it is read: more where a configuration states it."""
    plain = Labels(name=name, source=SOURCE, library=path.name, family=UNKNOWN, task=UNKNOWN)
    if path.suffix.lower() != ".json":
        return plain
    try:
        content = read_json(path)
    except ValueError:  # its reader says what is wrong
        return plain
    kind = kind_of_json(content)
    if kind is None or kind.name not in _STATING:
        return plain
    module, library = _STATING[kind.name]
    package = installed(library)
    if package is None:
        return plain
    known = replace(plain, library=" ".join(package))
    # A file from outside can be wrong in any way; its reader says what is wrong.
    try:
        family, task = import_module(module).labels_of_config(content)
    except Exception:
        return known
    return replace(known, family=family, task=task)


def _near(path: Path) -> str:
    """The end of the sentence about a file that is not there."""
    near = close_files(path)
    return f"; did you mean {', '.join(near)}?" if near else ""


def _reader(path: Path) -> Callable[..., Capture]:
    """What captures a file that is there.

    Raises:
        InvalidInputError: It is of a kind that is not captured; says which, and the way out.
    """
    named_in_file(path)
    found = kind_of_file(path)
    if path.suffix.lower() == ".json":
        kind = kind_of_json(read_json(path))
        reader = _CONFIGURATIONS.get(kind.name) if kind else None
        what = kind.what if kind else ""
    else:
        reader = _READERS.get(found.what) if found else None
        what = found.what if found else ""
    if reader is None:
        reason = f"it is {what}, from which no graph is captured; wanted {WANTED}"
        raise InvalidInputError(str(path), reason)
    module, function = reader
    capture: Callable[..., Capture] = getattr(import_module(module), function)
    return capture
