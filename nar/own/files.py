"""A user's own models: a factory in a Python file, an exported program, ONNX, a config.json."""

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import torch
from torch import nn

from nar.base.asking import NOTHING_STATED, Asking
from nar.base.errors import CaptureError, InvalidInputError, UnknownArchitectureError
from nar.base.model_files import CONFIG_FILE, EXPORTED, GGUF, ONNX, WANTED, kind_of_file
from nar.base.model_folders import kind_of_json, named_in_file, named_in_folder, read_json
from nar.base.suggestions import close_files
from nar.capture import Capture
from nar.capture.exported import capture_exported
from nar.capture.onnx.file import capture_onnx
from nar.graphs.architecture import UNKNOWN, Labels
from nar.labels.families import family_of
from nar.own.calling import Caller
from nar.own.construct.arguments import Arguments, read_arguments
from nar.own.given import stated_of
from nar.own.guard import guarded_capture
from nar.own.inputs import NoInputsError
from nar.own.making import Made, maker_of, with_findings
from nar.own.user_code import as_at_home
from nar.zoo.building import UninitialisedOnMeta, lightly
from nar.zoo.libraries import installed
from nar.zoo.sources.diffusers import capture_diffusers_config
from nar.zoo.sources.open_clip import capture_open_clip_config
from nar.zoo.sources.timm import capture_timm_config
from nar.zoo.sources.transformers.config_file import capture_config_file
from nar.zoo.sources.transformers.gguf_file import capture_gguf
from nar.zoo.sources.transformers.known_values import known_values
from nar.zoo.spec import ArchitectureSpec

# Ways to make a module that are tried until inputs are found. Chosen: a search for inputs that
# finds none takes ten seconds, and a fourth way is a guess.
_MOST_WAYS: Final = 3
_Surroundings = Callable[[], AbstractContextManager[object]]

_GB = 10**9  # bytes in a gigabyte, for messages
# Two ways to build and call a module without weights: contexts around both, around the building,
# and around the call. The second keeps constants on the meta device too, where no size is too
# large, so their values have to be known from where they are made.
_WITHOUT_WEIGHTS: tuple[tuple[_Surroundings, _Surroundings, _Surroundings], ...] = (
    (nullcontext, lightly, known_values),
    (known_values, UninitialisedOnMeta, nullcontext),
)


def capture_factory(
    path: Path,
    factory: str,
    arguments: Arguments,
    asking: Asking,
    *,
    name: str,
) -> Capture:
    """The graph of a module that a file makes: without weights if that works, else with them.

    The file is run once, its factory again for each way of building the module that fails: without
    weights, without any data, and for real. Real weights may take half of the machine's memory, for
    what the forward makes lies there as well.

    Args:
        path: The file. It may import its neighbours, and lie in a package.
        factory: What makes the module: a function, a class, or the module itself.
        arguments: What the factory is called with.
        asking: What the user states; inputs go before those that the module brings.
        name: Name of the model, for errors.

    Raises:
        UnknownArchitectureError: The file has no such factory.
        CaptureError: The user's code failed or made no module; or no inputs were found that the
            module runs on; or it has to be built with weights, and these are too large.
    """
    with as_at_home(path) as code:
        given = stated_of(asking)
        maker = maker_of(name, code, factory, arguments)
        failure: CaptureError | None = None
        for _ in range(_MOST_WAYS):
            try:
                capture = _attempts(maker.make, Caller(name, given), name)
            except CaptureError as error:
                # That the first way leads nowhere is what its owner has to know.
                failure = failure or error
                if not maker.another():
                    break
            else:
                return with_findings(capture, code.findings)
        assert failure is not None, "each way that did not return failed"
        raise failure


def _attempts(make: Callable[[], Made], caller: Caller, name: str) -> Capture:
    """The first capture of those that a module can be built and called for."""
    module, failure = None, None
    for around, building, calling in _WITHOUT_WEIGHTS:
        try:
            with around():
                with building():
                    module, inputs = make()
                with calling():
                    return caller.capture(module, inputs)
        except NoInputsError:
            raise
        except CaptureError as error:
            failure = failure or error
    if module is not None and failure is not None:
        _check_weights(name, module, failure)
    # Values may decide what runs, so the weights are the same each time.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = make()
    return caller.capture(*made)


def _check_weights(name: str, module: nn.Module, without: CaptureError) -> None:
    """Refuse a module whose weights this machine has no memory for.

    Raises:
        CaptureError: They are too large; the reason also says why they were needed.
    """
    size = sum(weight.numel() * weight.element_size() for weight in module.parameters())
    limit = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if size > limit:
        reason = (
            f"{without.reason}; with real weights it may pass, but those may take "
            f"{limit / _GB:.1f} GB here and take {size / _GB:.1f} GB: make it of smaller layers"
        )
        raise CaptureError(name, without.operator, reason) from without


SOURCE = "file"
_FACTORY: Final = re.compile(r"(?P<path>.*\.py):(?P<factory>\w+)(?P<arguments>\(.*\))?", re.DOTALL)

# Readers of files, by what they are.
_READERS: dict[str, Callable[..., Capture]] = {
    EXPORTED.what: capture_exported,
    ONNX.what: capture_onnx,
    GGUF.what: capture_gguf,
}
# Readers of JSON files, by the name of their kind.
_CONFIGURATIONS: dict[str, Callable[..., Capture]] = {
    "transformers": capture_config_file,
    "timm": capture_timm_config,
    "diffusers": capture_diffusers_config,
    "open_clip": capture_open_clip_config,
}


# Kinds of JSON files -> the key by which they state a family, and the library that says so.
_STATED: Final = {
    "transformers": ("model_type", "transformers"),
    "diffusers": ("_class_name", "diffusers"),
}


def is_file_name(name: str) -> bool:
    """Whether a name means a file or a folder: ``path/to/file.py:Model``, ``config.json``."""
    path = Path(name)
    return bool(_FACTORY.fullmatch(name)) or kind_of_file(path) is not None or path.is_dir()


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
    named = _FACTORY.fullmatch(name)
    path = Path(named["path"]) if named else _meant(Path(name))
    if not path.is_file():
        raise UnknownArchitectureError(f"{name}: there is no file {path}{_near(path)}")
    labels = _labels(name, path)
    if named:
        arguments = read_arguments(named["arguments"] or "")
        capture = partial(capture_factory, path, named["factory"], arguments, asking, name=name)
        return ArchitectureSpec(labels, partial(guarded_capture, capture, asking.allowed))
    if asking.states_inputs:
        raise InvalidInputError(name, "wanted stated inputs for path/to/file.py:Model only")
    return ArchitectureSpec(labels, partial(_reader(path), path, name=name))


def _meant(path: Path) -> Path:
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
    if kind is None or kind.name not in _STATED:
        return plain
    key, library = _STATED[kind.name]
    stated = content.get(key)
    package = installed(library)
    return replace(
        plain,
        library=" ".join(package) if package else path.name,
        family=family_of(library, stated) if isinstance(stated, str) else UNKNOWN,
    )


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
    return reader
