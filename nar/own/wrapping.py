"""A wrapper as text: a function to fill in that makes a user's module, with what is known of it."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any, Final

from nar.base.asking import NOTHING_STATED, Asking
from nar.base.errors import UnknownArchitectureError
from nar.capture.forward.dispatch import reason_of
from nar.graphs.assumed import AssumedValue
from nar.own.construct.configs import configurations, wants_settings
from nar.own.construct.evidence.expressions import default_of, parameters
from nar.own.construct.evidence.lookup import Evidence, Stated
from nar.own.construct.evidence.repository import Repository
from nar.own.construct.proposals import Parameter, Target, short
from nar.own.construct.reads import is_read_by_keys, names_read
from nar.own.guard import Guard
from nar.own.user_code import UserCode, as_at_home, place_of_import

_PLAIN: Final = (int, float, str, bool, type(None))
# What stands where nothing is known: valid Python, which no layer takes.
_TO_FILL: Final = "..."
_HEAD: Final = '''"""Makes {name} of {file}.

Fill in what is missing, then ask: nar search {asked}:model
"""

import sys
{namespace}
sys.path.insert(0, {folder!r})

from {module} import {imported}  # noqa: E402


def model():
'''
_NAMESPACE: Final = "from types import SimpleNamespace\n"
# How settings are written that are read as fields, or by keys: opened, one of them, closed.
_FIELDS: Final = ("SimpleNamespace(", "{name}={value}", ")")
_DICT: Final = ("{", "{name!r}: {value}", "}")
_TAIL: Final = """

# What it is called with is found by itself; otherwise state it, as in --input x=1x3x224x224.
"""


# Names to import of the user's file, and the lines of the function.
_Body = tuple[list[str], list[str]]


def wrapper_of(
    path: Path, name: str, asking: Asking = NOTHING_STATED, *, asked: str = "ask.py"
) -> str:
    """The text of a file with a function that makes a class of a user's file.

    Each parameter stands on its line, with its type, what was found for it and where. Filled in,
    the file runs: ``nar search ask.py:model``.

    Args:
        path: The user's file.
        name: The class, or a function.
        asking: What the user states.
        asked: The name of the file that the text is written to.

    Raises:
        UnknownArchitectureError: The file defines no such class.
    """
    imported, lines = Guard(asking.allowed).run(lambda: _body(path, name))
    folder, module = place_of_import(path)
    head = _HEAD.format(
        name=name,
        file=path.name,
        asked=asked,
        folder=str(folder),
        module=module,
        namespace=_NAMESPACE if any("SimpleNamespace(" in line for line in lines) else "",
        imported=", ".join(dict.fromkeys((name, *imported))),
    )
    return head + "\n".join(lines) + _TAIL


def _body(path: Path, name: str) -> _Body:
    with as_at_home(path) as code:
        try:
            called = getattr(code.module(name), name, None)
        # The file's own failure is no obstacle: its text tells the signature.
        except (Exception, SystemExit) as error:
            return _of_text(code.repository, path, name, reason_of(error))
        if called is None:
            raise UnknownArchitectureError(f"{path}:{name}: {path} defines no {name}")
        return _of_target(code, Target.of(called, name))


def _of_target(code: UserCode, target: Target) -> _Body:
    evidence = Evidence(code.repository, target.name, code.definitions)
    imported: list[str] = []
    before: list[str] = []
    lines = [f"    return {target.name}("]
    for name, parameter in target.parameters.items():
        if not parameter.is_required:
            lines.append(f"        # {name}={short(parameter.default)},{_type(parameter)}")
        elif wants_settings(target, name):
            written = _written(code, target, name, evidence)
            if written:
                imported.append(re.split(r"[(.]", written[0].value)[0])
                before += _assigned(name, written)
                lines.append(f"        {name}={name},")
            else:
                lines += _settings(target, name, evidence)
        else:
            stated = evidence.stated_or_usual(name, target.required, parameter.annotation)
            lines.append(f"        {name}={_value(stated)},  #{_comment(parameter, stated)}")
    return imported, [*before, *lines, "    )", ""]


def _assigned(name: str, written: tuple[AssumedValue, ...]) -> list[str]:
    """A configuration on a line of its own, and what it leaves open."""
    whole, *parts = written
    lines = [f"    {name} = {whole.value}  # {whole.place}"]
    is_class = "." not in whole.value.partition("(")[0]
    # A class has them among its arguments already.
    for part in () if is_class else parts:
        lines.append(f"    {part.name} = {part.value}  # {part.place}")
    return lines


def _written(
    code: UserCode, target: Target, name: str, evidence: Evidence
) -> tuple[AssumedValue, ...]:
    """A configuration and its parts, if a call of what the user's file defines makes it."""
    module = code.module(target.name)
    found = next(configurations(target, name, module, evidence, code.definitions))
    text = found.values[0].value if found.values else ""
    is_call = text.endswith(")") and "..." not in text
    return found.values if is_call and re.split(r"[(.]", text)[0] in vars(module) else ()


def _settings(target: Target, name: str, evidence: Evidence) -> list[str]:
    """A parameter that wants a configuration, with the names that are read of it."""
    parameter = target.parameters[name]
    wanted = names_read(target.called, name)
    fitting = evidence.fitting(wanted) if wanted else None
    known = evidence.evaluator.known(fitting.source.values) if fitting else {}
    where = fitting.source.place if fitting else ""
    opened, written, closed = _DICT if is_read_by_keys(target.called, name) else _FIELDS
    lines = [f"        {name}={opened}  #{_type(parameter)} it reads these names"]
    for each in wanted:
        stated = Stated(known[each], where) if known.get(each) is not None else None
        stated = stated or evidence.stated_or_usual(each, wanted)
        value = written.format(name=each, value=_value(stated))
        lines.append(f"            {value},  # {_place(stated)}")
    return [*lines, f"        {closed},"]


def _of_text(repository: Repository, path: Path, name: str, why: str) -> _Body:
    """The signature as the file's text has it, where the file cannot be run."""
    classes = ast.walk(repository.tree(path.resolve()))
    node = next((n for n in classes if getattr(n, "name", None) == name), None)
    if node is None:
        raise UnknownArchitectureError(f"{path}:{name}: {path} defines no {name}")
    functions = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef)]
    constructor = next((n for n in functions if n.name in ("__init__", name)), None)
    lines = [f"    # {path.name} cannot be run yet: {why}", f"    return {name}("]
    for each in parameters(constructor)[1:] if constructor is not None else ():
        assert constructor is not None, "its parameters were read"
        default = default_of(constructor, each)
        written = f"# {each}={ast.unparse(default)}," if default else f"{each}={_TO_FILL},"
        lines.append(f"        {written}")
    return [], [*lines, "    )", ""]


def _value(stated: Stated | None) -> str:
    """A value as Python writes it; the place to fill in where there is none that can be written."""
    if stated is None or not _is_plain(stated.value):
        return _TO_FILL
    return repr(stated.value)


def _is_plain(value: Any) -> bool:  # noqa: ANN401
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return isinstance(value, _PLAIN)


def _comment(parameter: Parameter, stated: Stated | None) -> str:
    return f"{_type(parameter)} {_place(stated)}".rstrip()


def _place(stated: Stated | None) -> str:
    return stated.place if stated is not None else "nothing was found: write a value"


def _type(parameter: Parameter) -> str:
    annotation = parameter.annotation
    if annotation is None:
        return ""
    name = annotation.__name__ if inspect.isclass(annotation) else str(annotation)
    return f" {name};"
