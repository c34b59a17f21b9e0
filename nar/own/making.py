"""What a name of a user's file makes: a module, and its inputs or None."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from torch import nn

from nar.base.errors import CaptureError, InvalidInputError, UnknownArchitectureError
from nar.capture import Capture
from nar.capture.forward.dispatch import reason_of
from nar.graphs.assumed import Assumed
from nar.own.construct.arguments import Arguments, resolved
from nar.own.construct.construction import Construction, NothingKnownError
from nar.own.construct.findings import Findings
from nar.own.construct.proposals import Target
from nar.own.inputs.layers import read_attribute
from nar.own.inputs.parts import give_forward
from nar.own.user_code import UserCode

# Attributes of the module or of its factory; the last name is Lightning's.
_EXAMPLES = ("example_inputs", "example_input", "example_input_array")
# What Python says of a `print` without brackets, of `except Error, e`, of `0777`, of mixed tabs.
_PYTHON_2: Final = re.compile(
    r"Missing parentheses in call to|exception types must be parenthesized|"
    r"leading zeros in decimal|inconsistent use of tabs"
)
# Chosen: names in a message; more do not fit into two lines of a terminal.
_SHOWN: Final = 5
Made = tuple[nn.Module, object]


@dataclass(frozen=True, slots=True)
class ModuleMaker:
    """Makes a module, and its inputs or None.

    Attributes:
        make: Makes them anew with each call. It raises a `CaptureError` where the user's code
            fails, makes no module, or wants arguments of which nothing tells.
        another: Leaves the way in which it was made for the next one; False where there is none.
    """

    make: Callable[[], Made]
    another: Callable[[], bool] = lambda: False


def maker_of(name: str, code: UserCode, factory: str, arguments: Arguments) -> ModuleMaker:
    """What makes the module behind a name.

    Args:
        name: Name of the model, for errors.
        code: The user's file, which is run.
        factory: What makes the module: a function, a class, or the module itself.
        arguments: What the user states; the repository tells the others.

    Raises:
        UnknownArchitectureError: The file has no such factory.
        CaptureError: Running the file fails.
        InvalidInputError: An argument names what is not there.
    """
    target = _target(name, code, factory)
    if isinstance(target, nn.Module) or not callable(target):
        return ModuleMaker(lambda: _with_examples(_pair(name, target), target))
    with _explained(name, code, arguments):
        make, another = _call(code, Target.of(target, factory), arguments)

    def made() -> Made:
        with _explained(name, code, arguments):
            module, inputs = _pair(name, make())
        called = give_forward(module)
        if called:
            code.findings.skip(f"{type(module).__name__}.forward is empty: {called} is called")
        return _with_examples((module, inputs), target)

    return ModuleMaker(made, another)


@contextmanager
def _explained(name: str, code: UserCode, arguments: Arguments) -> Iterator[None]:
    """Inside, what a user's code raises becomes a `CaptureError` with the line that goes on."""
    try:
        yield
    except (CaptureError, InvalidInputError):
        raise
    # A user's code can raise anything, SystemExit too; its owner wants the reason.
    except (Exception, SystemExit) as error:
        reason = _reason(code, name.partition("(")[0], error, is_stated=not arguments.is_empty)
        raise CaptureError(name, "-", reason) from error


def with_findings(capture: Capture, findings: Findings) -> Capture:
    """A capture that says what was assumed to build its model, if anything was."""
    found = findings.assumed()
    if capture.assumed is None and found == Assumed():
        return capture
    whole = replace(
        capture.assumed or Assumed(),
        values=(*found.values, *(capture.assumed.values if capture.assumed else ())),
        stand_ins=found.stand_ins,
        skipped=found.skipped,
    )
    return replace(capture, assumed=whole)


def _target(name: str, code: UserCode, factory: str) -> Any:  # noqa: ANN401
    try:
        module = code.module(factory)
        target = getattr(module, factory, None)
    except (Exception, SystemExit) as error:
        raise CaptureError(name, "-", _why(error)) from error
    if target is None:
        raise UnknownArchitectureError(
            f"{name}: {code.path} defines no {factory}; {_defined(module, factory)}"
        )
    return target


