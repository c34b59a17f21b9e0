"""Options that several commands share: a model, a corpus, and the filter of hits.

A filter has two options for each condition: least and most, or wanted and unwanted values.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, wraps
from inspect import Parameter, signature
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from nar.base.asking import signature_with
from nar.base.errors import InvalidInputError
from nar.index.filters import Condition, Filter, Range, conditions_of

if TYPE_CHECKING:
    from nar.graphs.graph import ComputationalGraph


# A billion has two letters: parameters are counted in billions (b), operations in giga (g).
_FACTORS: Final = {"k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12}


NAME_HELP: Final = (
    "timm:resnet50, resnet50, path/to/file.py:Model(64), a folder of code, model.onnx, model.pt2, "
    "model.tflite, hf:ORG/NAME, ..."
)
Name = Annotated[str, typer.Argument(help=NAME_HELP)]
Corpus = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|URI",
        help="Where a corpus lies; by default that of --work, or else the shipped one.",
    ),
]


@dataclass(frozen=True, slots=True)
class Times:
    """A bound that is a multiple of what the query has.

    Attributes:
        factor: The multiple, above 0.
    """

    factor: float


_WHERE: Final = typer.Option(
    "--where",
    metavar="CONDITION",
    help="Show only hits that meet a condition on fields and labels of your own: "
    "'team = \"vision\" and accuracy > 0.8'; may be given again.",
)
Given = dict[str, Any]
# Bounds by the name of their option, such as ``max_parameters``.
Multiples = dict[str, Times]
_ENDS: Final = {"min": "minimum", "max": "maximum"}


def filtering(
    command: Callable[..., None] | None = None, *, kind: type[Filter] = Filter
) -> Callable[..., Any]:
    """Give a command the options of a filter; it gets the filter as its argument ``wanted``.

    Args:
        command: Has a parameter ``wanted``, by keyword only; and ``relative``, if bounds may be
            multiples of what a model has: see `resolved`.
        kind: The filter whose conditions become options.
    """
    if command is None:
        return partial(filtering, kind=kind)

    @wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 -- what any command is given
        multiples = {name: each for name, each in given.items() if isinstance(each, Times)}
        wanted = _filter(kind, given | dict.fromkeys(multiples))
        others = {name: each for name, each in given.items() if name not in names}
        relative = {"relative": multiples} if "relative" in signature(command).parameters else {}
        if multiples and not relative:
            raise typer.BadParameter("a multiple such as 0.5x wants a model to be a multiple of")
        command(**others, **relative, wanted=wanted)

    options = [option for condition in conditions_of(kind) for option in _options(condition)]
    options.append(_parameter("where", Annotated[list[str] | None, _WHERE]))
    names = frozenset(option.name for option in options)
    # What `run` gives a command beside ``wanted`` is no option.
    vars(run)["__signature__"] = signature_with(command, {"wanted": options, "relative": ()})
    return run


def _options(condition: Condition) -> Iterator[Parameter]:
    """The parameters that typer makes options of."""
    if not condition.is_range:
        text = f"Show only hits with this {condition.meaning}; may be given again."
        option = typer.Option(f"--{condition.flag}", help=text)
        yield _parameter(condition.field, Annotated[list[str] | None, option])
        text = f"Show no hits with this {condition.meaning}; may be given again."
        option = typer.Option(f"--not-{condition.flag}", help=text)
        yield _parameter(f"not_{condition.field}", Annotated[list[str] | None, option])
        return
    for end, least in (("min", "least"), ("max", "most")):
        text = (
            f"Show only hits with at {least} this many {condition.meaning}: 30M, or 0.5x for half "
            "of what the model has."
        )
        option = typer.Option(f"--{end}-{condition.flag}", parser=_bound, metavar="N", help=text)
        yield _parameter(f"{end}_{condition.field}", Annotated[Any, option])


def _filter(kind: type[Filter], given: Given) -> Filter:
    """The filter that options ask for, by their names."""
    wanted: Given = {}
    unwanted: list[Filter] = []
    # The text names fields of `Filter`; a filter of another kind holds it as one of a group.
    every = tuple(map(Filter.where, given["where"] or ()))
    for condition in conditions_of(kind):
        field = condition.field
        if condition.is_range:
            wanted[field] = Range(given[f"min_{field}"], given[f"max_{field}"])
            continue
        wanted[field] = tuple(given[field] or ())
        not_this: Given = {field: tuple(given[f"not_{field}"] or ())}
        if not_this[field]:
            unwanted.append(kind(**not_this))
    return kind(**wanted, none_of=tuple(unwanted), all_of=every)


def resolved(wanted: Filter, relative: Multiples, graph: "ComputationalGraph") -> Filter:
    """A filter with the bounds that are multiples of what a model has.

    Args:
        wanted: All other conditions.
        relative: Multiples, as ``max_parameters``.
        graph: Graph of the model.

    Raises:
        InvalidInputError: A bound is a multiple of a number that graphs do not have.
    """
    for condition, (end, bound) in product(conditions_of(type(wanted)), _ENDS.items()):
        times = relative.get(f"{end}_{condition.field}")
        if times is None:
            continue
        whole = getattr(graph, condition.column, None)
        if whole is None:
            raise InvalidInputError(
                f"--{end}-{condition.flag}",
                f"wanted a count such as 30: no {condition.column} of the model are known, of "
                f"which {times.factor:g}x could be a multiple",
            )
        limits = replace(getattr(wanted, condition.field), **{bound: int(times.factor * whole)})
        wanted = replace(wanted, **{condition.field: limits})
    return wanted


def _bound(text: str) -> int | Times:
    try:
        return count_or_multiple(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _parameter(name: str, annotation: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def count_or_multiple(text: str) -> int | Times:
    """The bound of a range that a person writes: a count, or a multiple of what the query has.

    Raises:
        ValueError: The text is neither.

    Example:
        >>> count_or_multiple("30M"), count_or_multiple("0.5x")
        (30000000, Times(factor=0.5))
    """
    if not text.endswith("x"):
        return count(text)
    try:
        factor = float(text[:-1])
    except ValueError:
        factor = -1
    if not isfinite(factor) or factor <= 0:
        raise ValueError(f"wanted a count such as 30M, or a multiple such as 0.5x, came {text!r}")
    return Times(factor)


def count(text: str) -> int:
    """The count that a person writes.

    Raises:
        ValueError: The text is no count.

    Example:
        >>> count("30M"), count("1.5B"), count("12_000")
        (30000000, 1500000000, 12000)
    """
    factor = _FACTORS.get(text[-1:].lower())
    try:
        value = float(text[:-1] if factor else text) * (factor or 1)
    except ValueError:
        value = -1
    if not isfinite(value) or value < 0 or value != round(value):
        raise ValueError(f"wanted a count such as 30000000, 30M or 1.5B, came {text!r}")
    return round(value)
