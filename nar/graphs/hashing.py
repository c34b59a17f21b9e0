"""Codes: 64-bit hashes of nodes, pieces, paths and graphs, and the salts they are made with.

A code says what a node is in its surroundings: equal codes, equal surroundings, whatever the graph.
Codes are added up where order does not count and mixed where it does:

    mix(a) + mix(b)              the set {a, b}
    salted(a, 3, POSITION)       a, at the third position

Every trained encoder has learned vectors for codes, so a salt or a function of this module that
changes makes each of them unknown: add, never change.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.uint64]

# Odd numbers whose bits are scattered. Three are shared by purposes that meet in no sum.
_FIRST: Final = np.uint64(0x9E3779B97F4A7C15)
_SECOND: Final = np.uint64(0xD1B54A32D192ED03)
_THIRD: Final = np.uint64(0x8CB92BA72F3D8DD7)

SLOT: Final = _SECOND  # which operand of a node an edge brings
CHILD: Final = _THIRD  # the code is of a reader; alone, that there is none
OUTSIDE: Final = np.uint64(0xA0761D6478BD642F)  # which operands come from outside a piece
POSITION: Final = np.uint64(0xE7037ED1A0B428DB)  # where a node stands inside its piece
PIECES: Final = np.uint64(0x2545F4914F6CDD1D)  # base of the polynomial hash of a run of pieces
ATTRIBUTE: Final = _FIRST  # the value of an attribute
BEFORE: Final = _FIRST  # the first node of a path
AFTER: Final = np.uint64(0xC2B2AE3D27D4EB4F)  # the last node of a path
LEVEL: Final = np.uint64(0x165667B19E3779F9)  # how often the number of a path has doubled
ASPECT: Final = _SECOND  # which features a code belongs to
OWNER: Final = _THIRD  # who has a code: the same code of two owners makes two keys
NEIGHBOUR: Final = _SECOND  # the colour is of a neighbour
WORD: Final = _SECOND  # the 64 bits of a vector of signs

_ROUNDS: Final = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


def mix(values: Codes) -> Codes:
    """A bijection of 64-bit integers that scatters them (the finaliser of splitmix64).

    Args:
        values: Any shape.

    Example:
        >>> mix(np.array([0, 1], dtype=np.uint64))
        array([16294208416658607535, 10451216379200822465], dtype=uint64)
    """
    mixed = values + _FIRST
    for shift, factor in _ROUNDS:  # in place: every operator and edge comes through here
        mixed ^= mixed >> shift
        mixed *= factor
    mixed ^= mixed >> np.uint64(31)
    return mixed


def first_of_each(codes: Codes) -> NDArray[np.int64]:
    """Where each code stands first, ascending.

    Args:
        codes: Shape (codes,).

    Example:
        >>> first_of_each(np.array([7, 5, 7, 5, 9], dtype=np.uint64))
        array([0, 1, 4])
    """
    # As np.unique does, whose sort is a stable one here, which takes three times as long.
    order = np.argsort(codes)
    ordered = codes[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=~ordered[:1]))
    first = np.minimum.reduceat(order, begins) if len(begins) else order
    first.sort()
    return first


def salted(codes: Codes, numbers: ArrayLike, salt: np.uint64) -> Codes:
    """Codes mixed with a number each, whose meaning the salt tells.

    Args:
        codes: Any shape.
        numbers: Integers that broadcast against it; negative ones count from 2^64 downwards.
        salt: One of this module's.
    """
    return mix(codes + np.asarray(numbers).astype(np.uint64) * salt)


def operator_codes(op_ids: NDArray[np.integer]) -> Codes:
    """C^0 of Eq. 2: a code for every operator id, of the same shape."""
    return mix(op_ids.astype(np.uint64))
