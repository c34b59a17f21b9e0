"""A zoo of one's own: the models of a folder, declared in ``nar.zoo.yaml`` or found by a walk.

Every command that takes many models reads them here, so a folder is a model everywhere or nowhere.
A name stays the same where the zoo moves: it is declared, or is a path within the zoo. Nothing here
runs or imports anything of a model.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from nar.base.errors import ConfigError, InvalidInputError
from nar.base.model_files import PYTHON, file_text, kind_of_file
from nar.base.model_folders import kind_of_json, named_in_folder, read_json
from nar.base.own_labels import written

ZOO_FILE: Final = "nar.zoo.yaml"
# Beside it, so that an editor finds it without a network.
SCHEMA_FILE: Final = "nar.zoo.schema.json"
# Folders that hold no models.
_LEFT_OUT: Final = re.compile(r"^(\..*|__pycache__|node_modules|site-packages|venv|.*\.egg-info)$")
# Kinds of JSON files of which a graph is captured, by the name of their kind.
_CONFIGURATIONS: Final = frozenset({"transformers", "timm", "diffusers", "open_clip"})
_WEIGHTS: Final = "they are weights without a graph, which `nar search` recognises at most"
_CODE: Final = "code is run only where a factory is named: FILE.py:NAME in nar.zoo.yaml"

Text = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Name = Annotated[str, StringConstraints(pattern=r"^[^\s/:\x00-\x1f][^:\x00-\x1f]{0,511}$")]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


class ZooLabels(_Row):
    """What is known of models: family, task, and labels of the user's own by any key."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        json_schema_extra={"additionalProperties": {"type": ["string", "number", "boolean"]}},
    )

    family: Text | None = None
    task: Text | None = None

    @model_validator(mode="after")
    def _are_labels(self) -> Self:
        try:
            written(self.model_extra or {})
        except InvalidInputError as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def own(self) -> str:
        """The labels of the user's own, as `nar.base.own_labels` writes them."""
        return written(self.model_extra or {})

    def over(self, others: "ZooLabels") -> "ZooLabels":
        """These labels, and those of others where these say nothing."""
        both = others.model_dump() | self.model_dump(exclude_none=True)
        try:
            return ZooLabels(**both)
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise ConfigError(f"labels of a model and of its zoo together: {reason}") from None


NO_LABELS: Final = ZooLabels.model_construct()


class ZooModel(_Row):
    """One model of a zoo file."""

    name: Name | None = Field(None, description="its name in every index; by default its file")
    file: str = Field(description="a file or folder beside this one, or net.py:make(64)")
    inputs: tuple[str, ...] = Field((), description="of a factory's model, as --input takes them")
    labels: ZooLabels = NO_LABELS


class ZooFolder(_Row):
    """Files and folders of a zoo by a pattern."""

    pattern: str = Field(description="as of pathlib: models/*.onnx, vision/**")
    prefix: str = Field("", description="stands before the names of its models")
    labels: ZooLabels = NO_LABELS


class ZooFile(_Row):
    """The content of ``nar.zoo.yaml``."""

    folders: tuple[ZooFolder, ...] = ()
    models: tuple[ZooModel, ...] = ()
    labels: ZooLabels = Field(NO_LABELS, description="of all models that say nothing else")


