"""Configuration objects for a parameter that wants one, in the order of their evidence.

A static or class method of the class itself may return one.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from torch import nn

from nar.graphs.assumed import AssumedValue
from nar.own.construct.config_objects import (
    MAKER,
    Configured,
    assigned_by,
    calling,
    copying,
    fields_of,
    file_of,
    has,
    held_by,
    objects_of,
    set_in,
)
from nar.own.construct.evidence.evaluator import Definitions, is_settings_name
from nar.own.construct.evidence.lookup import Evidence, Stated, is_open
from nar.own.construct.evidence.settings import PartOfSettings, StatedSettings, settings_of
from nar.own.construct.evidence.sources import SourceKind
from nar.own.construct.imports.stand_ins import StandIn
from nar.own.construct.proposals import Parameter, Target, short
from nar.own.construct.reads import names_read
from nar.own.construct.usual_values import NOTHING, Box, Discrete, usual_value

_CLASS_NAME = re.compile(
    r"(Config|Cfg|Args|Arguments|Params|Hparams|Dimensions|Dims|Settings|Options)$", re.IGNORECASE
)
_CONFIG_FILE = re.compile(r"config|cfg|default|option|param|settings|opts", re.IGNORECASE)
_CONFIG_FILES_READ = 6  # Chosen: the nearest; a folder of experiments has hundreds
# What is read of a tensor, which is no configuration.
_OF_TENSORS: Final = frozenset({"shape", "device", "dtype", "ndim", "data", "T"})
_PLAIN_TYPES = (int, float, str, bool, list, tuple, dict, type(None), object)
_COVERAGE = 0.5  # of the names that are read, for a class that nothing else connects to the model


def wants_settings(target: Target, name: str) -> bool:
    """Whether a parameter is a configuration: by its name, its class, or what is read of it."""
    annotation = target.parameters[name].annotation
    if inspect.isclass(annotation) and dataclasses.is_dataclass(annotation):
        return True
    if inspect.isclass(annotation) and issubclass(annotation, nn.Module):
        return False
    if annotation in (int, float, bool, str, list, tuple):
        return False
    if isinstance(target.parameters[name].default, str):
        return False  # the path of a file
    if isinstance(usual_value(name), Discrete | Box):
        return False  # a space of actions, which has attributes too
    if is_settings_name(name) and len(name) > 1:
        return True
    return bool(set(names_read(target.called, name)) - _OF_TENSORS)


def configurations(
    target: Target,
    name: str,
    module: ModuleType,
    evidence: Evidence,
    definitions: Definitions,
) -> Iterator[Configured]:
    """Configurations for a parameter, the best evidence first.

    Args:
        target: What is to be called.
        name: The parameter.
        module: The user's file.
        evidence: What the repository tells.
        definitions: Gives the module of a file.
    """
    wanted = names_read(target.called, name)
    finder = _Finder(target.parameters[name], wanted, module, evidence, definitions)
    yield from finder.of_classes(_annotated(target, name))
    yield from configurations_of_methods(target, name, module, evidence)
    yield from finder.of_module()
    yield from finder.of_classes(finder.classes_of_module())
    yield from finder.of_classes(finder.classes_of_package())
    yield from finder.of_config_files()
    yield from finder.of_source()
    yield finder.by_names()


class _Finder:
    """Finds configurations for one parameter."""

    def __init__(
        self,
        parameter: Parameter,
        wanted: tuple[str, ...],
        module: ModuleType,
        evidence: Evidence,
        definitions: Definitions,
    ) -> None:
        self._name = parameter.name
        self._wanted = wanted
        self._module = module
        self._evidence = evidence
        self._definitions = definitions

    def of_classes(self, classes: Iterator[tuple[type, str]]) -> Iterator[Configured]:
        """Objects of classes of configurations, with their defaults and what these leave open."""
        for cls, place in classes:
            filled = self._filled(cls)
            if filled is None:
                continue
            given = {name: stated.value for name, stated in filled.items()}
            written = ", ".join(f"{name}={short(value)}" for name, value in given.items())
            values = [AssumedValue(self._name, f"{cls.__name__}({written})", place)]
            values += [
                AssumedValue(f"{self._name}.{name}", short(stated.value), stated.place)
                for name, stated in filled.items()
            ]
            yield Configured(calling(cls, given), tuple(values))

    def of_module(self) -> Iterator[Configured]:
        """An object that the file itself has under the parameter's name."""
        for name in dict.fromkeys((self._name, self._name.upper())):
            held = vars(self._module).get(name)
            is_object = held is not None and not isinstance(held, StandIn | ModuleType | nn.Module)
            if is_object and not inspect.isroutine(held) and not inspect.isclass(held):
                place = f"{name} of {file_of(self._module)}"
                held = settings_of(held) if type(held) is dict else held
                yield Configured(copying(held), (AssumedValue(self._name, short(held), place),))

    def of_config_files(self) -> Iterator[Configured]:
        """Objects and functions of Python files of configurations that have what is read."""
        repository = self._evidence.repository
        paths = [path for path in repository.python_files if _CONFIG_FILE.search(path.stem)]
        for path in paths[:_CONFIG_FILES_READ]:
            try:
                module = self._definitions(path)
            # Another file's imports may raise anything.
            except (Exception, SystemExit):
                continue
            for name, make in objects_of(module):
                try:
                    made = make()
                # A function of configurations may raise anything as well.
                except Exception:
                    continue
                if type(made) is dict:  # read by its keys in one place, as attributes in another
                    made = settings_of(made)
                if self._covers(made):
                    place = f"{name} of {repository.relative(path)}"
                    values = [AssumedValue(self._name, short(made), place)]
                    if isinstance(made, StatedSettings):
                        yield self._settings(made, values, is_whole=True)
                    else:
                        yield Configured(make, tuple(values))
                    return

    def _covers(self, made: object) -> bool:
        if isinstance(made, StandIn) or not self._wanted:
            return False
        there = [name for name in self._wanted if has(made, name)]
        return len(there) >= max(1, _COVERAGE * len(self._wanted))

    def of_source(self) -> Iterator[Configured]:
        """The source of the repository that has most of the names that are read."""
        fitting = self._evidence.fitting(self._wanted) if self._wanted else None
        if fitting is None:
            return
        source = fitting.source
        known = self._evidence.evaluator.known(source.values)
        settings = StatedSettings(
            {name: value for name, value in known.items() if not is_open(name, value)}
        )
        covers = f"{fitting.names} of the {len(self._wanted)} names that the constructor reads"
        others = f"; {fitting.others} other files have as many" if fitting.others else ""
        what = Path(source.path).name if source.kind is SourceKind.FILE else "a namespace"
        values = [AssumedValue(self._name, what, f"{source.place} ({covers}{others})")]
        yield self._settings(settings, values)

    def by_names(self) -> Configured:
        """Settings that are filled with what the repository and their names tell."""
        return self._settings(StatedSettings({}), [])

    def classes_of_module(self) -> Iterator[tuple[type, str]]:
        """Classes in the file's namespace that are configurations, the best fitting first."""
        held = [each for each in vars(self._module).values() if self._is_configuration(each)]
        place = f"in {file_of(self._module)}"
        return ((cls, place) for cls in sorted(held, key=self._lacking))

    def classes_of_package(self) -> Iterator[tuple[type, str]]:
        """Classes of configurations in the files beside, that cover what is read."""
        repository = self._evidence.repository
        for path in repository.python_files:
            if path.parent != repository.path.parent or path == repository.path:
                continue
            names = [n.name for n in repository.tree(path).body if hasattr(n, "name")]
            if not any(_CLASS_NAME.search(name) for name in names):
                continue
            try:
                module = self._definitions(path)
            # Another file's imports may raise anything.
            except (Exception, SystemExit):
                continue
            for each in vars(module).values():
                if self._is_configuration(each):
                    yield each, f"in {repository.relative(path)}"

    def _is_configuration(self, held: object) -> bool:
        if not inspect.isclass(held) or issubclass(held, nn.Module):
            return False
        file = str(getattr(inspect.getmodule(held), "__file__", None) or "")
        is_own = file.startswith(str(self._evidence.repository.root)) or (
            held.__module__ == self._module.__name__
        )
        is_named = bool(_CLASS_NAME.search(held.__name__)) or dataclasses.is_dataclass(held)
        return is_own and is_named and self._lacking(held) <= 1 - _COVERAGE

    def _lacking(self, cls: type) -> float:
        """The share of the names that are read that a class does not have."""
        have = {*fields_of(cls), *dir(cls), *assigned_by(cls)}
        return len(set(self._wanted) - have) / max(1, len(self._wanted))

    def _filled(self, cls: type) -> dict[str, Stated] | None:
        """Values for what the defaults of a class leave open; None where nothing tells one."""
        filled = {}
        fields = fields_of(cls)
        for name, parameter in fields.items():
            is_left = not parameter.is_required and not self._is_left_open(parameter)
            if is_left:
                continue
            stated = self._evidence.stated_or_usual(name, fields, parameter.annotation)
            if stated is not None:
                filled[name] = stated
            elif parameter.is_required:
                return None
        return filled

    def _is_left_open(self, parameter: Parameter) -> bool:
        """Whether a default only holds a place: None or -1 for a size that is read."""
        name, default = parameter.name, parameter.default
        if default is None:
            is_size = isinstance(usual_value(name), int)
            has_own_rule = "Optional" in str(parameter.annotation) or "None" in str(
                parameter.annotation
            )
            return name in self._wanted and is_size and not has_own_rule
        return is_open(name, default)

    def _settings(
        self, settings: StatedSettings, values: list[AssumedValue], *, is_whole: bool = False
    ) -> Configured:
        """Settings with what they lack of the names that are read; more is filled when asked.

        Args:
            settings: They may lack names.
            values: What is known of them.
            is_whole: Code made them as they are: what they lack belongs to another branch, and is
                filled when asked only.
        """

        def fill(
            name: str, above: tuple[str, ...] = (), *, is_holder: bool = False
        ) -> AssumedValue | None:
            stated = self._evidence.stated_or_usual(name, (*self._wanted, name))
            stated = stated or self._evidence.stated_or_usual(name, (name,))
            if is_holder and (stated is None or not isinstance(stated.value, Mapping)):
                stated = Stated(PartOfSettings((*above, name)), "of it more is read")
            if stated is None:
                return None
            holder = settings
            for part in above:
                holder = holder[part]
            holder[name] = settings_of(stated.value)
            path = ".".join((self._name, *above, name))
            return AssumedValue(path, short(stated.value), stated.place)

        for name, chosen in self._evidence.chosen.items():
            if name in settings:
                settings[name] = chosen.value
                values.append(
                    AssumedValue(f"{self._name}.{name}", short(chosen.value), chosen.place)
                )
        for name in () if is_whole else self._wanted:
            held = settings.get(name, NOTHING)
            if held is NOTHING or (held is None and isinstance(usual_value(name), int)):
                value = fill(name)
                if value is not None:
                    values.append(value)
        return Configured(copying(settings), tuple(values), fill)