def _why(error: BaseException) -> str:
    """Why a file could not be run; of what Python 2 alone reads, the way to go on."""
    if not isinstance(error, SyntaxError) or not _PYTHON_2.search(str(error.msg)):
        return reason_of(error)
    file, line = error.filename or "the file", (error.text or "").strip()
    return (
        f"{Path(file).name}:{error.lineno} is written for Python 2, and this is Python 3: "
        f"{line!r}; rewrite it first, as with `2to3 -w {file}` of Python 3.12 or older"
    )


def _defined(module: ModuleType, wanted: str) -> str:
    """What a file defines, the names nearest to a wanted one first."""
    own = [
        name
        for name, each in vars(module).items()
        if callable(each) and getattr(each, "__module__", "") == module.__name__
    ]
    near = get_close_matches(wanted, own, n=_SHOWN)
    names = list(dict.fromkeys((*near, *own)))[:_SHOWN]
    return f"it has {', '.join(names)}" if names else "it defines nothing that makes a module"


def _call(
    code: UserCode, target: Target, arguments: Arguments
) -> tuple[Callable[[], Any], Callable[[], bool]]:
    """Calls a target with what the user states, and with what the repository tells of the rest.

    The second function goes on to the next way to tell it.
    """
    module = code.module(target.name)
    folders = (Path.cwd(), code.path.parent, code.repository.root)

    def stated() -> tuple[tuple[Any, ...], dict[str, Any]]:
        return resolved(arguments, module, folders, code.repository.root)

    by_position, by_name = stated()
    given = {*list(target.parameters)[: len(by_position)], *by_name}
    if not arguments.is_empty and given.issuperset(target.required):

        def call() -> Any:  # noqa: ANN401
            positions, names = stated()
            return target.called(*positions, **names)

        return call, lambda: False
    if given:
        rest = {name: each for name, each in target.parameters.items() if name not in given}
        target = Target(partial(target.called, *by_position, **by_name), target.name, rest)
    built = Construction(target, module, code.repository, code.definitions, code.findings)
    return built.make, built.another


def _reason(code: UserCode, spec: str, error: BaseException, *, is_stated: bool) -> str:
    """Why a module could not be built, and the line that goes on.

    Args:
        code: The user's file.
        spec: Name of the model without arguments: ``net.py:Net``.
        error: What was raised.
        is_stated: Whether the user states arguments.
    """
    way_out = (
        f"state its arguments, as in {spec}(Config(depth=6)) or {spec}(@config.yaml), or start "
        f"from nar wrap {spec} > ask.py"
    )
    if isinstance(error, NothingKnownError):
        return f"{error}, and nothing in {code.repository.root} tells them: {way_out}"
    given = getattr(error, "__notes__", ())
    if is_stated:
        return f"{reason_of(error)}; `nar wrap {spec}` prints what it takes"
    if not given:
        return _why(error)
    return f"{reason_of(error)}; {given[0]}; {way_out}"


def _with_examples(made: Made, target: object) -> Made:
    module, inputs = made
    for holder in (module, target):
        for attribute in _EXAMPLES:
            inputs = read_attribute(holder, attribute) if inputs is None else inputs
    return module, inputs


def _pair(name: str, made: object) -> Made:
    """A module and its inputs, from what a factory returns.

    Raises:
        CaptureError: It is neither a module nor a module with its inputs.
    """
    module, inputs = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if isinstance(module, nn.Module) and not isinstance(inputs, nn.Module):
        return module, inputs
    came = type(made).__name__
    if isinstance(made, tuple):
        came = f"({', '.join(type(part).__name__ for part in made)})"
    if isinstance(inputs, nn.Module):
        came += ": let one factory return each module"
    raise CaptureError(name, "-", f"wanted an nn.Module or (nn.Module, inputs), came {came}")
