"""Asking: what a person states about a model of their own, and the options of commands that say it.

Commands take facts of such a model by ``--input``, ``--allow`` and ``--run``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Final

import typer


class Allowance(StrEnum):
    """What the code of a model is refused unless it is allowed."""

    COMMANDS = "commands"
    NETWORK = "network"
    WRITES = "writes"


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model of a user's own is built and called, as far as they say so.

    Attributes:
        inputs: Inputs of one call, each as ``--input`` takes it: ``x=1x3x224x224``.
        allowed: What its code may do beside computing.
        example: The inputs as Python has them, in place of texts: a tensor, a shape, a tuple of
            these for arguments by position, or a mapping for arguments by name.
        runs: Whether the program in a file that is no Python file may be run, as TorchScript.
    """

    inputs: tuple[str, ...] = ()
    allowed: frozenset[Allowance] = frozenset()
    example: object = None
    runs: bool = False

    @property
    def states_inputs(self) -> bool:
        """Whether inputs are stated, in either form."""
        return bool(self.inputs) or self.example is not None


NOTHING_STATED: Final = Asking()

_ARGUMENT: Final = "asking"


def _shape(text: str) -> str:
    """The sizes in a text such as ``1,3,224,224``, as ``--input`` takes them."""
    sizes = [size.strip() for size in text.replace("x", ",").split(",")]
    if not all(size.isdecimal() and int(size) for size in sizes):
        raise typer.BadParameter(f"wanted sizes such as 1,3,224,224, came {text!r}")
    return "x".join(sizes)


_INPUT: Final = typer.Option(
    "--input",
    metavar="[NAME=]SIZES[:TYPE]",
    help="An input of your own model: x=1x3x224x224, ids=1x128:int64, mask=none; may be given "
    "again.",
)
_SHAPE: Final = typer.Option(
    "--input-shape", parser=_shape, metavar="1,3,224,224", help="Short for --input 1x3x224x224."
)
_ALLOW: Final = typer.Option(
    "--allow", help="Let the code of your own model do this; may be given again."
)
_RUN: Final = typer.Option(
    "--run", help="Run the program in a TorchScript file, as a Python file is run."
)
_OPTIONS: Final = {
    "inputs": Annotated[list[str] | None, _INPUT],
    "input_shape": Annotated[Any, _SHAPE],
    "allow": Annotated[list[Allowance] | None, _ALLOW],
    "run": Annotated[bool | None, _RUN],
}


def own_models(
    command: Callable[..., None] | None = None, *, without: Collection[str] = ()
) -> Callable[..., Any]:
    """Give a command the options about a user's own model; it gets them as ``asking``.

    Args:
        command: Has a parameter ``asking``.
        without: Options that the command does not get: ``inputs``, ``input_shape``, ``allow``,
            ``run``.
    """
    if command is None:
        return partial(own_models, without=without)
    options = {name: each for name, each in _OPTIONS.items() if name not in without}

    @wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 -- what any command is given
        stated = {name: given.pop(name) for name in options}
        shape = stated.get("input_shape")
        inputs = (*([shape] if shape else ()), *(stated.get("inputs") or ()))
        allowed = frozenset(stated.get("allow") or ())
        command(**given, **{_ARGUMENT: Asking(inputs, allowed, runs=bool(stated.get("run")))})

    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in options.items()
    ]
    vars(run)["__signature__"] = signature_with(command, {_ARGUMENT: parameters})
    return run


def signature_with(
    command: Callable[..., None], options: Mapping[str, Sequence[Parameter]]
) -> Signature:
    """The signature of a command with options in the place of some of its parameters.

    Args:
        command: The function behind the command.
        options: By the name of the parameter in whose place they stand.

    Example:
        >>> def command(name: str, asking: object) -> None: ...
        >>> option = Parameter("input", Parameter.KEYWORD_ONLY, annotation=str)
        >>> list(signature_with(command, {"asking": [option]}).parameters)
        ['name', 'input']
    """
    own = signature(command)
    parameters = [
        each
        for parameter in own.parameters.values()
        for each in options.get(parameter.name, [parameter])
    ]
    return own.replace(
        parameters=[each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    )
