"""Large counts as people write them: 25.6M parameters."""

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
