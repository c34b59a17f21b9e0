"""The frozen table of classes of libraries that are asked about: `classes.yaml`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from benchmark.asked.asking import Question
from nar.base.files import write_whole
from nar.base.workspace import package_yaml

FILE: Final = "classes.yaml"


@dataclass(frozen=True, slots=True)
class AskedClass:
    """A class of a library with true arguments and true inputs.

    Attributes:
        path: Of the class.
        imports: Lines that import what the texts name.
        made: The call of its constructor.
        inputs: The true call: positional and keyword arguments, a pair in Python.
        place: Where both come from.
    """

    path: str
    imports: tuple[str, ...]
    made: str
    inputs: str
    place: str

    @property
    def question(self) -> Question:
        """What is asked."""
        code = "\n".join(["import torch", *self.imports, "", "", "def make():"])
        return Question(self.path, f"{code}\n    return {self.made}\n", "make", self.inputs)


@dataclass(frozen=True, slots=True)
class AskedLibrary:
    """A library whose classes are asked about.

    Attributes:
        name: Its import name.
        version: Distribution and version that the table was drawn from.
        half: ``validation``, which helps to choose, or ``test``; ``rest`` are classes of the half
            that tests which were not drawn at first.
        public: Public classes of modules that it defines.
        shown: Those of them that its docstrings, README, tests or the zoo's tables call.
        without_text: Classes whose call cannot be written as text, and which nothing else shows.
        without_truth: Classes that were drawn and left out: with the true inputs no graph of them
            is captured here, or they have no weights.
        classes: Those that are asked.
    """

    name: str
    version: str
    half: str
    public: int
    shown: int
    without_text: int
    without_truth: int
    classes: tuple[AskedClass, ...]


def asked_libraries(half: str = "") -> Iterator[AskedLibrary]:
    """The libraries of the table, of one half or of all."""
    for row in package_yaml("asked", FILE, package="benchmark"):
        if half in ("", row["half"]):
            classes = tuple(_class(each) for each in row["classes"])
            yield AskedLibrary(**{**row, "classes": classes})


def _class(row: dict[str, Any]) -> AskedClass:
    return AskedClass(**{**row, "imports": tuple(row["imports"])})


def write_libraries(target: Path, libraries: Sequence[AskedLibrary]) -> None:
    """Write the table."""
    rows = [asdict(library) for library in libraries]
    for row in rows:
        row["classes"] = [{**each, "imports": list(each["imports"])} for each in row["classes"]]
    text = yaml.safe_dump(rows, sort_keys=False, width=100, allow_unicode=True)
    write_whole(target, lambda path: path.write_text(text))