def _annotated(target: Target, name: str) -> Iterator[tuple[type, str]]:
    annotation = target.parameters[name].annotation
    own = getattr(target.called, "config_class", None)
    if inspect.isclass(own) and is_settings_name(name):
        yield own, f"config_class of {target.name}"
    is_class = inspect.isclass(annotation) and annotation not in _PLAIN_TYPES
    if is_class and not issubclass(annotation, nn.Module | Mapping):
        yield annotation, f"the annotation of {name}"


_PLACES_SHOWN: Final = 4  # names that a configuration's method leaves open, in one line


def configurations_of_methods(
    target: Target, name: str, module: ModuleType, evidence: Evidence
) -> Iterator[Configured]:
    """What static and class methods of a class return as a configuration.

    Args:
        target: The class.
        name: Its parameter that wants a configuration.
        module: The user's file.
        evidence: What the repository tells.
    """
    if not target.is_class:
        return
    wanted = names_read(target.called, name)
    found = _Methods(name, wanted, module, evidence)
    for method_name, _ in inspect.getmembers(target.called):
        kind = inspect.getattr_static(target.called, method_name, None)
        if isinstance(kind, staticmethod | classmethod) and MAKER.search(method_name):
            method = getattr(target.called, method_name)
            yield from found.of(method, f"{target.name}.{method_name}()")


