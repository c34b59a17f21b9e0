"""Large counts as people write them: 25.6M parameters."""

from dataclasses import dataclass
from math import isfinite
from typing import Final

_UNITS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
# Parameters are counted in billions, operations in giga.
_FACTORS: Final = {unit.lower(): factor for factor, unit in _UNITS} | {"b": 1e9}


def human(value: float) -> str:
    """A count with a unit.

    Example:
        >>> human(25_557_032)
        '25.6M'
    """
    for size, unit in _UNITS:
        if value >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.0f}"


def count(text: str) -> int:
    """The count that a person writes.

    Raises:
        ValueError: It is none.

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


@dataclass(frozen=True, slots=True)
class Times:
    """A bound that is so many times what the query has.

    Attributes:
        factor: Positive.
    """

    factor: float


def bound(text: str) -> int | Times:
    """The bound of a range that a person writes: a count, or a multiple of what the query has.

    Raises:
        ValueError: It is neither.

    Example:
        >>> bound("30M"), bound("0.5x")
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
