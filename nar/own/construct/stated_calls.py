"""Calls of a class or function whose arguments are taken from what the repository states.

Configurations state calls, too: they name the class to build and its arguments, as hydra and its
like do.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from nar.graphs.assumed import AssumedValue
from nar.own.construct.config_objects import Configured, copying
from nar.own.construct.configs import configurations, wants_settings
from nar.own.construct.evidence.calls import CallSite, calls_of, imported_by_name
from nar.own.construct.evidence.evaluator import Definitions, is_settings_name
from nar.own.construct.evidence.expressions import (
    Expression,
    UnknownValueError,
    enclosing_functions,
    literal,
)
from nar.own.construct.evidence.lookup import BY_NAME, Evidence, Stated, is_open
from nar.own.construct.evidence.names import assignments_before
from nar.own.construct.evidence.settings import StatedSettings, read_whole, settings_of
from nar.own.construct.evidence.sources import sources_naming
from nar.own.construct.findings import Findings
from nar.own.construct.makers import values_given
from nar.own.construct.proposals import Fill, Proposal, Target, short
from nar.own.construct.reads import names_read
from nar.own.construct.usual_values import Box, Discrete, usual_value

_CALLS_TRIED: Final = 6  # chosen: each builds the model, which takes seconds where it is large
_NAMES_FOLLOWED: Final = 4  # chosen: a size is handed on once or twice
_TRAINING: Final = re.compile(r"(^|_)(train|main|run)(_|$)", re.IGNORECASE)
# Values by name -> others that are tried where a class does not bear them: generators double their
# images, and no other side is a power of two; blocks add their input to what they make of it; what
# acts chooses one of some actions, or gives numbers.
_OTHERS: Final[Mapping[Any, Any]] = {224: 256, 3: 64, Discrete(): Box()}
_INWARD: Final = re.compile(r"in_?planes$")
_PATHS_OF_EXAMPLES: Final = ("/path/", "path/to/", "./path/to", "<", "your_")


class StatedCalls:
    """Proposes calls of a target.

    Args:
        target: A class or function.
        module: The user's file.
        evidence: What the repository tells.
        definitions: Gives the module of a file.
        findings: Where it records what a call was made with.
    """

    def __init__(
        self,
        target: Target,
        module: ModuleType,
        evidence: Evidence,
        definitions: Definitions,
        findings: Findings,
    ) -> None:
        self._target = target
        self._module = module
        self._evidence = evidence
        self._definitions = definitions
        self._findings = findings

    def configurations(self, name: str) -> Iterator[Configured]:
        """Configurations for a parameter, first the file that a command names for it."""
        stated = self._evidence.stated(name, self._target.required)
        file = self._evidence.file_named(stated.value) if stated is not None else None
        if stated is not None and file is not None:
            place = f"{self._evidence.repository.relative(file)}, by {stated.place}"
            value = AssumedValue(name, "a namespace", place)
            yield Configured(partial(read_whole, file), (value,))
        yield from configurations(
            self._target, name, self._module, self._evidence, self._definitions
        )

    def configured(self, name: str) -> Iterator[Proposal]:
        """Its only required parameter as a configuration."""
        if wants_settings(self._target, name):
            for configured in self.configurations(name):
                yield _of_configuration(self._target, name, configured)

    def of_configurations_that_name_it(self) -> Iterator[Proposal]:
        """A configuration that names the class."""
        found = targeted(self._target, self._evidence)
        if found is not None:
            more = ""
            if found.others:
                more = f"; {len(found.others)} other files do too, such as {found.others[0]}"
            known = {name: _constant(value) for name, value in found.values.items()}
            yield from self.completed(known, (), f"{found.place}{more}")

    def of_calls(self, *, most_missing: int, is_whole: bool = False) -> Iterator[Proposal]:
        """Its calls in the repository, as far as their arguments can be worked out.

        Args:
            most_missing: So many of the required parameters may be left to their names.
            is_whole: Every argument has to be known as it stands there, optional ones too; calls in
                tests do not count.
        """
        tried = 0
        for call in self._calls:
            given = self._given(call)
            known, configured, unknown = self._known(given)
            missing = [name for name in self._target.required if name not in known]
            is_new = most_missing == 0 or bool(missing)
            if len(missing) > most_missing or not is_new:
                continue
            is_partial = bool(unknown or configured) or any(map(_is_settings, given.values()))
            if is_whole and (is_partial or self._evidence.repository.is_test(call.path)):
                continue
            tried += 1
            if tried > _CALLS_TRIED:
                return
            yield from self.completed(known, configured, call.place, _origins(given, unknown))

    @cached_property
    def _calls(self) -> tuple[CallSite, ...]:
        """Its calls, those last that a script with its defaults does not reach."""
        repository = self._evidence.repository
        calls = calls_of(repository, self._target.name, repository.path)
        if len(calls) < 2:
            return tuple(calls)
        of_this_file = {id(call): self._is_of_this_file(call) for call in calls}
        if True in of_this_file.values():  # other calls choose another file by its name
            calls = [call for call in calls if of_this_file[id(call)]]
        return tuple(sorted(calls, key=lambda c: (self._is_reached(c) is False, not _trains(c))))

    def _is_reached(self, call: CallSite) -> bool | None:
        return self._evidence.evaluator.is_reached(Expression(call.path, call.tree, call.node))

    def _is_of_this_file(self, call: CallSite) -> bool | None:
        """Whether a call is of this file, where its module is imported by a computed name.

        Returns:
            None where no such import is seen, or the name is not known.
        """
        name = imported_by_name(call)
        if name is None:
            return None
        try:
            stated = self._evidence.evaluator.value(name)
        except UnknownValueError:
            return None
        return str(stated).rpartition(".")[2] == self._evidence.repository.path.stem

    def _given(self, call: CallSite) -> dict[str, Any]:
        """What a call gives, by the names of parameters, also what a known ``**`` holds."""
        given: dict[str, Any] = {}
        for each in call.spread:
            try:
                held = self._evidence.evaluator.value(each)
            except UnknownValueError:
                continue
            if isinstance(held, Mapping):
                given |= {n: v for n, v in held.items() if n in self._target.parameters}
        return given | call.arguments(list(self._target.parameters))

    def only_one(self) -> Iterator[Proposal]:
        """The call that scripts build it with, where they build it in one way.

        What a file does with its own class is a trial of it, and tests are trials too. A call with
        an argument that is not known may be another way, so then there is none.
        """
        repository = self._evidence.repository
        ways: dict[tuple[tuple[str, str], ...], CallSite] = {}
        calls = [
            call
            for call in self._calls
            if call.path != repository.path
            and not repository.is_test(call.path)
            and self._is_reached(call) is not False
        ]
        # What samples or converts a trained model takes from it how it was built.
        for call in list(filter(_trains, calls)) or calls:
            given = self._given(call)
            known, configured, unknown = self._known(given)
            is_seen = call.is_plain or (bool(call.spread) and bool(given))
            if configured or unknown or not is_seen or any(map(_is_settings, given.values())):
                return
            values = ((name, short(make())) for name, make in known.items())
            ways.setdefault(tuple(sorted(values)), call)
        if len(ways) == 1:
            (way, call), *_ = ways.items()
            if way:
                known, _, _ = self._known(self._given(call))
                yield from self.completed(known, (), call.place)

    def completed(
        self,
        known: dict[str, Callable[[], Any]],
        configured: tuple[Configured, ...],
        place: str,
        origins: Mapping[str, str] | None = None,
    ) -> Iterator[Proposal]:
        """A call with what is known, the other required parameters by the evidence for each.

        Args:
            known: Arguments by their names.
            configured: Configurations among them.
            place: Where the call stands.
            origins: Where values come from that nothing tells: two of one origin are the same.
        """
        given = _Gathered(dict(known), [], [each.fill for each in configured if each.fill])
        for each in configured:
            given.values += each.values
        for name, found in ({} if known else self._stated_in_one_place()).items():
            given.add(name, settings_of(found.value), found.place)
        for name in self._target.required:
            if name not in given.makers and not self._gather(
                given, name, (origins or {}).get(name)
            ):
                return
        makers, values = given.makers, given.values
        fill = given.fills[0] if given.fills else None
        noted = known.keys() - {each.name for each in values}
        yield Proposal(self._calling(makers, noted, place), tuple(values), fill)
        for usual, other in _OTHERS.items():
            guessed = {v.name for v in values if v.place == BY_NAME and v.value == str(usual)}
            if guessed & makers.keys():
                changed = {name: _constant(other) for name in guessed & makers.keys()}
                shown = (replace(v, value=str(other)) if v.name in changed else v for v in values)
                make = self._calling(makers | changed, noted, place)
                yield Proposal(make, tuple(shown), fill)

    def _gather(self, given: "_Gathered", name: str, origin: str | None) -> bool:
        """Add an argument that no call gives, by the evidence for it; False where there is none."""
        twin = given.twins.get(origin or "")
        if twin is not None:
            given.add(name, twin[1], f"as {twin[0]}, which comes of the same")
            return True
        wants = wants_settings(self._target, name)
        stated = self._evidence.stated_or_usual(
            name, self._target.required, self._target.parameters[name].annotation
        )
        is_file = stated is not None and self._evidence.file_named(stated.value) is not None
        if stated is not None and not (wants and is_file):
            value = settings_of(self._widened(name, stated))
            given.add(name, value, stated.place)
            if origin is not None:
                given.twins[origin] = name, value
        elif wants:
            config = next(self.configurations(name))
            given.makers[name] = config.make
            given.values += config.values
            given.fills += [config.fill] if config.fill else []
        elif is_settings_name(name):
            given.makers[name] = lambda: StatedSettings({})
        else:
            return False
        return True

    def _widened(self, name: str, stated: Stated) -> Any:  # noqa: ANN401
        """What goes into a block of a residual network: as much as comes out of it."""
        expansion = getattr(self._target.called, "expansion", 1)
        is_guessed = stated.place == BY_NAME and _INWARD.match(name) is not None
        return stated.value * expansion if is_guessed and type(expansion) is int else stated.value

    def _stated_in_one_place(self) -> dict[str, Stated]:
        """The values that one place states for nearly all parameters, defaults or not."""
        source = self._evidence.whole_source(tuple(self._target.parameters))
        stated = self._evidence.evaluator.known(source.values) if source is not None else {}
        return {
            name: Stated(stated[name], source.place)
            for name in self._target.parameters
            if source is not None and name in stated and not is_open(name, stated[name])
        }

    def _calling(
        self, makers: Mapping[str, Callable[[], Any]], noted: Collection[str], place: str
    ) -> Callable[[], Any]:
        """Calls the target with arguments made anew; notes those that come from one place."""

        def make() -> Any:  # noqa: ANN401
            given = {name: maker() for name, maker in makers.items()}
            self.note({name: given[name] for name in makers if name in noted}, place)
            return self._target.called(**given)

        return make

    def note(self, given: dict[str, Any], place: str) -> None:
        """Record what something was made with."""
        for value in values_given(given, place):
            self._findings.value(value.name, value.value, value.place)

    def _known(
        self, given: dict[str, Any]
    ) -> tuple[dict[str, Callable[[], Any]], tuple[Configured, ...], list[str]]:
        """The arguments of a call that can be worked out, and the names of the others."""
        known: dict[str, Callable[[], Any]] = {}
        configured: list[Configured] = []
        unknown = []
        for name, found in given.items():
            if not self._target.takes(name):
                continue
            try:
                value = self._evidence.evaluator.value(found)
                self._check_covered(name, value)
            except UnknownValueError:
                setting = self._setting(found, given) if name in self._target.parameters else None
                if setting is not None:
                    known[name] = _constant(settings_of(setting.value))
                    continue
                if name not in self._target.parameters or not wants_settings(self._target, name):
                    unknown.append(name)
                    continue
                config = next(self.configurations(name))
                configured.append(config)
                known[name] = config.make
            else:
                # A path in an example is the reader's own: the default does without it.
                is_elsewhere = isinstance(value, str) and value.startswith(_PATHS_OF_EXAMPLES)
                parameter = self._target.parameters.get(name)
                if not is_elsewhere or (parameter is not None and parameter.is_required):
                    known[name] = _working_out(self._evidence, found)
        return known, tuple(configured), unknown

    def _setting(self, found: object, given: Mapping[str, Any]) -> Stated | None:
        """What another place tells of an argument that is read of a configuration.

        ``Net(conf.depth, conf.width)`` is told by the file that assigns ``conf.depth``, though
        nothing here tells what `conf` is.

        Args:
            found: The argument.
            given: All arguments of the call: what they read belongs together.
        """
        name = _read_of_settings(found)
        if name is None:
            return None
        companions = [each for each in map(_read_of_settings, given.values()) if each is not None]
        return self._evidence.stated(name, companions)

    def _check_covered(self, name: str, value: object) -> None:
        """Leave a configuration unknown that lacks what is read: it is another one's.

        Raises:
            UnknownValueError: It lacks some.
        """
        if isinstance(value, StatedSettings) and isinstance(usual_value(name), Discrete | Box):
            raise UnknownValueError("it is a space of actions, and no configuration")
        if isinstance(value, StatedSettings) and wants_settings(self._target, name):
            lacking = set(names_read(self._target.called, name)) - value.keys()
            if lacking:
                raise UnknownValueError(f"it lacks {', '.join(sorted(lacking))}")


@dataclass(slots=True)
class _Gathered:
    """The arguments of one call while they are found.

    Attributes:
        makers: Each makes one anew, by the names of parameters.
        values: What is said of them.
        fills: Each gives a configuration among them what it lacks.
        twins: Name and value of those that nothing told, by where they come from.
    """

    makers: dict[str, Callable[[], Any]]
    values: list[AssumedValue]
    fills: list[Fill]
    twins: dict[str, tuple[str, Any]] = field(default_factory=dict)

    def add(self, name: str, value: object, place: str) -> None:
        """Add a value."""
        self.makers[name] = _constant(value)
        self.values.append(AssumedValue(name, short(value), place))


def _origins(given: Mapping[str, Any], unknown: Collection[str]) -> dict[str, str]:
    """The expressions that arguments come from which nothing tells, by the arguments' names."""
    found = ((name, given[name]) for name in unknown)
    return {name: _origin(each) for name, each in found if isinstance(each, Expression)}