@dataclass(frozen=True, slots=True)
class _Methods:
    """Completes what methods return, for one parameter."""

    _name: str
    _wanted: tuple[str, ...]
    _module: ModuleType
    _evidence: Evidence

    def of(self, method: Callable[[], Any], written: str) -> Iterator[Configured]:
        """What a method returns: as its users complete it, then as names tell."""
        try:
            made = method()
        # A user's method may want arguments or raise anything.
        except Exception:
            return
        if isinstance(made, nn.Module):
            return
        stated = self._stated_by_users(made, written)
        if stated:
            yield self._completed(method, made, written, stated)
        yield self._completed(method, made, written, stated | self._left_open(made, stated))

    def _stated_by_users(self, made: Any, written: str) -> dict[str, Stated]:  # noqa: ANN401
        """What code that calls a method sets of the configuration that it returns."""
        found: list[dict[str, Stated]] = [{}]
        for source in self._evidence.sources:
            if source.kind not in (SourceKind.README, SourceKind.ASSIGNMENTS, SourceKind.PARSER):
                continue
            if written in self._evidence.repository.text(source.path):
                held = {name: value for name, value in source.values.items() if has(made, name)}
                known = self._evidence.evaluator.known(held)
                found.append(
                    {n: Stated(v, source.place) for n, v in known.items() if v is not None}
                )
        return max(found, key=len)

    def _left_open(self, made: Any, stated: Mapping[str, Stated]) -> dict[str, Stated]:  # noqa: ANN401
        """Values for the names that a configuration leaves at None and that are read."""
        left = [name for name in self._wanted if held_by(made, name) is None and name not in stated]
        found = {name: self._evidence.stated_or_usual(name, left) for name in left}
        return {name: each for name, each in found.items() if each is not None}

    def _completed(
        self,
        method: Callable[[], Any],
        made: Any,  # noqa: ANN401
        written: str,
        filled: Mapping[str, Stated],
    ) -> Configured:
        """What a method returns, with some names set."""
        left = [name for name in self._wanted if held_by(made, name) is None]
        file = file_of(self._module)
        shown = ", ".join(left[:_PLACES_SHOWN])
        place = f"{file}; it leaves {shown} open" if left else file
        values = [AssumedValue(self._name, written, place)]
        values += [
            AssumedValue(f"{self._name}.{name}", short(stated.value), stated.place)
            for name, stated in filled.items()
        ]

        def make() -> Any:  # noqa: ANN401
            config = method()
            for name, stated in filled.items():
                set_in(config, name, stated.value)
            return config

        return Configured(make, tuple(values))
