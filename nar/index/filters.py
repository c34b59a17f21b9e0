"""Filter: what a hit must be, as a record, and the expression that asks the index for it.

No text of a caller goes into an expression unescaped; what cannot be escaped is refused.
"""

import re
from dataclasses import dataclass, fields
from typing import Final

from nar.errors import InvalidQueryError

MAX_VALUES: Final = 1_000
MAX_VALUE_BYTES: Final = 4_096
MAX_INT64: Final = 2**63 - 1

# The escapes that Milvus and Milvus Lite share. Everything else stands for itself in both.
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a number, both inclusive; None does not bind."""

    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """What a hit must be: every field that is set must hold, a tuple if any entry is equal.

    Attributes:
        names: Specs: ``timm:resnet50``.
        sources: Who registers it.
        libraries: Distribution and version.
        families: Fine class.
        blocks: Coarse class.
        tasks: Purpose.
        topologies: Topology fingerprints.
        exacts: Exact fingerprints.
        parameters: Number of learned scalars.
        flops: Floating-point operations of one forward pass.
        nodes: Operators in the graph.

    Raises:
        InvalidQueryError: A value that no row can have or that cannot be escaped; names its field.
    """

    names: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    topologies: tuple[str, ...] = ()
    exacts: tuple[str, ...] = ()
    parameters: Range = Range()
    flops: Range = Range()
    nodes: Range = Range()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Range):
                _check_range(field.name, value)
            else:
                _check_values(field.name, value)

    def expression(self) -> str:
        """The boolean expression of Milvus; empty if everything passes."""
        anys = ((column, getattr(self, name)) for name, column in _COLUMNS.items())
        ranges = (_bounds(name, getattr(self, name)) for name in ("parameters", "flops", "nodes"))
        parts = [any_of(column, values) for column, values in anys if values]
        return " and ".join([*parts, *(bound for bounds in ranges for bound in bounds)])


# Fields that list values -> columns of the index.
_COLUMNS: Final = {
    "names": "name",
    "sources": "source",
    "libraries": "library",
    "families": "family",
    "blocks": "block",
    "tasks": "task",
    "topologies": "topology",
    "exacts": "exact",
}


def any_of(column: str, values: tuple[str, ...]) -> str:
    """The expression for a column that equals one of the values.

    Args:
        column: One of ours, never a caller's.
        values: Any text without surrogates; escaped here.
    """
    return f"{column} in [{', '.join(map(_literal, values))}]"


def _literal(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"


def _bounds(column: str, wanted: Range) -> list[str]:
    pairs = ((">=", wanted.minimum), ("<=", wanted.maximum))
    return [f"{column} {operator} {bound}" for operator, bound in pairs if bound is not None]


def _check_values(field: str, values: tuple[str, ...]) -> None:
    # A bare string is iterable too: it would be read as a list of its letters.
    if not isinstance(values, tuple):
        raise InvalidQueryError(field, f"wanted a tuple of texts, came {type(values).__name__}")
    if len(values) > MAX_VALUES:
        raise InvalidQueryError(field, f"wanted at most {MAX_VALUES} values, came {len(values)}")
    for position, value in enumerate(values):
        fault = text_fault(value, MAX_VALUE_BYTES)
        if fault:
            raise InvalidQueryError(f"{field}[{position}]", fault)


def text_fault(value: object, max_bytes: int) -> str | None:
    """Why a value is no text that the index can hold; None if it is."""
    if not isinstance(value, str):
        return f"wanted a text, came {type(value).__name__}"
    if _SURROGATE.search(value):
        return "wanted text that UTF-8 can carry, came a lone surrogate"
    size = len(value.encode())
    return f"wanted at most {max_bytes} bytes, came {size}" if size > max_bytes else None


def _check_range(field: str, wanted: Range) -> None:
    for name in ("minimum", "maximum"):
        bound = getattr(wanted, name)
        if bound is not None and not is_count(bound):
            reason = f"wanted a whole number from 0 to {MAX_INT64}, came {bound!r}"
            raise InvalidQueryError(f"{field}.{name}", reason)
    lowest, highest = wanted.minimum, wanted.maximum
    if lowest is not None and highest is not None and lowest > highest:
        raise InvalidQueryError(field, f"minimum {lowest} is above maximum {highest}")


def is_count(value: object) -> bool:
    """Whether a value is a whole number that a column can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INT64
