"""`Evidence`: what a repository tells about values, by name and by places that fit together."""

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from nar.own.construct.evidence.evaluator import Definitions, Evaluator
from nar.own.construct.evidence.expressions import Expression, UnknownValueError
from nar.own.construct.evidence.repository import SETTINGS_ENDINGS, Repository
from nar.own.construct.evidence.sources import SourceKind, ValueSource, read_sources
from nar.own.construct.usual_values import NOTHING, usual_count, usual_value

# Of names that belong together a source has to have at least this share, or it is of another thing.
_COMPANIONS = 0.34
# A configuration needs half of the names that the constructor reads; the rest is looked for.
_COVERAGE = 0.5
_SOURCES_TRIED = 6  # chosen: the best sources come first, and later ones are of other models
# A source that has this share of at least so many parameters is of what has these parameters.
# Chosen: a parser lacks one or two that are computed; fewer names than these fit by chance.
_WHOLE, _MANY = 0.85, 6
# Chosen: three names that are read together stand in one parser by chance only where they are those
# of every script, such as a device.
_SEVERAL = 3
# Sizes from here on are never zero in earnest: a parser's 0 waits for the data.
_SMALLEST_SIZE = 2
_SCRIPT: Final = re.compile(r"(train|main|run)(_|$)")

BY_NAME: Final = "assumed from its name"


@dataclass(frozen=True, slots=True)
class Stated:
    """A value and where it comes from.

    Attributes:
        value: It.
        place: In words.
    """

    value: Any
    place: str


@dataclass(frozen=True, slots=True)
class Fitting:
    """A source that configures something.

    Attributes:
        source: It.
        names: How many of the names that are read it has.
        others: How many other files have as many.
    """

    source: ValueSource
    names: int
    others: int


