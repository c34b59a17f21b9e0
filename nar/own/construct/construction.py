"""From a class or function of a user's file to what it makes, its arguments found."""

import ast
import inspect
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from nar.graphs.assumed import AssumedValue
from nar.own.construct.configs import Configured, configurations, wants_settings
from nar.own.construct.evidence.calls import Call, calls_of
from nar.own.construct.evidence.evaluator import Definitions, is_settings_name
from nar.own.construct.evidence.expressions import Expression, UnknownValueError
from nar.own.construct.evidence.lookup import Evidence
from nar.own.construct.evidence.repository import Repository
from nar.own.construct.evidence.settings import MissingSettingError, Settings, settings_of
from nar.own.construct.findings import Findings
from nar.own.construct.makers import (
    caught,
    choosing_makers,
    makers_of,
    needs,
    values_given,
)
from nar.own.construct.proposals import Proposal, Target, short
from nar.own.construct.targets import targeted

_MOST_PROPOSALS = 14  # Chosen: each may build a large model; later ones are guesses
_MOST_SECONDS = 12.0  # Chosen: after so long no further way is begun
_SETTINGS_ENDINGS = (".json", ".yaml", ".yml")
_MOST_FILLS = 25  # names that a configuration lacks, each found by one more attempt
_VALUES_SHOWN = 6  # Chosen: of a failure's arguments, three lines of a terminal
_CALLS_TRIED = 6
_MAKERS_TRIED = 4
_PARENTS_ABOVE = 2  # a layer in a block in a model


class NothingKnownError(Exception):
    """No evidence tells the arguments of what is to be called."""


