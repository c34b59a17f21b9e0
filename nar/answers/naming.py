"""Naming: what people write for a model becomes its name, and then the architecture itself.

Nothing of torch is imported where a name is known, and a misspelt name is refused in a moment.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nar.answers.recognition import recognise_file
from nar.answers.words import assumed_texts, doubts_texts, unread_texts
from nar.base.asking import NOTHING_STATED, Asking
from nar.base.console import stderr
from nar.base.errors import (
    CorpusError,
    InvalidInputError,
    UnknownArchitectureError,
)
from nar.base.model_files import CONFIG_FILE, LOAD, PYTHON, TORCHSCRIPT, WANTED, kind_of_file
from nar.base.model_folders import Named, named_in_file, named_in_folder, reading_of
from nar.base.own_zoo import Declared, Zoo
from nar.base.suggestions import close_files, close_names
from nar.base.weight_files import hyperparameters
from nar.corpus import Corpus, Location
from nar.graphs.architecture import Architecture, called, place_of_name
from nar.graphs.assumed import Assumed, Unread

if TYPE_CHECKING:
    from nar.zoo.spec import ZooCapture


_HUB: Final = "hf:"
_HUB_NAME: Final = re.compile(r"[\w.-]+(/[\w.-]+)?")
_BARE: Final = "Model@"
_OPENMMLAB: Final = ("mmdet:", "mmseg:", "mmpretrain:")
# Keys of settings whose value is a path of Python: those of Hydra and of Lightning's command line.
_TARGETS: Final = frozenset({"_target_", "class_path"})
# Keys of settings whose value is the name of a model.
_NAMES_MODEL: Final = re.compile(
    r"^(model|arch|architecture|backbone|encoder|net|network)(_name)?$"
)
# Chosen: names in a message; more do not fit into two lines of a terminal.
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """A model that is asked about.

    Attributes:
        architecture: The model.
        assumed: What was assumed to capture it; None where nothing was.
        unread: What capture could not read of it; None where that is nothing.
    """

    architecture: Architecture
    assumed: Assumed | None = None
    unread: Unread | None = None

    @classmethod
    def of(cls, capture: "ZooCapture") -> "Asked":
        """The model of a capture."""
        return cls(capture.architecture, capture.assumed, capture.unread)

    def called(self, declared: Declared) -> "Asked":
        """The same model under the name, and with the labels, that a zoo declares."""
        item, labels = self.architecture, declared.labels
        named = called(item, declared.name, family=labels.family, task=labels.task, own=labels.own)
        return self if declared.is_plain else replace(self, architecture=named)

    def noted(self, found: Named) -> "Asked":
        """The same model with what its file or folder says beside it."""
        if not (found.notes or found.doubts):
            return self
        assumed = self.assumed or Assumed()
        more = replace(
            assumed,
            notes=(*found.notes, *assumed.notes),
            doubts=(*found.doubts, *assumed.doubts),
            is_sure=assumed.is_sure and not found.doubts,
        )
        return replace(self, assumed=more)

    def report_assumed(self) -> None:
        """Say on stderr what was assumed and not read: for commands that have no place for it."""
        name = self.architecture.labels.name
        doubts, assumed = doubts_texts(self.assumed), assumed_texts(self.assumed)
        for text in (*doubts, *unread_texts(self.unread), *assumed):
            stderr.print(f"{name}: {text}", style="dim", soft_wrap=True)


def report_unplaced(zoo: Zoo) -> None:
    """Say on stderr what of a zoo is no model, and why."""
    for path, why in zoo.unplaced.items():
        stderr.print(f"not placed {path}: {why}", style="dim", soft_wrap=True)


def resolve_name(name: str, corpus: Location | None) -> str:
    """As `named`, with its notes on stderr."""
    found = named(name, corpus)
    for note in (*found.doubts, *found.notes):
        stderr.print(note, style="dim", soft_wrap=True)
    return found.name


def named(name: str, corpus: Location | None) -> Named:
    """The name in the corpus, or the path of a file, for what a user wrote.

    A name of the corpus is itself. ``resnet50`` is ``timm:resnet50``, if all models of that name
    are one design, and ``bert-base-uncased`` the model of that checkpoint without a head. A folder
    is the file in it that says what it is, such as a ``config.json``, and ``hf:ORG/NAME`` the
    configuration of a model in the cache of Hugging Face. A name with a source or an ending that is
    not in the corpus is returned as it is, to be captured.

    Args:
        name: What the user wrote.
        corpus: Directory of the corpus; None if there is none.

    Raises:
        UnknownArchitectureError: There is nothing of that name; the nearest are given.
        InvalidInputError: No model can be captured from the file or folder.
        CorpusError: Names what is missing or damaged.
    """
    for _, shard in Corpus(corpus).names({name.partition(":")[0]}) if corpus else ():
        if name in shard:
            return Named(name)
    names = [each for _, shard in Corpus(corpus).names() for each in shard] if corpus else []
    if name.startswith(_HUB):
        return Named(_of_hub(name))
    path = Path(name)
    if path.is_dir():
        return _in_folder(path, corpus)
    if path.is_file():
        return _in_file(path, names, corpus)
    if ":" in name or kind_of_file(path) is not None:
        _warn_of_close(name, names)
        return Named(name)
    return Named(_short(name, names, corpus))


def code_of(name: str) -> Path | None:
    """The folder or the Python file that a name means, if it means all models that this defines.

    A folder with a configuration, a graph or weights means the model of these.

    Raises:
        InvalidInputError: It is a folder of a kind that is not read; says which, and the way out.
    """
    path = Path(name)
    if path.suffix == PYTHON and path.is_file():
        return path
    return path if path.is_dir() and named_in_folder(path) is None else None


def _short(name: str, names: Sequence[str], corpus: Location | None) -> str:
    """The model of the corpus whose name ends with a short name."""
    found = sorted(next((each for each in _called(name, names) if each), []), key=place_of_name)
    # The name of a checkpoint means its model without a head.
    found = [each for each in found if _BARE in each][:1] or found
    if not found:
        near = [*close_files(Path(name)), *close_names(name, names)][:_SHOWN]
        hint = f"did you mean {', '.join(near)}?" if near else "`nar list` prints the known ones."
        raise UnknownArchitectureError(
            f"{name}: neither a known architecture nor a file; {hint} For a model of your own "
            f"name {WANTED}"
        )
    sources = {each.partition(":")[0] for each in found}
    items = Corpus(corpus).graphs(found, sources) if corpus else {}
    if len({item.topology for item in items.values()}) > 1:
        shown = ", ".join(found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise UnknownArchitectureError(f"{name}: that is several designs: {shown}{more}; name one")
    others = f", which is the same design as {', '.join(found[1:_SHOWN])}" if found[1:] else ""
    stderr.print(f"{name} is {found[0]}{others}", style="dim")
    return found[0]


def _called(name: str, names: Sequence[str]) -> Iterator[list[str]]:
    """Names that end with a short name: behind a source, else a checkpoint, else a decoder."""
    for separator in (":", "@", "/"):
        ending = f"{separator}{name}".lower()
        yield [each for each in names if each.lower().endswith(ending)]


def _warn_of_close(name: str, names: Sequence[str]) -> None:
    """Print names close to a name that the corpus lacks, before its library is imported."""
    source = f"{name.partition(':')[0]}:"
    registered = [each for each in names if each.startswith(source)]
    near = close_names(name, registered)
    if near:
        stderr.print(f"{name} is not in the corpus; near: {', '.join(near)}", style="dim")


def _in_folder(path: Path, corpus: Location | None) -> Named:
    found = named_in_folder(path)
    if found is not None:
        return _followed(found, corpus)
    raise InvalidInputError(
        str(path),
        f"wanted a folder with a {CONFIG_FILE}, a graph or weights, or a file; came a folder of "
        "anything else; `nar search FOLDER` asks about each module that its Python files define",
    )


def _in_file(path: Path, names: Sequence[str], corpus: Location | None) -> Named:
    if path.suffix == PYTHON:
        _check_configuration(path, names)
        functions = _functions(path)
        shown = ", ".join(f"{path}:{each}" for each in functions[:_SHOWN])
        there = f"it has {shown}" if functions else "it defines none"
        reason = f"wanted a class of modules in it, or a function that makes one: {path}:NAME"
        raise InvalidInputError(str(path), f"{reason}; {there}")
    return _followed(named_in_file(path), corpus)


def _followed(found: Named, corpus: Location | None) -> Named:
    """What a folder or file means: itself, or another model, which a corpus or the hub has."""
    path = Path(found.name)
    if path.exists():
        return _recognised(path, found, corpus) if reading_of(path) == "weights" else found
    try:
        base = Named(_of_hub(f"{_HUB}{found.name}"))
    except (InvalidInputError, UnknownArchitectureError):
        base = named(found.name.rpartition("/")[2], corpus)
    return Named(base.name, (*found.notes, *base.notes), base.doubts)


def _recognised(path: Path, found: Named, corpus: Location | None) -> Named:
    """The architecture whose weights are in a file, else that which its hyperparameters name.

    Raises:
        InvalidInputError: They are of no known architecture as a whole; the nearest is named.
    """
    recognised = recognise_file(path)
    models = [name for match in recognised.matches[:1] for name in match.models[: match.own]]
    name = min(models, key=place_of_name, default="")
    text = recognised.text(name)
    if recognised.relation == "same":
        return Named(name, (*found.notes, f"{path} is recognised by its {text}."))
    if recognised.relation in {"head", "part"}:
        return Named(name, found.notes, (f"{path} has {text}; the answer is about {name}",))
    for setting, stated in _stated_models(path, corpus):
        doubt = f"{path} has {text}; the answer is about {stated}, as its hyperparameters say that "
        return Named(stated, found.notes, (f"{doubt}{setting}",))
    raise InvalidInputError(str(path), f"it has {text}; {LOAD}, to ask about its graph")


def _stated_models(path: Path, corpus: Location | None) -> Iterator[tuple[str, str]]:
    """Settings of a checkpoint that name a known model: ``net.arch is resnet18``, and its name.

    A setting names a model by its key, ``arch``, or by its value, a path of Python such as
    ``torchvision.models.resnet18``.
    """
    stated = hyperparameters(path) if corpus is not None else {}
    if corpus is None or not stated:
        return
    names = [each for _, shard in Corpus(corpus).names() for each in shard]
    for key, value in stated.items():
        source, _, model = value.partition(".")
        if key.rpartition(".")[2] in _TARGETS and model:
            written = f"{source}:{model.rpartition('.')[2]}"
        elif _NAMES_MODEL.search(key.rpartition(".")[2]):
            written = value
        else:
            continue
        try:
            yield f"{key} is {value}", _known(written, names, corpus)
        except UnknownArchitectureError:
            continue


def _known(name: str, names: Sequence[str], corpus: Location) -> str:
    """The model of the corpus of a name with or without its source.

    Raises:
        UnknownArchitectureError: There is none, or they are several designs.
    """
    return name if name in names else _short(name, names, corpus)


def _check_configuration(path: Path, names: Sequence[str]) -> None:
    """Refuse a configuration of OpenMMLab, a Python file that says ``model = dict(type=...)``.

    Raises:
        InvalidInputError: It is one; models of its class that are known are given.
    """
    kind = next(filter(None, map(_configured_class, _statements(path))), None)
    if kind is None:
        return
    wanted = kind.lower()
    alike = [name for name in names if wanted in re.sub("[-_]", "", name.lower())]
    known = [name for name in alike if name.startswith(_OPENMMLAB)]
    such = f"name a known configuration, such as {', '.join(known[:_SHOWN])}, or " if known else ""
    reason = (
        f"it is a configuration of OpenMMLab, of the class {kind}, which would be run to be read; "
        f"{such}a function that builds it: path/to/file{PYTHON}:NAME"
    )
    raise InvalidInputError(str(path), reason)


def _configured_class(statement: ast.stmt) -> str | None:
    """The class of ``model = dict(type="Class", ...)``; None for any other statement."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id="model")],
            value=ast.Call(func=ast.Name(id="dict"), keywords=settings),
        ):
            types = [each.value for each in settings if each.arg == "type"]
            return next((str(each.value) for each in types if isinstance(each, ast.Constant)), None)
    return None


