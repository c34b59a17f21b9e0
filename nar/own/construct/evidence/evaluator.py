"""Works out expressions of a repository: literals, names, and calls of what files define.

No statement is run but imports and definitions: a name is followed to what is assigned to it, a
parameter to what its function is called with, an attribute of ``self`` to its constructor. What a
loop fills, what a condition that is not known decides, and what is read of data stay unknown.
"""

import ast
import builtins
import copy
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from nar.own.construct.evidence.calls import calls_of
from nar.own.construct.evidence.expressions import (
    Expression,
    UnknownValueError,
    default_of,
    enclosing_class,
    enclosing_functions,
    literal,
    parameters,
)
from nar.own.construct.evidence.names import (
    assignments_before,
    attributes_set,
    defined_name,
    is_changed,
    is_made,
    modules_imported,
    part_of,
    path_of,
)
from nar.own.construct.evidence.repository import Repository
from nar.own.construct.evidence.settings import StatedSettings, settings_of
from nar.own.construct.evidence.sources import parser_values
from nar.own.construct.imports.stand_ins import StandIn
from nar.own.construct.imports.weights import NotLoaded

# Chosen: names are followed so far; longer chains were loops of functions that call each other.
_DEPTH = 8
_CALLS_FOLLOWED = 3  # chosen: callers of one function mostly give it the same
_SETTINGS_NAME: Final = re.compile(
    r"^(config|configs|cfg|cfgs|conf|args|arg|opt|opts|options|hparams|hps?|h|params|dims|FLAGS|"
    r"(model|net|network)_?(args|cfg|config|params|opt)|[a-z]\w*_(args|cfg|conf|config|hparams)|c)$"
)
Definitions = Callable[[Path], ModuleType]


def is_settings_name(name: str) -> bool:
    """Whether a parameter of that name usually is a configuration."""
    return bool(_SETTINGS_NAME.match(name))


