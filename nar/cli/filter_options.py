"""The options of a filter: two for each condition, its least and most or what is and is not."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from nar.cli.counts import count
from nar.index.filters import Condition, Filter, Range, Wanted, conditions_of

Given = dict[str, Any]


def filtering(
    command: Callable[..., None] | None = None, *, kind: type[Filter] = Filter
) -> Callable[..., Any]:
    """Give a command the options of a filter; it gets the filter as its argument ``wanted``.

    Args:
        command: Has a parameter ``wanted``, by keyword only.
        kind: The filter whose conditions become options.
    """
    if command is None:
        return partial(filtering, kind=kind)
    conditions = conditions_of(kind)

    @wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 -- what any command is given
        wanted: Given = {each.field: _wanted(each, given) for each in conditions}
        unwanted: list[Given] = [{each.field: _unwanted(each, given)} for each in _texts(kind)]
        none_of = tuple(kind(**each) for each in unwanted if any(each.values()))
        command(**given, wanted=kind(**wanted, none_of=none_of))

    options = [option for condition in conditions for option in _options(condition)]
    vars(run)["__signature__"] = _signature(command, options)
    return run


def _signature(command: Callable[..., None], options: Sequence[Parameter]) -> Any:  # noqa: ANN401
    """The signature of a command with the options in the place of ``wanted``."""
    own = signature(command)
    parameters: list[Parameter] = []
    for parameter in own.parameters.values():
        parameters += options if parameter.name == "wanted" else [parameter]
    by_keyword = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    return own.replace(parameters=by_keyword)


def _options(condition: Condition) -> Iterator[Parameter]:
    """The parameters that typer makes options of."""
    if not condition.is_range:
        text = f"Show only hits with this {condition.meaning}; may be given again."
        option = typer.Option(f"--{condition.flag}", help=text)
        yield _parameter(condition.field, Annotated[list[str] | None, option])
        text = f"Show no hits with this {condition.meaning}; may be given again."
        option = typer.Option(f"--not-{condition.flag}", help=text)
        yield _parameter(_not(condition), Annotated[list[str] | None, option])
        return
    for end, bound in (("min", "least"), ("max", "most")):
        text = f"Show only hits with at {bound} this many {condition.meaning}: 30M, 1.5B."
        option = typer.Option(f"--{end}-{condition.flag}", parser=_count, metavar="N", help=text)
        yield _parameter(f"{end}_{condition.field}", Annotated[int | None, option])


def _texts(kind: type[Filter]) -> Iterator[Condition]:
    """The conditions that compare texts."""
    return (condition for condition in conditions_of(kind) if not condition.is_range)


def _not(condition: Condition) -> str:
    return f"not_{condition.field}"


def _unwanted(condition: Condition, given: Given) -> tuple[str, ...]:
    """What hits must not have; it is taken out of the arguments."""
    return tuple(given.pop(_not(condition)) or ())


def _count(text: str) -> int:
    try:
        return count(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _parameter(name: str, annotation: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _wanted(condition: Condition, given: Given) -> Wanted:
    """What the options of one condition say; they are taken out of the arguments."""
    if not condition.is_range:
        return tuple(given.pop(condition.field) or ())
    return Range(given.pop(f"min_{condition.field}"), given.pop(f"max_{condition.field}"))
