"""The base of all settings, and the error texts of settings that are wrong."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

# Types of values that errors show. A text is not shown, because it may be a token.
_SHOWN = (bool, int, float)


class Settings(BaseModel):
    """Base of all settings: frozen, and a misspelt name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def faults(error: ValidationError, settings: type[BaseModel]) -> str:
    """Every fault of settings that were refused: which setting, and what was wanted.

    Args:
        error: The error of Pydantic that refused them.
        settings: The class of the settings.

    >>> from pydantic import Field
    >>> class Place(Settings):
    ...     port: int = Field(0, le=65_535)
    >>> class Whole(Settings):
    ...     place: Place = Place()
    >>> try:
    ...     Whole.model_validate({"place": {"prot": 80, "port": 70_000}})
    ... except ValidationError as error:
    ...     print(faults(error, Whole))
    place.port: Input should be less than or equal to 65535, came 70000
    place.prot: no such setting; did you mean port?
    """
    found = error.errors(include_url=False, include_context=False)
    return "\n".join(_fault(each, settings) for each in found)


def _fault(fault: ErrorDetails, settings: type[BaseModel]) -> str:
    place, came = [str(each) for each in fault["loc"]], fault["input"]
    where = ".".join(place) or "the whole"
    if fault["type"] == "extra_forbidden":
        return f"{where}: no such setting; {_hint(place[-1], _names(settings, place[:-1]))}"
    shown = f", came {came!r}" if isinstance(came, _SHOWN) and place[-1:] != ["token"] else ""
    return f"{where}: {fault['msg'].removeprefix('Value error, ')}{shown}"


def _hint(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=3)
    return f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(names)}"


def _names(settings: type[BaseModel], place: list[str]) -> list[str]:
    """The names of the settings at a place inside the whole."""
    fields = settings.model_fields
    for name in place:
        fields = _parts(fields[name]) if name in fields else {}
    return list(fields)


def _parts(field: FieldInfo) -> dict[str, FieldInfo]:
    """The settings below a setting. Its default may have more than the base class declares."""
    models = [*_models(field.annotation), type(field.default)]
    parts = [model.model_fields for model in models if issubclass(model, BaseModel)]
    return {name: part for fields in parts for name, part in fields.items()}


def _models(annotation: object) -> Iterator[type]:
    """Classes in an annotation, such as `TlsConfig | None`."""
    if isinstance(annotation, type):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