def _functions(path: Path) -> list[str]:
    """What a Python file defines at its top, without running it."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = (each for each in _statements(path) if isinstance(each, kinds))
    return [each.name for each in found if each.name[0] != "_"]


def _statements(path: Path) -> list[ast.stmt]:
    """The statements of a Python file; none where it does not parse."""
    try:
        return ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError):
        return []


def _of_hub(name: str) -> str:
    """The cached ``config.json`` of a model of Hugging Face; nothing is downloaded."""
    repository = name.removeprefix(_HUB)
    if not _HUB_NAME.fullmatch(repository):
        raise InvalidInputError(name, "wanted hf:ORG/NAME, such as hf:google-bert/bert-base-cased")
    # Imported here: other names do not need the library of the hub.
    from huggingface_hub import constants, try_to_load_from_cache

    cached = try_to_load_from_cache(repository, CONFIG_FILE)
    if isinstance(cached, str):
        return cached
    raise UnknownArchitectureError(
        f"{name}: no {CONFIG_FILE} of it in {constants.HF_HUB_CACHE}, and nothing is downloaded "
        f"here; fetch it with `hf download {repository} {CONFIG_FILE}`, or name a {CONFIG_FILE} of "
        "your own"
    )


def captured(name: str, asking: Asking = NOTHING_STATED) -> "ZooCapture":
    """Capture one model, with a note on stderr meanwhile.

    Args:
        name: Name of the model with its source, or path of its file.
        asking: What the user states of a model of their own.

    Raises:
        CaptureError: The model could not be captured.
    """
    # The libraries that build and capture models take seconds to import.
    from nar.own import capture_architecture

    with stderr.status(f"capturing {name}"):
        return capture_architecture(name, asking)


def known_or_captured(
    corpus: Location | None,
    written: str,
    *,
    fresh: bool = False,
    asking: Asking = NOTHING_STATED,
    with_details: bool = False,
) -> Asked:
    """A model from the corpus, or captured where the corpus lacks it or cannot be read.

    Args:
        corpus: Where it may be; None if there is no corpus.
        written: What the user wrote for it.
        fresh: Whether to capture it even if the corpus has it.
        asking: What the user states of a model of their own.
        with_details: Whether the corpus is asked for details, too.

    Raises:
        UnknownArchitectureError: There is nothing of that name; the nearest are given.
        CaptureError: The model could not be captured.
    """
    reads = None if fresh else corpus
    try:
        known = _in_corpus(reads, written, with_details=with_details)
        found = Named(written) if known else named(written, corpus)
        check_stated([found.name], asking)
        if found.name != written:
            known = _in_corpus(reads, found.name, with_details=with_details)
    except CorpusError:
        found, known = Named(written), None
    return (known or Asked.of(captured(found.name, asking))).noted(found)


def each_known_or_captured(
    corpus: Location | None, written: Iterable[str], asking: Asking = NOTHING_STATED
) -> Iterator[Asked]:
    """Several models; in contrast to `known_or_captured`, a damaged corpus is an error.

    Args:
        corpus: Where they may be; None if there is no corpus.
        written: What the user wrote for them.
        asking: What the user states of models of their own.

    Raises:
        CorpusError: The corpus is missing or damaged.
        InvalidInputError: Inputs are stated, and no model is of a Python file.
        CaptureError: A model could not be captured.
    """
    found = [named(each, corpus) for each in written]
    check_stated([each.name for each in found], asking)
    for each in found:
        known = _in_corpus(corpus, each.name)
        asked = known or Asked.of(captured(each.name, stated_for(each.name, asking)))
        yield asked.noted(each)


def stated_for(name: str, asking: Asking) -> Asking:
    """What is stated of a model: inputs are for Python files alone, as others bring their own.

    Example:
        >>> stated_for("timm:resnet50", Asking(("1x3x64x64",))).inputs
        ()
    """
    return asking if is_code(name) else replace(asking, inputs=(), example=None)


def check_stated(names: Iterable[str], asking: Asking) -> None:
    """Refuse inputs that are stated of no model.

    Raises:
        InvalidInputError: None of the names is of a Python file.
    """
    if asking.inputs and not any(map(is_code, names)):
        wanted = f"wanted path/to/file{PYTHON}:Model, or {TORCHSCRIPT.what}, to state inputs of"
        raise InvalidInputError("--input", wanted)


def is_code(name: str) -> bool:
    """Whether a name means a program that is run: a class in a Python file, or TorchScript."""
    return f"{PYTHON}:" in name or kind_of_file(Path(name)) is TORCHSCRIPT


def _in_corpus(corpus: Location | None, name: str, *, with_details: bool = False) -> Asked | None:
    if corpus is None:
        return None
    sources = {name.partition(":")[0]}
    found = Corpus(corpus).graphs([name], sources, with_details=with_details).get(name)
    return None if found is None else Asked(found)