class Construction:
    """Makes one thing, the same way each time once a way is found.

    Args:
        target: A class or function.
        module: The user's file.
        repository: The repository that it lies in.
        definitions: Gives the module of a file.
        findings: Where it records what it was made with.
        level: How many things are made for the sake of what they make.
        subject: Name of the class that is wanted in the end; the target's own by default.
    """

    def __init__(
        self,
        target: Target,
        module: ModuleType,
        repository: Repository,
        definitions: Definitions,
        findings: Findings,
        level: int = 0,
        subject: str = "",
    ) -> None:
        self._target = target
        self._module = module
        self._repository = repository
        self._definitions = definitions
        self._findings = findings
        self._level = level
        self._subject = subject or target.name
        self._evidence = Evidence(repository, self._subject, definitions)
        self._proposals: list[Proposal] = []
        self._source: Iterator[Proposal] = self._proposed()
        self._chosen: Proposal | None = None

    def make(self) -> Any:  # noqa: ANN401
        """Make it anew, by the first way that succeeds.

        Raises:
            NothingKnownError: No way is known.
            BaseException: What the first way raised, where all fail.
        """
        if self._chosen is not None:
            return self._made(self._chosen)
        failure: BaseException | None = None
        for proposal in self._each():
            try:
                made = self._made(proposal)
            # A user's code can raise anything, SystemExit too.
            except (Exception, SystemExit) as error:
                failure = failure or error
                continue
            self._chosen = proposal
            return made
        required = ", ".join(self._target.required)
        raise failure or NothingKnownError(f"{self._target.name} wants {required}")

    def _each(self) -> Iterator[Proposal]:
        """The proposals of earlier attempts, then new ones."""
        yield from list(self._proposals)
        begun = time.monotonic()
        for proposal in self._source:
            self._proposals.append(proposal)
            yield proposal
            is_late = time.monotonic() - begun > _MOST_SECONDS
            if is_late or len(self._proposals) >= _MOST_PROPOSALS:
                return

    def _made(self, proposal: Proposal) -> Any:  # noqa: ANN401
        with self._findings.attempt():
            for value in proposal.values:
                self._findings.value(value.name, value.value, value.place)
            try:
                return self._filled(proposal)
            except (Exception, SystemExit) as error:
                given = self._findings.assumed().values
                if given:
                    error.add_note(_given_text(given))
                raise

    def _filled(self, proposal: Proposal) -> Any:  # noqa: ANN401
        """What a proposal makes, with the settings that it lacks as they are asked for."""
        for _ in range(_MOST_FILLS):
            try:
                return proposal.make()
            except MissingSettingError as error:
                filled = proposal.fill(error.setting) if proposal.fill else None
                if filled is None:
                    raise
                self._findings.value(filled.name, filled.value, filled.place)
        return proposal.make()

    def _proposed(self) -> Iterator[Proposal]:
        if not self._target.required:
            yield from self._files()
            yield from self._overriding()
            yield Proposal(self._target.called)
            return
        if len(self._target.required) == 1:
            name = self._target.required[0]
            # A part of a model has the configuration that the model is built with.
            if wants_settings(self._target, name):
                yield from self._parents()
            yield from self._configured(name)
        yield from self._functions()
        yield from self._targeted()
        yield from self._calls(most_missing=0)
        yield from self._parents()
        yield from self._chosen_by_name()
        yield from self._calls(most_missing=len(self._target.required))
        yield from self._completed({}, (), "")

    def _files(self) -> Iterator[Proposal]:
        """Defaults that are files of settings, found in the repository where none is there."""
        found = {}
        for name, parameter in self._target.parameters.items():
            default = parameter.default
            is_file = isinstance(default, str) and Path(default).suffix in _SETTINGS_ENDINGS
            if is_file and not Path(default).is_file():
                path = self._evidence.file_of(name, Path(default).name)
                if path is not None:
                    found[name] = path
        if found:
            values = tuple(
                AssumedValue(name, self._repository.relative(path), "the file of its default")
                for name, path in found.items()
            )
            given = {name: str(path) for name, path in found.items()}
            yield Proposal(lambda: self._target.called(**given), values)

    def _overriding(self) -> Iterator[Proposal]:
        """What the repository builds it with in place of its defaults, where it does so once."""
        if not self._target.parameters:
            return
        yield from self._targeted()
        functions, _ = makers_of(self._repository, self._target)
        ready = [each for each in functions if not needs(each[1])]
        if len(ready) == 1 and ready[0][0].path == self._repository.path:
            yield from self._functions()
            return
        stated = [each for each in self._calls(most_missing=0, is_whole=True) if each.values]
        if len({tuple((v.name, v.value) for v in each.values) for each in stated}) == 1:
            yield stated[0]

    def _configured(self, name: str) -> Iterator[Proposal]:
        """Its only required parameter as a configuration."""
        if wants_settings(self._target, name):
            for configured in self._configurations(name):
                yield _of_configuration(self._target, name, configured)

    def _configurations(self, name: str) -> Iterator[Configured]:
        return configurations(self._target, name, self._module, self._evidence, self._definitions)

    def _functions(self) -> Iterator[Proposal]:
        """Functions of the repository that make it, run and caught."""
        if not self._target.is_class:
            return
        functions, _ = makers_of(self._repository, self._target)
        for call, function in functions[:_MAKERS_TRIED]:
            others = len(functions) - 1
            more = f"; {others} other functions make it too" if others else ""
            place = f"{call.place} {function.name}(){more}"
            yield self._caught(call, function, place)

    def _arguments_of(self, call: Call, function: ast.FunctionDef) -> dict[str, Any] | None:
        """What a maker is called with; None where something that it needs is not known.

        A configuration is found by what the maker reads of it, not by its name.
        """
        given: dict[str, Any] = {}
        for name in needs(function):
            if is_settings_name(name) and self._level < _PARENTS_ABOVE:
                return None
            node = ast.copy_location(ast.Name(name, ast.Load()), call.node)
            try:
                given[name] = self._evidence.evaluator.value(Expression(call.path, call.tree, node))
            except UnknownValueError:
                return None
        return given

    def _caught(self, call: Call, function: ast.FunctionDef, place: str) -> Proposal:
        def make() -> Any:  # noqa: ANN401
            module = self._definitions(call.path)
            maker = getattr(module, function.name)
            arguments = self._arguments_of(call, function)
            if arguments is not None:
                run: Callable[[], Any] = partial(maker, **arguments)
            elif self._level < _PARENTS_ABOVE:
                run = self._beside(Target.of(maker, function.name), module).make
            else:
                raise LookupError(f"nothing tells the arguments of {function.name}")
            made, given = caught(self._target, run)
            self._note(given, place)
            return made

        return Proposal(make)

    def _chosen_by_name(self) -> Iterator[Proposal]:
        """Functions that make the class that a configuration names, run and caught."""
        if not self._target.is_class or self._level >= _PARENTS_ABOVE:
            return
        for each in choosing_makers(self._repository)[:_MAKERS_TRIED]:
            yield Proposal(partial(self._part_of, each.path, each.node.name, each.place))

    def _beside(self, target: Target, module: ModuleType) -> "Construction":
        """The construction of something else of the repository, for the sake of this one."""
        return Construction(
            target,
            module,
            self._repository,
            self._definitions,
            Findings(),
            self._level + 1,
            self._subject,
        )

    def _parents(self) -> Iterator[Proposal]:
        """Classes of the repository that make it as a part of them, built and caught."""
        if not self._target.is_class or self._level >= _PARENTS_ABOVE:
            return
        _, classes = makers_of(self._repository, self._target)
        for place in classes[:_MAKERS_TRIED]:
            yield Proposal(partial(self._part_of, place.path, place.node.name, place.place))

    def _part_of(self, path: Path, owner: str, place: str) -> Any:  # noqa: ANN401
        """What a class or function of a file makes of it on its way."""
        module = self._definitions(path)
        maker = getattr(module, owner, None)
        if not callable(maker):
            raise LookupError(f"{owner} is neither a class nor a function")
        whole = self._beside(Target.of(maker, owner), module)
        made, given = caught(self._target, whole.make)
        words = f", as a part of {owner}" if inspect.isclass(maker) else f" {owner}()"
        self._note(given, f"{place}{words}")
        return made

    def _targeted(self) -> Iterator[Proposal]:
        """A configuration that names the class."""
        found = targeted(self._target, self._evidence)
        if found is not None:
            more = ""
            if found.others:
                more = f"; {len(found.others)} other files do too, such as {found.others[0]}"
            known = {name: _constant(value) for name, value in found.values.items()}
            yield from self._completed(known, (), f"{found.place}{more}")

    def _calls(self, *, most_missing: int, is_whole: bool = False) -> Iterator[Proposal]:
        """Its calls in the repository, as far as their arguments can be worked out.

        Args:
            most_missing: So many of the required parameters may be left to their names.
            is_whole: Every argument of a call has to be known, optional ones too.
        """
        names = list(self._target.parameters)
        tried = 0
        for call in calls_of(self._repository, self._target.name, self._repository.path):
            given = call.arguments(names)
            known, configured, unknown = self._known(given)
            missing = [name for name in self._target.required if name not in known]
            is_new = most_missing == 0 or bool(missing)
            if len(missing) > most_missing or not is_new or (is_whole and unknown):
                continue
            tried += 1
            if tried > _CALLS_TRIED:
                return
            yield from self._completed(known, configured, call.place)

    def _known(
        self, given: dict[str, Expression]
    ) -> tuple[dict[str, Callable[[], Any]], tuple[Configured, ...], list[str]]:
        """The arguments of a call that can be worked out, and the names of the others."""
        known: dict[str, Callable[[], Any]] = {}
        configured: list[Configured] = []
        unknown = []
        for name, found in given.items():
            if name not in self._target.parameters:
                continue
            try:
                self._evidence.evaluator.value(found)
            except UnknownValueError:
                if not wants_settings(self._target, name):
                    unknown.append(name)
                    continue
                config = next(self._configurations(name))
                configured.append(config)
                known[name] = config.make
            else:
                known[name] = _working_out(self._evidence, found)
        return known, tuple(configured), unknown

    def _completed(
        self,
        known: dict[str, Callable[[], Any]],
        configured: tuple[Configured, ...],
        place: str,
    ) -> Iterator[Proposal]:
        """A call with what is known, the other required parameters by the evidence for each."""
        makers = dict(known)
        values: list[AssumedValue] = []
        fills = [each.fill for each in configured if each.fill]
        for each in configured:
            values += each.values
        for name in self._target.required:
            if name in makers:
                continue
            stated = self._evidence.stated_or_usual(
                name, self._target.required, self._target.parameters[name].annotation
            )
            if stated is not None:
                makers[name] = _constant(settings_of(stated.value))
                values.append(AssumedValue(name, short(stated.value), stated.place))
            elif wants_settings(self._target, name):
                config = next(self._configurations(name))
                makers[name] = config.make
                values += config.values
                fills += [config.fill] if config.fill else []
            elif is_settings_name(name):
                makers[name] = lambda: Settings({})
            else:
                return
        named = {each.name for each in values}

        def make() -> Any:  # noqa: ANN401
            given = {name: maker() for name, maker in makers.items()}
            stated = {name: given[name] for name in known if name not in named}
            self._note(stated, place)
            return self._target.called(**given)

        yield Proposal(make, tuple(values), fills[0] if fills else None)

    def _note(self, given: dict[str, Any], place: str) -> None:
        for value in values_given(given, place):
            self._findings.value(value.name, value.value, value.place)


def _given_text(given: tuple[AssumedValue, ...]) -> str:
    shown = [f"{each.name} = {each.value} ({each.place})" for each in given[:_VALUES_SHOWN]]
    more = len(given) - len(shown)
    return f"it was given {', '.join(shown)}{f' and {more} others' if more else ''}"


def _of_configuration(target: Target, name: str, configured: Configured) -> Proposal:
    return Proposal(
        lambda: target.called(**{name: configured.make()}), configured.values, configured.fill
    )


def _constant(value: Any) -> Callable[[], Any]:  # noqa: ANN401
    return lambda: value


def _working_out(evidence: Evidence, found: Expression) -> Callable[[], Any]:
    """Works an expression out anew: a module in it is then built where the target is."""
    return lambda: evidence.evaluator.value(found)