class Evidence:
    """Answers what a repository tells; its sources are read on the first question.

    Args:
        repository: It.
        target: Name of the class or function that is to be called.
        definitions: Gives the module of a file.
        chosen: Values by which code chooses the class that is wanted in the end; they go first.

    Attributes:
        chosen: Those values.
    """

    def __init__(
        self,
        repository: Repository,
        target: str,
        definitions: Definitions,
        chosen: Mapping[str, Stated] | None = None,
    ) -> None:
        self.repository = repository
        self.chosen = chosen or {}
        self.evaluator = Evaluator(repository, definitions)
        self._target = target

    @cached_property
    def sources(self) -> tuple[ValueSource, ...]:
        """Everything that gives values to names."""
        return read_sources(self.repository)

    def stated(self, name: str, companions: Iterable[str]) -> Stated | None:
        """The value of a name in the source that has most of its companions; None if there is none.

        Args:
            name: It.
            companions: Names that belong to the same thing.
        """
        if name in self.chosen:
            return self.chosen[name]
        among = set(companions)
        fewest = max(2, _COMPANIONS * len(among)) if len(among) > 2 else 1
        found = [source for source in self.sources if source.values.get(name) is not None]
        found = [source for source in found if len(among & source.values.keys()) >= fewest]
        found.sort(key=lambda source: (-len(among & source.values.keys()), *self._rank(source)))
        for source in found[:_SOURCES_TRIED]:
            try:
                value = self.evaluator.value(source.values[name])
            except UnknownValueError:
                continue
            if value is not None and not inspect.ismodule(value) and not is_open(name, value):
                return Stated(value, source.place)
        return None

    def stated_or_usual(
        self, name: str, companions: Iterable[str], annotation: object = None
    ) -> Stated | None:
        """As `stated`, and else what a parameter of that name usually holds."""
        stated = self.stated(name, companions)
        if stated is not None and _suits(stated.value, annotation):
            return stated
        usual = usual_value(name, annotation)
        usual = usual_count(name, annotation) if usual is NOTHING else usual
        return None if usual is NOTHING else Stated(usual, BY_NAME)

    def fitting(self, names: tuple[str, ...]) -> Fitting | None:
        """The source that has most of the names that are read, if it has half of them."""
        wanted = set(names)
        ranked = sorted(
            (source for source in self.sources if wanted & source.values.keys()),
            key=lambda source: (
                -len(wanted & source.values.keys()),
                sum(source.values.get(name) is None for name in wanted),
                *self._rank(source),
            ),
        )
        if not ranked:
            return None
        most = len(wanted & ranked[0].values.keys())
        if most < max(1, _COVERAGE * len(wanted)):
            return None
        equal = {s.path for s in ranked if len(wanted & s.values.keys()) == most}
        return Fitting(ranked[0], most, len(equal) - 1)

    def whole_source(self, names: tuple[str, ...]) -> ValueSource | None:
        """The best source that has nearly all of many parameters; None where none has."""
        if len(names) < _MANY:
            return None
        wanted = set(names)
        found = [s for s in self.sources if len(wanted & s.values.keys()) >= _WHOLE * len(wanted)]
        return min(found, key=self._rank, default=None)

    def covers(self, names: tuple[str, ...]) -> bool:
        """Whether one parser or file has every one of several names that belong together."""
        return len(names) >= _SEVERAL and any(
            source.values.keys() >= set(names)
            for source in self.sources
            if source.kind in (SourceKind.FILE, SourceKind.PARSER)
        )

    def file_named(self, value: object) -> Path | None:
        """The file of settings that a text is the path of; None where it is none."""
        if not isinstance(value, str) or Path(value).suffix not in SETTINGS_ENDINGS:
            return None
        files = self.repository.settings_files
        whole = [path for path in files if path.as_posix().endswith(f"/{value.lstrip('./')}")]
        return next(iter(whole), None) or self.file_of("", Path(value).name)

    def file_of(self, flag: str, name: str) -> Path | None:
        """The nearest settings file of a name, else a file that commands give for a flag."""
        files = self.repository.settings_files
        commanded = [flags[flag] for _, flags in self.repository.commands if flag in flags]
        for wanted in (name, *(Path(each).name for each in commanded)):
            for path in files:
                if path.name == wanted:
                    return path
        return None

    def _rank(self, source: ValueSource) -> tuple[Any, ...]:
        """Of sources that have as much: what speaks of the target, then of commands, then near."""
        return (
            self._silence(source),
            self._mentioned(source.path),
            source.distance,
            source.kind,
            source.place,
        )

    def _silence(self, source: ValueSource) -> int:
        """Whether a file speaks of the target: 0 by its name, 1 as settings may, 2 not at all."""
        text = self.repository.text(source.path)
        if self._target in text or source.path == self.repository.path:
            return 0
        return 1 if source.kind in (SourceKind.FILE, SourceKind.LITERALS) else 2

    def _mentioned(self, path: Path) -> float:
        """How a file is named elsewhere: 0 in a parser's default, 1 in a command, 2 nowhere."""
        if path.suffix == ".py" and _SCRIPT.match(path.stem):
            return 0
        if path.name in self._defaults:
            return 0
        return 1 if path.name in self._commanded else 2

    @cached_property
    def _defaults(self) -> set[str]:
        texts = [
            value
            for source in self.sources
            if source.kind is SourceKind.PARSER
            for value in source.values.values()
            if isinstance(value, str)
        ]
        return {Path(text).name for text in texts if "." in text}

    @cached_property
    def _commanded(self) -> set[str]:
        values = [value for _, flags in self.repository.commands for value in flags.values()]
        return {Path(value).name for value in values if "." in value}


def is_open(name: str, value: object) -> bool:
    """Whether a value is a place holder for a later value: a vocabulary of 0 or -1."""
    usual = usual_value(name)
    is_size = isinstance(usual, int) and not isinstance(usual, bool) and usual >= _SMALLEST_SIZE
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_size and isinstance(value, int | float) and is_number and value <= 0


def is_known(found: object) -> bool:
    """Whether a value of a source is there without working it out."""
    return found is not None and not isinstance(found, Expression)


def _suits(value: object, annotation: object) -> bool:
    """Whether a value may be of an annotated type: a mapping is no number, a text no object."""
    is_object = inspect.isclass(annotation) and annotation.__module__ not in ("builtins", "typing")
    if is_object and isinstance(value, str | int | float):
        return isinstance(value, annotation) or issubclass(annotation, Enum | Path)  # type: ignore[arg-type]
    wants_number = annotation in (int, float, "int", "float")
    return not (wants_number and isinstance(value, dict | list | str))