def _origin(found: Expression) -> str:
    """The text of an expression; of a name, that of what it is assigned, if it is so once."""
    node = found.node
    for _ in range(_NAMES_FOLLOWED):
        if not isinstance(node, ast.Name):
            break
        line = node.lineno
        scopes = (*enclosing_functions(found.tree, line), found.tree)
        assigned = [each for scope in scopes for each in assignments_before(scope, node.id, line)]
        if len(assigned) != 1 or not isinstance(assigned[0].targets[0], ast.Name):
            break
        node = assigned[0].value
    return ast.unparse(node)


def _read_of_settings(found: object) -> str | None:
    """The name that is read of a configuration: ``conf.depth``, ``self.args["depth"]``."""
    node = found.node if isinstance(found, Expression) else None
    key: object = None
    if isinstance(node, ast.Attribute):
        key = node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        key = node.slice.value
    holder = node.value if isinstance(node, ast.Attribute | ast.Subscript) else None
    last = getattr(holder, "id", None) or getattr(holder, "attr", None)
    is_settings = isinstance(last, str) and is_settings_name(last)
    return key if isinstance(key, str) and is_settings else None


def _trains(call: CallSite) -> bool:
    """Whether a call stands in a script that trains, by its name."""
    return _TRAINING.search(call.path.stem) is not None


