"""The language in which tables and code write down one call of a model: its example inputs.

An entry has one of the forms below; `known` says what its names stand for, mostly settings of the
model:

=============================  ====================================================================
``[1, channels, side*2]``      a tensor of that shape, floats, all 1 (see `made`)
``{long: [1, 16]}``            the same of integers; ``{bool: ...}`` and ``{float: ...}`` likewise
``{long: [1, 2], value: 0}``   filled with another number, or with rows of numbers; names may stand
                               for numbers
``{long: [9], value: range}``  filled with 0, 1, 2, ...
``{words: [1, 16]}``           integers, filled with the number of a word
``{numbers: [1, 2]}``          a tensor that holds the numbers of the list
``{each: [entry, ...]}``       a list
``{named: {name: entry}}``     a dictionary
``{value: anything}``          the value itself
``name``                       whatever `known` has under that name
``2``, ``true``, ``null``      a constant
=============================  ====================================================================

An extent of a shape is a number or an expression of numbers and names: alternatives ``a|b`` (the
first that is known) bind closest, then products, then sums. ``{sides: n}`` stands for n along each
of the ``dims`` axes of an image.

>>> config = {"layers": [2, 3], "width": None, "channels": 4, "dims": 3}
>>> shape_of([1, "channels*2+1", "layers", "width|7", {"sides": 8}], config.get)
(1, 9, 2, 7, 8, 8, 8)
>>> made({"long": [2, 2], "value": "range"}, config.get).tolist()
[[0, 1], [2, 3]]
>>> made({"long": [2, 3], "value": [0, "channels", 6]}, config.get).tolist()
[[0, 4, 6], [0, 4, 6]]
>>> made({"each": [1.5, "channels", {"value": [7, 8]}]}, config.get)
[1.5, 4, [7, 8]]
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, cast

import torch
from torch import Tensor

# From a name to what it stands for, or None.
Known = Callable[[str], object]
# Entries and extents come from YAML: the module's docstring says what they may be.
Entry = Any
Extent = int | str | Mapping[str, Any]
Shape = Sequence[Extent]

# Libraries keep the smaller numbers for padding, unknown words, and the begin and end of a text.
A_WORD = 4
_DTYPES = {"float": torch.float, "long": torch.long, "bool": torch.bool}


def _nothing(_name: str) -> None:
    """Knows no name: for entries that name nothing."""


def made(entry: Entry, known: Known = _nothing, *, fill: int = 1) -> object:
    """What an entry stands for, tensors on the default device.

    Args:
        entry: See above.
        known: What its names stand for.
        fill: The number in tensors whose entry names none.

    Raises:
        ValueError: None of the names that an expression wants is known, or a mark is not.
    """
    if isinstance(entry, str):
        return known(entry)
    if isinstance(entry, list):
        return _filled("float", entry, fill, known)
    if not isinstance(entry, Mapping):
        return entry
    mark, content = next(iter(entry.items()))
    if mark in _DTYPES:
        return _filled(mark, content, entry.get("value", fill), known)
    make = _MARKS.get(mark)
    if make is None:
        raise ValueError(f"{mark}: wanted one of {', '.join((*_DTYPES, *_MARKS))}, came {entry}")
    return make(content, partial(made, known=known, fill=fill))


# From what stands behind a mark, and what makes the entries in it.
_MARKS: Mapping[str, Callable[[Any, Callable[[Entry], object]], object]] = {
    "each": lambda entries, make: [make(entry) for entry in entries],
    "named": lambda entries, make: {name: make(entry) for name, entry in entries.items()},
    "numbers": lambda content, _make: torch.tensor(content),
    "value": lambda content, _make: content,
    "words": lambda shape, _make: torch.full(shape, A_WORD),
}


def _filled(mark: str, extents: Shape, value: Any, known: Known) -> Tensor:  # noqa: ANN401
    shape, dtype = shape_of(extents, known), _DTYPES[mark]
    if value == "range":
        return torch.arange(prod(shape), dtype=dtype).reshape(shape)
    if isinstance(value, list):
        return torch.tensor(shape_of(value, known), dtype=dtype).repeat(*shape[:-1], 1)
    return torch.full(shape, *shape_of([value], known), dtype=dtype)


def shape_of(extents: Shape, known: Known) -> tuple[int, ...]:
    """The extents of a shape as numbers.

    Raises:
        ValueError: None of the names that an expression wants is known.
    """
    return tuple(size for extent in extents for size in _sizes(extent, known))


def _sizes(extent: Extent, known: Known) -> Sequence[int]:
    if isinstance(extent, Mapping):
        return [extent["sides"]] * _first("dims", known)
    return [_sum(extent, known) if isinstance(extent, str) else extent]


def _sum(expression: str, known: Known) -> int:
    return sum(
        prod(_first(factor, known) for factor in term.split("*")) for term in expression.split("+")
    )


def _first(alternatives: str, known: Known) -> int:
    """The first alternative that is known; of a list, its first value."""
    for name in alternatives.split("|"):
        value = int(name) if name.isdecimal() else known(name)
        if isinstance(value, list | tuple):
            value = value[0]
        if value is not None:
            return int(cast("int", value))
    raise ValueError(f"wanted one of {alternatives} in the configuration, came none")
