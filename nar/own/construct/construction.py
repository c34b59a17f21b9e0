"""From a class or function of a user's file to what it makes, its arguments found."""

import ast
import inspect
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from nar.graphs.assumed import AssumedValue
from nar.own.clock import Deadline
from nar.own.construct.configs import wants_settings
from nar.own.construct.evidence.calls import CallSite
from nar.own.construct.evidence.evaluator import Definitions, is_settings_name
from nar.own.construct.evidence.expressions import Expression, UnknownValueError
from nar.own.construct.evidence.lookup import Evidence, Stated
from nar.own.construct.evidence.repository import SETTINGS_ENDINGS, Repository
from nar.own.construct.evidence.settings import MissingSettingError, StatedSettings, settings_of
from nar.own.construct.findings import Findings
from nar.own.construct.makers import (
    NotBuiltError,
    caught,
    choices_of,
    choosing_makers,
    makers_of,
    needs,
)
from nar.own.construct.mending import mends
from nar.own.construct.proposals import Proposal, Target, short
from nar.own.construct.reads import names_read
from nar.own.construct.stated_calls import StatedCalls

_MOST_PROPOSALS = 14  # Chosen: each may build a large model; later ones are guesses
# Chosen: the first way may import libraries for longer than that, and says nothing of the next.
_FEWEST_PROPOSALS = 4
_MOST_SECONDS = 12.0  # Chosen: after so long no further way is begun
_MOST_FILLS = 25  # names that a configuration lacks, each found by one more attempt
_VALUES_SHOWN = 6  # Chosen: of a failure's arguments, three lines of a terminal
_MAKERS_TRIED = 4  # Chosen: each may build a large model
_SETTINGS_FILE = inspect.getfile(MissingSettingError)
_PARENTS_ABOVE = 4  # attention in a layer in an encoder in a model


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
        chosen: Values by which code chooses that class.
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
        chosen: Mapping[str, Stated] | None = None,
    ) -> None:
        self._target = target
        self._module = module
        self._repository = repository
        self._definitions = definitions
        self._findings = findings
        self._level = level
        self._subject = subject or target.name
        self._evidence = Evidence(repository, self._subject, definitions, chosen)
        self._stated = StatedCalls(target, module, self._evidence, definitions, findings)
        self._proposals: list[Proposal] = []
        self._source: Iterator[Proposal] = self._proposed()
        self._chosen: Proposal | None = None
        # What was made of ways that lead nowhere: another way to the same is none.
        self._refused: list[tuple[AssumedValue, ...]] = []

    def another(self) -> bool:
        """Leave the way that was taken for the next one; whether there may be one."""
        if self._chosen is None or len(self._proposals) >= _MOST_PROPOSALS:
            return False
        self._refused.append(self._findings.assumed().values)
        self._findings.forget_values()
        taken = self._proposals.index(self._chosen) + 1
        self._proposals, self._chosen = self._proposals[taken:], None
        return True

    def make(self) -> Any:  # noqa: ANN401
        """Make it anew, by the first way that succeeds.

        Raises:
            NothingKnownError: No way is known.
            BaseException: What the first way raised, where all fail.
        """
        if self._chosen is not None:
            return self._made(self._chosen)
        failure: BaseException | None = None
        bare: Proposal | None = None
        for proposal in self._each():
            try:
                made = self._made(proposal)
                self._check_new()
            # A user's code can raise anything, SystemExit too.
            except (Exception, SystemExit) as error:
                # That a way leads elsewhere tells less than an error on the way.
                is_first = failure is None or isinstance(failure, NotBuiltError)
                failure = error if is_first else failure
                continue
            if self._is_bare(made):
                bare = bare or proposal
                continue
            self._chosen = proposal
            return made
        if bare is not None:
            self._chosen = bare
            return self._made(bare)
        required = ", ".join(self._target.required)
        raise failure or NothingKnownError(f"{self._target.name} wants {required}")

    def _is_bare(self, made: object) -> bool:
        """Whether what was made has no weights, though it takes arguments: nobody gave them."""
        is_module = isinstance(made, nn.Module) and bool(self._target.parameters)
        return is_module and next(made.parameters(), None) is None  # type: ignore[attr-defined]

    def _check_new(self) -> None:
        """Refuse what is made of values that led nowhere before.

        Raises:
            NotBuiltError: It is.
        """
        if self._findings.assumed().values in self._refused:
            self._findings.forget_values()
            raise NotBuiltError("it is made as before")

    def _each(self) -> Iterator[Proposal]:
        """The proposals of earlier attempts, then new ones."""
        yield from list(self._proposals)
        deadline = Deadline(_MOST_SECONDS)
        for proposal in self._source:
            self._proposals.append(proposal)
            yield proposal
            is_late = not deadline.left and len(self._proposals) >= _FEWEST_PROPOSALS
            if is_late or len(self._proposals) >= _MOST_PROPOSALS:
                return

    def _made(self, proposal: Proposal) -> Any:  # noqa: ANN401
        with self._findings.attempt():
            for value in proposal.values:
                self._findings.value(value.name, value.value, value.place)
            try:
                return self._filled(proposal)
            except (Exception, SystemExit) as error:
                if mends(error, self._repository.root, self._findings):
                    return self._made(proposal)
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
                fill = proposal.fill or partial(self._fill, error.holder)
                filled = fill(error.setting, error.above, is_holder=_is_holder(error))
                if filled is None:
                    raise
                self._findings.value(filled.name, filled.value, filled.place)
        return proposal.make()

    def _fill(
        self,
        holder: StatedSettings | None,
        name: str,
        above: tuple[str, ...] = (),
        *,
        is_holder: bool = False,
    ) -> AssumedValue | None:
        """Give a configuration that a call holds a name that it lacks, and say so."""
        del above, is_holder
        stated = self._evidence.stated_or_usual(name, (name,)) if holder is not None else None
        if holder is None or stated is None or name in holder:
            return None
        holder[name] = settings_of(stated.value)
        return AssumedValue(name, short(stated.value), stated.place)

    def _proposed(self) -> Iterator[Proposal]:
        if not self._target.required:
            yield from self._files()
            yield from self._overriding()
            yield Proposal(self._target.called)
            yield from self._stated.of_calls(most_missing=0)
            return
        if len(self._target.required) == 1:
            name = self._target.required[0]
            # A part of a model has the configuration that the model is built with.
            if wants_settings(self._target, name):
                # Where a table of arguments has all that is read, none is to be guessed on the way
                # through what builds it.
                if self._evidence.covers(names_read(self._target.called, name)):
                    yield from self._stated.configured(name)
                yield from self._parents()
                yield from self._stated.of_calls(most_missing=0, is_whole=True)
            yield from self._stated.configured(name)
        yield from self._functions()
        yield from self._stated.of_configurations_that_name_it()
        yield from self._stated.of_calls(most_missing=0)
        yield from self._parents()
        yield from self._chosen_by_name()
        yield from self._stated.of_calls(most_missing=len(self._target.required))
        yield from self._stated.completed({}, (), "")

    def _files(self) -> Iterator[Proposal]:
        """Defaults that are files of settings, found in the repository where none is there."""
        found = {}
        for name, parameter in self._target.parameters.items():
            default = parameter.default
            is_file = isinstance(default, str) and Path(default).suffix in SETTINGS_ENDINGS
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
        yield from self._stated.of_configurations_that_name_it()
        functions, _ = makers_of(self._repository, self._target)
        ready = [each for each in functions if not needs(each[1])]
        if len(ready) == 1 and ready[0][0].path == self._repository.path:
            yield from self._functions()
            return
        yield from self._stated.only_one()
        # Where a script's own function makes it of a configuration, its defaults are not used.
        scripts = [
            (call, function)
            for call, function in functions
            if call.path != self._repository.path
            and not self._repository.is_test(call.path)
            and all(map(is_settings_name, needs(function)))
        ]
        yield from self._of_functions(scripts)

    def _functions(self) -> Iterator[Proposal]:
        """Functions of the repository that make it, run and caught."""
        if not self._target.is_class:
            return
        functions, _ = makers_of(self._repository, self._target)
        yield from self._of_functions(functions)

    def _of_functions(
        self, functions: list[tuple[CallSite, ast.FunctionDef]]
    ) -> Iterator[Proposal]:
        for call, function in functions[:_MAKERS_TRIED]:
            others = len(functions) - 1
            more = f"; {others} other functions make it too" if others else ""
            place = f"{call.place} {function.name}(){more}"
            yield self._caught(call, function, place)

    def _arguments_of(self, call: CallSite, function: ast.FunctionDef) -> dict[str, Any] | None:
        """What a maker is called with; None where something that it needs is not known.

        A configuration is found by what the maker reads of it, not by its name.
        """
        given: dict[str, Any] = {}
        for name in needs(function):
            if is_settings_name(name) and self._level < _PARENTS_ABOVE:
                return None
            if name in self._chosen_in(call.path):
                given[name] = self._chosen_in(call.path)[name].value
                continue
            node = ast.copy_location(ast.Name(name, ast.Load()), call.node)
            try:
                given[name] = self._evidence.evaluator.value(Expression(call.path, call.tree, node))
            except UnknownValueError:
                return None
        return given

    def _caught(self, call: CallSite, function: ast.FunctionDef, place: str) -> Proposal:
        def make() -> Any:  # noqa: ANN401
            module = self._definitions(call.path)
            maker = getattr(module, function.name)
            arguments = self._arguments_of(call, function)
            if arguments is not None:
                run: Callable[[], Any] = partial(maker, **arguments)
            elif self._level < _PARENTS_ABOVE:
                run = self._beside(Target.of(maker, function.name), module, call.path).make
            else:
                raise NotBuiltError(f"nothing tells the arguments of {function.name}")
            made, given = caught(self._target, run)
            self._stated.note(given, place)
            return made

        return Proposal(make)

    def _chosen_by_name(self) -> Iterator[Proposal]:
        """Functions that make the class that a configuration names, run and caught."""
        if not self._target.is_class or self._level >= _PARENTS_ABOVE:
            return
        for each in choosing_makers(self._repository)[:_MAKERS_TRIED]:
            yield Proposal(partial(self._part_of, each.path, each.node.name, each.place))

    def _chosen_in(self, path: Path) -> dict[str, Stated]:
        """The values by which code chooses this class, in another file as well."""
        choices = choices_of(self._repository.tree(path), self._target, self._repository)
        place = f"it chooses {self._target.name} in {self._repository.relative(path)}"
        own = {name: Stated(value, place) for name, value in choices.items()}
        return own | dict(self._evidence.chosen)

    def _beside(self, target: Target, module: ModuleType, path: Path) -> "Construction":
        """The construction of something else of the repository, for the sake of this one.

        Args:
            target: It.
            module: The module of its file.
            path: Its file.
        """
        return Construction(
            target,
            module,
            self._repository,
            self._definitions,
            Findings(),
            self._level + 1,
            self._subject,
            self._chosen_in(path),
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
            raise NotBuiltError(f"{owner} is neither a class nor a function")
        whole = self._beside(Target.of(maker, owner), module, path)
        made, given = caught(self._target, whole.make)
        words = f", as a part of {owner}" if inspect.isclass(maker) else f" {owner}()"
        self._stated.note(given, f"{place}{words}")
        return made


def _is_holder(error: MissingSettingError) -> bool:
    """Whether something is read of the setting that a configuration lacks: ``data.words.count``."""
    raised = traceback.extract_tb(error.__traceback__)
    lines = [each.line or "" for each in raised if each.filename != _SETTINGS_FILE]
    read = rf"\b{re.escape(error.setting)}\b['\"]?\]?[.\[]"
    return bool(lines) and re.search(read, lines[-1]) is not None


def _given_text(given: tuple[AssumedValue, ...]) -> str:
    shown = [f"{each.name} = {each.value} ({each.place})" for each in given[:_VALUES_SHOWN]]
    more = len(given) - len(shown)
    return f"it was given {', '.join(shown)}{f' and {more} others' if more else ''}"
