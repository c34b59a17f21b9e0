"""Options that together make one argument of a command: those about a user's own model, and how.

Commands take facts of such a model by ``--input``, ``--allow`` and ``--run``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Final

import typer

from nar.base.asking import Allowance, Asking

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