def _is_settings(found: object) -> bool:
    """Whether an argument is a whole configuration by its name: its own evidence is better."""
    node = found.node if isinstance(found, Expression) else None
    return isinstance(node, ast.Name) and is_settings_name(node.id)


def _of_configuration(target: Target, name: str, configured: Configured) -> Proposal:
    return Proposal(
        lambda: target.called(**{name: configured.make()}), configured.values, configured.fill
    )


def _constant(value: Any) -> Callable[[], Any]:  # noqa: ANN401
    # What one build writes into a table of numbers is not there for the next.
    return copying(value) if isinstance(value, np.ndarray) else lambda: value


def _working_out(evidence: Evidence, found: object) -> Callable[[], Any]:
    """Works an expression out anew: a module in it is then built where the target is."""
    return lambda: evidence.evaluator.value(found)


# Keys that name a class -> whether it has to be dotted: other things have a type and a name too.
_KEYS = {
    "target": True,
    "_target_": True,
    "class_path": True,
    "class": True,
    "cls": True,
    "class_name": False,
    "type": False,
    "name": False,
    "arch": False,
}
_ARGUMENTS = ("params", "init_args", "kwargs", "args")


@dataclass(frozen=True, slots=True)
class Targeted:
    """Arguments that a configuration gives for a class that it names.

    Attributes:
        values: By the names of parameters.
        place: In words.
        others: Other files that name it too.
    """

    values: dict[str, Any]
    place: str
    others: tuple[str, ...]