@dataclass(frozen=True, slots=True)
class Declared:
    """A model of a zoo.

    Attributes:
        name: Its name.
        spec: What is captured: a path from the working directory, or a factory in a file.
        inputs: Inputs that are stated of it.
        labels: What is known of it.
    """

    name: str
    spec: str
    inputs: tuple[str, ...] = ()
    labels: ZooLabels = field(default_factory=ZooLabels)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is declared of it but what is captured."""
        return self == Declared(self.spec, self.spec)


@dataclass(frozen=True, slots=True)
class Zoo:
    """The models of a zoo, and what lies there and is none, with the reason."""

    models: tuple[Declared, ...]
    unplaced: Mapping[str, str] = field(default_factory=dict)


def json_schema() -> str:
    """The JSON Schema of ``nar.zoo.yaml``, for editors."""
    return json.dumps(ZooFile.model_json_schema(), indent=2) + "\n"


def is_zoo(name: str) -> bool:
    """Whether a name means many models: a zoo file, or a folder that is no model itself."""
    path = Path(name)
    if path.name == ZOO_FILE or (path / ZOO_FILE).is_file():
        return True
    return path.is_dir() and _model_in(path) is None


def expanded(names: Sequence[str]) -> Zoo:
    """The models that names mean; a name of a zoo means all of its models.

    Raises:
        ConfigError: A zoo file is at fault, or two models have one name.
    """
    zoos = [
        read_zoo(Path(name)) if is_zoo(name) else Zoo((Declared(name, name),)) for name in names
    ]
    models = tuple(model for zoo in zoos for model in zoo.models)
    _check_names(models)
    return Zoo(models, {path: why for zoo in zoos for path, why in zoo.unplaced.items()})


def read_zoo(path: Path) -> Zoo:
    """The models of a folder, by its zoo file or else by a walk.

    Raises:
        ConfigError: There is nothing, or the zoo file is at fault; names the field.
    """
    file = path if path.name == ZOO_FILE else path / ZOO_FILE
    if not file.is_file():
        if not path.is_dir():
            raise ConfigError(f"there is no zoo at {path}: wanted a folder, or a {ZOO_FILE}")
        zoo = _walked(path, path)
    else:
        zoo = _declared(_content(file), file.parent)
    _check_names(zoo.models)
    return zoo


def _content(file: Path) -> ZooFile:
    try:
        return ZooFile.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")) or {})
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise ConfigError(f"{file} is no zoo file: {'; '.join(faults)}") from None


def _declared(content: ZooFile, root: Path) -> Zoo:
    models: dict[str, Declared] = {}
    unplaced: dict[str, str] = {}
    for each in content.models:
        spec = _below(root, each.file)
        declared = Declared(
            each.name or each.file, spec, each.inputs, each.labels.over(content.labels)
        )
        models[spec] = declared
    for folder in content.folders:
        for path in sorted(root.glob(folder.pattern)):
            if not _is_left_out(path.relative_to(root)):
                _add(models, unplaced, _walked(path, root), folder, content.labels)
    return Zoo(tuple(models.values()), unplaced)


def _add(
    models: dict[str, Declared],
    unplaced: dict[str, str],
    found: Zoo,
    folder: ZooFolder,
    labels: ZooLabels,
) -> None:
    for each in found.models:
        known = folder.labels.over(labels)
        models.setdefault(each.spec, Declared(f"{folder.prefix}{each.name}", each.spec, (), known))
    unplaced.update(found.unplaced)


def _below(root: Path, file: str) -> str:
    """A path of a zoo file from the working directory; a factory stays behind its file."""
    return str(root / file) if str(root) != "." else file


def _walked(start: Path, root: Path) -> Zoo:
    """Every model at a path and below it."""
    models: list[Declared] = []
    unplaced: dict[str, str] = {}
    for path, why in _walk(start):
        name = path.relative_to(root).as_posix() if path != root else path.name
        if why:
            unplaced[name] = why
        else:
            models.append(Declared(name, str(path)))
    return Zoo(tuple(models), unplaced)


def _walk(path: Path) -> Iterator[tuple[Path, str]]:
    """Models, each with an empty text, and what is none, with the reason."""
    if not path.is_dir():
        why = _of_file(path)
        if why is not None:
            yield path, why
        return
    found = _model_in(path)
    if found == "":
        yield path, ""
        return
    below = [each for each in sorted(path.iterdir()) if not _LEFT_OUT.match(each.name)]
    inside = [each for child in below for each in _walk(child)]
    if found and not any(not why for _, why in inside):
        yield path, found
        return
    yield from inside


def _model_in(folder: Path) -> str | None:
    """Empty where a folder is a model; why it is none that is read; None where it may have some.

    A configuration makes a folder a model. A graph is a model as a file, whatever lies beside it:
    otherwise its name would change with the next file.
    """
    try:
        found = named_in_folder(folder)
    except InvalidInputError as error:
        return str(error)
    if found is None or Path(found.name).suffix != ".json":
        return None
    file = Path(found.name)
    return _of_file(file) if file.is_file() else f"it means {found.name}, which is not beside it"


def _of_file(path: Path) -> str | None:
    """Empty where a file is a model; why it is none; None where it is of no kind of models."""
    if path.suffix == PYTHON:
        return _CODE
    kind = kind_of_file(path)
    if kind is None:
        return None
    if path.suffix.lower() == ".json":
        try:
            content = kind_of_json(read_json(path))
        except (OSError, ValueError):
            return None
        return "" if content is not None and content.name in _CONFIGURATIONS else None
    if kind.reading == "weights":
        return _WEIGHTS
    return (
        ""
        if kind.reading in {"graph", "configuration"}
        else file_text(path, kind.what, kind.way_out)
    )


def _is_left_out(path: Path) -> bool:
    return any(_LEFT_OUT.match(part) for part in path.parts)


def _check_names(models: Sequence[Declared]) -> None:
    """Refuse two models of one name: one row would replace the other.

    Raises:
        ConfigError: Names both.
    """
    seen: dict[str, str] = {}
    for each in models:
        if each.name in seen and seen[each.name] != each.spec:
            raise ConfigError(
                f"two models have the name {each.name!r}: {seen[each.name]} and {each.spec}; "
                f"give one another name in {ZOO_FILE}, or its folder a prefix"
            )
        seen[each.name] = each.spec


def first_zoo_file(zoo: Zoo, root: Path) -> str:
    """A zoo file for what a walk has found; what it could not place stands in comments."""
    rows = [
        {"name": each.name, "file": Path(each.spec).relative_to(root).as_posix()}
        for each in zoo.models
    ]
    text = "# Names stay where files move. `nar zoo check` says what a job would do.\n"
    text += f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
    text += yaml.safe_dump({"models": rows}, sort_keys=False, allow_unicode=True, width=10_000)
    for name, why in zoo.unplaced.items():
        text += f"# not placed: {name}: {why}\n"
    return text