class Evaluator:
    """Works out expressions of one repository.

    Args:
        repository: It.
        definitions: Gives the module of a file, of which no more than definitions need be run.
    """

    def __init__(self, repository: Repository, definitions: Definitions) -> None:
        self._repository = repository
        self._definitions = definitions
        self._running: set[int] = set()
        # Configurations that are being completed line by line, by their scope and name.
        self._growing: dict[tuple[int, str], StatedSettings] = {}

    def value(self, found: Any, depth: int = 0) -> Any:  # noqa: ANN401
        """A value as it is, an expression worked out.

        Raises:
            UnknownValueError: It cannot be worked out.
        """
        if not isinstance(found, Expression):
            return found
        try:
            return literal(found.node)
        except UnknownValueError:
            pass
        if depth > _DEPTH or id(found.node) in self._running:
            raise UnknownValueError(ast.unparse(found.node)[:60])
        self._running.add(id(found.node))
        try:
            return self._computed(found, depth)
        finally:
            self._running.discard(id(found.node))

    def is_reached(self, found: Expression) -> bool | None:
        """Whether an expression is reached where its file is run with its defaults.

        Returns:
            None where a condition around it is not known.
        """
        line = found.node.lineno
        scope = next(iter(enclosing_functions(found.tree, line)), found.tree)
        return is_made(scope, found.node, self._condition(found, 0))

    def known(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Those of some values that can be worked out."""
        known = {}
        for name, found in values.items():
            try:
                known[name] = self.value(found)
            except UnknownValueError:
                continue
        return known

    def _computed(self, found: Expression, depth: int) -> Any:  # noqa: ANN401
        names = {}
        for node in free_names(found.node):
            if node.id not in names:
                names[node.id] = self._name(found.beside(node), depth)
        text = ast.unparse(found.node)[:60]
        for call in calls_in(found.node):
            if not is_allowed(call, names):
                raise UnknownValueError(f"{text}: it runs more than definitions")
        try:
            code = compile(ast.Expression(found.node), str(found.path), "eval")
            value = eval(code, {"__builtins__": builtins, **names})
        # What a repository defines may raise anything.
        except (Exception, SystemExit) as error:
            raise UnknownValueError(f"{text}: {error}") from error
        if isinstance(value, StandIn | NotLoaded):
            raise UnknownValueError(f"{text}: it is not there")
        return value

    def _name(self, found: Expression, depth: int) -> Any:  # noqa: ANN401
        assert isinstance(found.node, ast.Name), "only names are looked up"
        name, line = found.node.id, found.node.lineno
        functions = enclosing_functions(found.tree, line)
        if name == "self":
            return _Self(self, found, depth)
        for function in functions:
            if is_settings_name(name) and name in parameters(function):
                return self._grown(found, function, function.lineno, depth)
            assigned = assignments_before(function, name, line)
            if assigned:
                return self._assigned(found, function, assigned, depth)
            if name in parameters(function):
                return self._parameter(found, function, name, depth)
        assigned = assignments_before(found.tree, name, sys.maxsize if functions else line)
        if assigned and not is_settings_name(name):
            return self._assigned(found, found.tree, assigned, depth)
        try:
            return defined_name(found, name, self._repository, self._definitions)
        except UnknownValueError:
            if is_settings_name(name):
                return self.namespace(found)
            raise

    def _assigned(
        self,
        found: Expression,
        scope: ast.FunctionDef | ast.Module,
        assigned: list[ast.Assign],
        depth: int,
    ) -> Any:  # noqa: ANN401
        """The value of the last assignment that is reached.

        Raises:
            UnknownValueError: The name changes on the way, or a condition is not known that decides
                between several values.
        """
        assert isinstance(found.node, ast.Name), "only names are assigned"
        name = found.node.id
        parsed = next((each for each in assigned if _is_parsed(each)), None)
        if is_settings_name(name) and parsed is not None:
            return self._grown(found, scope, parsed.lineno, depth)
        if is_changed(scope, name):
            raise UnknownValueError(f"{name} is changed on the way")
        condition = self._condition(found, depth)
        for number, each in enumerate(assigned):
            reached = is_made(scope, each, condition)
            is_only = number == len(assigned) - 1
            if reached is False:
                continue
            if reached is None and not is_only:
                raise UnknownValueError(f"{name} depends on a condition that is not known")
            value = self.value(found.beside(each.value), depth + 1)
            part = part_of(each, name)
            try:
                whole = value if part is None else value[part]
            # Several names may stand before what is no sequence of so many.
            except (LookupError, TypeError) as error:
                raise UnknownValueError(f"{name} is no part of it") from error
            later = attributes_set(scope, name, each.lineno, found.node.lineno)
            return self._with_attributes(found, whole, later, (scope, condition, depth))
        raise UnknownValueError(f"{name} is assigned elsewhere")

    def _grown(
        self, found: Expression, scope: ast.FunctionDef | ast.Module, line: int, depth: int
    ) -> StatedSettings:
        """The namespace of a file's parser after what is set of it between a line and here."""
        assert isinstance(found.node, ast.Name), "only names hold namespaces"
        key = id(scope), found.node.id
        if key in self._growing:
            return self._growing[key]
        later = attributes_set(scope, found.node.id, line, found.node.lineno)
        namespace = copy.deepcopy(self.namespace(found))
        self._growing[key] = namespace
        try:
            condition = self._condition(found, depth)
            self._set_attributes(found, namespace, later, (scope, condition, depth))
        finally:
            del self._growing[key]
        return namespace

    def _with_attributes(
        self,
        found: Expression,
        value: Any,  # noqa: ANN401
        later: list[ast.Assign],
        place: tuple[ast.AST, Callable[[ast.expr], bool | None], int],
    ) -> Any:  # noqa: ANN401
        """An object after the attributes that are set of it, as far as these are known."""
        if not later or not isinstance(value, StatedSettings):
            return value
        changed = copy.deepcopy(value)
        self._set_attributes(found, changed, later, place)
        return changed

    def _set_attributes(
        self,
        found: Expression,
        changed: StatedSettings,
        later: list[ast.Assign],
        place: tuple[ast.AST, Callable[[ast.expr], bool | None], int],
    ) -> None:
        """Set what is set of a name's object, as far as it is known to be set and to what."""
        assert isinstance(found.node, ast.Name), "only names hold namespaces"
        scope, condition, depth = place
        for each in later:
            if is_made(scope, each, condition) is not True:
                continue
            try:
                new = self.value(found.beside(each.value), depth + 1)
            except UnknownValueError:
                continue
            *above, last = path_of(each.targets[0], found.node.id)
            holder = changed
            for part in above:
                holder = holder.setdefault(part, StatedSettings())
            holder[last] = settings_of(new)

    def _condition(self, found: Expression, depth: int) -> Callable[[ast.expr], bool | None]:
        def condition(test: ast.expr) -> bool | None:
            if ast.unparse(test).startswith("__name__ =="):
                return True
            try:
                return bool(self.value(found.beside(test), depth + 1))
            except UnknownValueError:
                return None

        return condition

    def _parameter(
        self, found: Expression, function: ast.FunctionDef, name: str, depth: int
    ) -> Any:  # noqa: ANN401
        """What a function is given for a parameter by its callers, else its default."""
        owner = enclosing_class(found.tree, function.lineno)
        is_constructor = owner is not None and function.name == "__init__"
        called = owner.name if owner is not None and is_constructor else function.name
        positions = parameters(function)
        positions = positions[1:] if owner is not None else positions
        for call in calls_of(self._repository, called)[:_CALLS_FOLLOWED]:
            given = call.argument(name, positions)
            if given is not None:
                try:
                    return self.value(given, depth + 1)
                except UnknownValueError:
                    continue
        default = default_of(function, name)
        if default is None:
            raise UnknownValueError(f"{name} of {called}")
        return self.value(found.beside(default), depth + 1)

    def namespace(self, found: Expression) -> StatedSettings:
        """The defaults of a file's parsers, else of the parsers of the nearest file.

        Raises:
            UnknownValueError: There is no parser.
        """
        own = parser_values(self._repository, found.path)
        if own:
            return StatedSettings(self.known(own))
        imported = [
            parser_values(self._repository, path)
            for path in self._repository.python_files
            if modules_imported(found.tree) & {path.stem, path.parent.name}
        ]
        if any(imported):
            return StatedSettings(self.known(max(imported, key=len)))
        for path in self._repository.python_files:
            values = parser_values(self._repository, path)
            if values and found.path.stem in self._repository.text(path):
                return StatedSettings(self.known(values))
        raise UnknownValueError("no parser of arguments")

    def attribute_of_self(self, found: Expression, attribute: str, depth: int) -> Any:  # noqa: ANN401
        """What a class's constructor assigns to an attribute.

        Raises:
            UnknownValueError: It assigns none, or what cannot be worked out.
        """
        owner = enclosing_class(found.tree, found.node.lineno)
        for node in ast.walk(owner) if owner is not None else ():
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == f"self.{attribute}":
                return self.value(found.beside(node.value), depth + 1)
        raise UnknownValueError(f"self.{attribute}")


class _Self:
    """Stands for ``self`` in an expression: its attributes are looked up in the constructor."""

    def __init__(self, evaluator: Evaluator, found: Expression, depth: int) -> None:
        self._place = evaluator, found, depth

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        evaluator, found, depth = self._place
        return evaluator.attribute_of_self(found, name, depth)


def _is_parsed(assignment: ast.Assign) -> bool:
    return "parse_args" in ast.unparse(assignment.value) or "parse_known_args" in ast.unparse(
        assignment.value
    )


# Calls that read data, start work or ask the machine.
_READING = re.compile(
    r"load|open|read|download|Dataset|DataLoader|glob|listdir|system|subprocess|requests|urlopen|"
    r"input$|exec|eval$|train|compile|\.to$|\.cuda$",
)
_PLAIN_CALLS: Final = frozenset({
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "frozenset", "getattr",
    "hasattr", "int", "isinstance", "len", "list", "map", "max", "min", "pow", "range", "reversed",
    "round", "set", "sorted", "str", "sum", "tuple", "type", "vars", "zip",
})  # fmt: skip


def free_names(node: ast.expr) -> Iterator[ast.Name]:
    """The names of an expression that it does not bind itself and that are no builtins."""
    bound = {
        name.id
        for each in ast.walk(node)
        if isinstance(each, ast.comprehension)
        for name in ast.walk(each.target)
        if isinstance(name, ast.Name)
    }
    for each in ast.walk(node):
        if isinstance(each, ast.Lambda):
            bound |= {argument.arg for argument in each.args.args}
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id not in bound and each.id not in _PLAIN_CALLS:
            yield each


def calls_in(node: ast.expr) -> Iterator[ast.Call]:
    """The calls that evaluating an expression makes."""
    # The body of a lambda runs only where it is called.
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Call):
            yield each
        if not isinstance(each, ast.Lambda):
            waiting += ast.iter_child_nodes(each)


def is_allowed(call: ast.Call, names: Mapping[str, Any]) -> bool:
    """Whether a call computes, as far as its name tells, and is of a known name.

    Args:
        call: It.
        names: The names that are known.
    """
    text = ast.unparse(call.func)
    if _READING.search(text):
        return False
    root = call.func
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return True  # a method of a literal, such as "a b".split()
    return root.id in names or root.id in _PLAIN_CALLS