def targeted(target: Target, evidence: Evidence) -> Targeted | None:
    """What the nearest configuration gives that names a class; None where none does."""
    found: list[tuple[float, str, dict[str, Any]]] = []
    for source in sources_naming(evidence.repository, target.name):
        for key, is_dotted in _KEYS.items():
            named = _text(source.values.get(key))
            if named and _names(named, target, evidence.repository.path, is_dotted=is_dotted):
                values = _arguments(source.values, target, evidence)
                if values or is_dotted:
                    place = f"{source.place} ({key}: {named})"
                    found.append((source.distance, place, values))
    if not found:
        return None
    found.sort(key=lambda each: (each[0], -len(each[2])))
    first = found[0]
    files = {place.partition(" ")[0] for _, place, _ in found[1:]} - {first[1].partition(" ")[0]}
    return Targeted(first[2], first[1], tuple(sorted(files)))


def _arguments(stated: Mapping[str, Any], target: Target, evidence: Evidence) -> dict[str, Any]:
    inner = next(
        (stated[key] for key in _ARGUMENTS if isinstance(stated.get(key), Mapping)), stated
    )
    known = evidence.evaluator.known(inner)
    return {name: settings_of(known[name]) for name in known if name in target.parameters}


def _names(text: str, target: Target, path: Path, *, is_dotted: bool) -> bool:
    """Whether a text names a class of a file."""
    *above, last = text.split(".")
    if last != target.name:
        return False
    return above[-1] in (path.stem, path.parent.name) if above else not is_dotted


def _text(found: object) -> str:
    if isinstance(found, Expression):
        try:
            found = literal(found.node)
        except UnknownValueError:
            return ""
    return found if isinstance(found, str) else ""
