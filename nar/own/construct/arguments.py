"""Arguments of a factory, as a person writes them behind its name.

They are values of Python, names that the file defines, calls of such names, and files:
``(64, deep=True)``, ``(GPTConfig(n_layer=6))``, ``(@config.yaml)``, ``(h=@config.json:model.net)``,
``(**@config.yaml)``. A file is ``@`` and its path, a place in it ``:`` and keys with dots between
them; a path with spaces, commas, colons or brackets stands in quotes.
"""

import ast
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from nar.base.errors import InvalidInputError
from nar.own.construct.evidence.parsed import read_settings
from nar.own.construct.evidence.settings import settings_of

_WANTED = (
    "wanted arguments that are values of Python, such as (64, deep=True), calls of what the file "
    "defines, such as (Config(depth=6)), or files of settings, such as (@config.yaml:model)"
)
# `@config.yaml:model.encoder` at the place of a value, before the next comma or bracket.
# Texts in quotes are passed over.
_FILE: Final = re.compile(
    r"""
    (?P<before> (?: [(,=\[{] | \*\* ) \s* )
    @ (?: '(?P<single>[^']*)' | "(?P<double>[^"]*)" | (?P<bare>[^\s,:()\[\]{}'"]+) )
    (?: : (?P<keys>[\w.\-]+) )?
    | (?P<text> '[^']*' | "[^"]*" )
    """,
    re.VERBOSE,
)
# What stands for the n-th file in the text that Python parses.
_PLACEHOLDER = "__file_{}__"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file of settings, or a place in one.

    Attributes:
        path: As it was written.
        keys: The way to the place, from the outermost key.
    """

    path: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """An argument that is no plain value: it is worked out where the file has been run.

    Attributes:
        node: Its expression.
        files: The files that placeholders in it stand for.
    """

    node: ast.expr
    files: Mapping[str, SettingsFile]


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a factory is called with.

    Attributes:
        by_position: In their order.
        by_name: The others.
        spread: Files of settings whose keys are arguments by name.
    """

    by_position: tuple[Any, ...] = ()
    by_name: Mapping[str, Any] = field(default_factory=dict)
    spread: tuple[Any, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is none."""
        return not (self.by_position or self.by_name or self.spread)


def read_arguments(text: str) -> Arguments:
    """The arguments in a pair of brackets; an empty text has none.

    Raises:
        InvalidInputError: They are neither values nor what `Written` may be.

    Example:
        >>> read_arguments("(64, deep=True)").by_position
        (64,)
    """
    plain, files = _with_placeholders(text or "()")
    try:
        call = ast.parse(f"f{plain}", mode="eval").body
    except SyntaxError as error:
        raise InvalidInputError(text, _WANTED) from error
    if not isinstance(call, ast.Call):
        raise InvalidInputError(text, _WANTED)
    given = {each: _argument(text, each, files) for each in _values(call)}
    spread = [key.value for key in call.keywords if key.arg is None]
    if any(not (isinstance(node, ast.Name) and node.id in files) for node in spread):
        raise InvalidInputError(text, "wanted each argument by itself, came **")
    return Arguments(
        tuple(given[node] for node in call.args),
        {key.arg: given[key.value] for key in call.keywords if key.arg},
        tuple(given[node] for node in spread),
    )


def resolved(
    arguments: Arguments, module: ModuleType, folders: tuple[Path, ...], root: Path
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The values of arguments, by position and by name; each call makes new objects.

    Args:
        arguments: What was written.
        module: The user's file, after it has been run.
        folders: Where files of settings are looked for.
        root: The repository, whose definitions may be called.

    Raises:
        InvalidInputError: A name, a file or a key in it is not there, or a call is of something
            that the repository does not define.
    """

    def value(given: Any) -> Any:  # noqa: ANN401
        if not isinstance(given, Written):
            return given
        return _Resolver(module, folders, root, given.files).value(given.node)

    by_name = {name: value(given) for name, given in arguments.by_name.items()}
    for each in arguments.spread:
        settings = value(each)
        if not isinstance(settings, Mapping):
            raise InvalidInputError("**", f"wanted a mapping, came {type(settings).__name__}")
        by_name |= settings
    return tuple(value(given) for given in arguments.by_position), by_name


class _Resolver:
    """Works out one argument; runs no more than calls of what the repository defines."""

    def __init__(
        self,
        module: ModuleType,
        folders: tuple[Path, ...],
        root: Path,
        files: Mapping[str, SettingsFile],
    ) -> None:
        self._module = module
        self._folders = folders
        self._root = root
        self._files = files

    def value(self, node: ast.expr) -> Any:  # noqa: ANN401
        kind = _KINDS.get(type(node))
        if kind is None:
            raise InvalidInputError(ast.unparse(node), _WANTED)
        return kind(self, node)

    def constant(self, node: ast.expr) -> Any:  # noqa: ANN401
        return ast.literal_eval(node)

    def name(self, node: ast.Name) -> Any:  # noqa: ANN401
        if node.id in self._files:
            return self._settings(self._files[node.id])
        if not hasattr(self._module, node.id):
            known = [n for n, v in vars(self._module).items() if isinstance(v, type)]
            raise InvalidInputError(
                node.id,
                f"wanted a name that {Path(str(self._module.__file__)).name} defines, such as "
                f"{', '.join(known[:5])}; a text stands in quotes",
            )
        return getattr(self._module, node.id)

    def attribute(self, node: ast.Attribute) -> Any:  # noqa: ANN401
        if node.attr.startswith("_"):
            raise InvalidInputError(ast.unparse(node), "wanted no name with _ in front")
        return getattr(self.value(node.value), node.attr)

    def sequence(self, node: ast.List | ast.Tuple | ast.Set) -> Any:  # noqa: ANN401
        kinds = {ast.List: list, ast.Tuple: tuple, ast.Set: set}
        return kinds[type(node)](self.value(each) for each in node.elts)

    def mapping(self, node: ast.Dict) -> dict[Any, Any]:
        keys = [self.value(key) for key in node.keys if key is not None]
        return dict(zip(keys, map(self.value, node.values), strict=True))

    def call(self, node: ast.Call) -> Any:  # noqa: ANN401
        called = self.value(node.func)
        if not self._may_be_called(called):
            raise InvalidInputError(
                ast.unparse(node), "wanted a call of what the file's repository defines"
            )
        by_name = {str(key.arg): self.value(key.value) for key in node.keywords}
        return called(*map(self.value, node.args), **by_name)

    def _may_be_called(self, called: Any) -> bool:  # noqa: ANN401
        home = str(getattr(called, "__module__", ""))
        if home == self._module.__name__ or (
            isinstance(called, type) and home.startswith("torch.")
        ):
            return True
        origin = getattr(sys.modules.get(home), "__file__", None)
        return origin is not None and Path(origin).is_relative_to(self._root)

    def _settings(self, file: SettingsFile) -> Any:  # noqa: ANN401
        found = [folder / file.path for folder in self._folders if (folder / file.path).is_file()]
        if not found:
            raise InvalidInputError(f"@{file.path}", "wanted a file of YAML or JSON, there is none")
        try:
            held = read_settings(found[0])
        except ValueError as error:
            raise InvalidInputError(f"@{file.path}", f"wanted YAML or JSON: {error}") from error
        for key in file.keys:
            if not isinstance(held, Mapping) or key not in held:
                there = ", ".join(map(str, held)) if isinstance(held, Mapping) else "no mapping"
                raise InvalidInputError(f"@{file.path}:{key}", f"wanted one of its keys: {there}")
            held = held[key]
        return settings_of(held)


_KINDS: Final[dict[type, Any]] = {
    ast.Constant: _Resolver.constant,
    ast.UnaryOp: _Resolver.constant,
    ast.Name: _Resolver.name,
    ast.Attribute: _Resolver.attribute,
    ast.List: _Resolver.sequence,
    ast.Tuple: _Resolver.sequence,
    ast.Set: _Resolver.sequence,
    ast.Dict: _Resolver.mapping,
    ast.Call: _Resolver.call,
}


def _with_placeholders(text: str) -> tuple[str, dict[str, SettingsFile]]:
    files: dict[str, SettingsFile] = {}

    def replace(found: re.Match[str]) -> str:
        if found["text"] is not None:
            return found["text"]
        name = _PLACEHOLDER.format(len(files))
        path = found["single"] or found["double"] or found["bare"] or ""
        keys = found["keys"].split(".") if found["keys"] else ()
        files[name] = SettingsFile(path, tuple(keys))
        return found["before"] + name

    return _FILE.sub(replace, text), files


def _values(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(key.value for key in call.keywords)]


def _argument(text: str, node: ast.expr, files: Mapping[str, SettingsFile]) -> Any:  # noqa: ANN401
    """A plain value, or what is worked out later."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        pass
    for each in ast.walk(node):
        is_expression = isinstance(each, ast.expr) and not isinstance(each, ast.Starred)
        if is_expression and type(each) not in _KINDS:
            raise InvalidInputError(text, _WANTED)
    return Written(node, files)
