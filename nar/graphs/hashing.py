"""Codes: 64-bit hashes of nodes, pieces, paths and graphs, and the salts that they are made with.

The code of a node stands for the node in its surroundings: equal codes mean equal surroundings, in
any graph. Codes are added up where order does not count, and mixed where it does:

    mix(a) + mix(b)              the set {a, b}
    salted(a, 3, POSITION)       a, at the third position

Every trained encoder has learned vectors for codes. If a salt or a function of this module changes,
all these vectors are lost: add salts and functions, never change them.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.uint64]

# Odd numbers with scattered bits. Three numbers serve several purposes, whose codes are never in
# one sum.
_FIRST: Final = np.uint64(0x9E3779B97F4A7C15)
_SECOND: Final = np.uint64(0xD1B54A32D192ED03)
_THIRD: Final = np.uint64(0x8CB92BA72F3D8DD7)

SLOT: Final = _SECOND  # which operand of a node an edge brings
CHILD: Final = _THIRD  # the code is the code of a reader; alone: no reader
OUTSIDE: Final = np.uint64(0xA0761D6478BD642F)  # which operands come from outside a piece
POSITION: Final = np.uint64(0xE7037ED1A0B428DB)  # where a node stands inside its piece
PIECES: Final = np.uint64(0x2545F4914F6CDD1D)  # base of the polynomial hash of a run of pieces
ATTRIBUTE: Final = _FIRST  # the value of an attribute
BEFORE: Final = _FIRST  # the first node of a path
AFTER: Final = np.uint64(0xC2B2AE3D27D4EB4F)  # the last node of a path
LEVEL: Final = np.uint64(0x165667B19E3779F9)  # how often the number of a path has doubled
ASPECT: Final = _SECOND  # which features a code belongs to
OWNER: Final = _THIRD  # owner of a code: the same code of two owners makes two keys
NEIGHBOUR: Final = _SECOND  # the colour is the colour of a neighbour
WORD: Final = _SECOND  # the 64 bits of a vector of signs

# The shifts and factors of splitmix64.
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
    for shift, factor in _ROUNDS:  # in place: this runs for every operator and edge
        mixed ^= mixed >> shift
        mixed *= factor
    mixed ^= mixed >> np.uint64(31)
    return mixed


def first_of_each(codes: Codes) -> NDArray[np.int64]:
    """First position of each code, ascending.

    Args:
        codes: Shape (codes,).

    Example:
        >>> first_of_each(np.array([7, 5, 7, 5, 9], dtype=np.uint64))
        array([0, 1, 4])
    """
    # np.unique would use a stable sort here, which takes three times as long.
    order = np.argsort(codes)
    ordered = codes[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=~ordered[:1]))
    first = np.minimum.reduceat(order, begins) if len(begins) else order
    first.sort()
    return first


def salted(codes: Codes, numbers: ArrayLike, salt: np.uint64) -> Codes:
    """Each code mixed with a number; the salt stands for the meaning of the numbers.

    Args:
        codes: Any shape.
        numbers: Integers that broadcast against the codes; negative integers count down from 2^64.
        salt: A salt of this module.
    """
    return mix(codes + np.asarray(numbers).astype(np.uint64) * salt)


def operator_codes(op_ids: NDArray[np.integer]) -> Codes:
    """C^0 of Eq. 2: a code for every operator id, in the shape of ``op_ids``."""
    return mix(op_ids.astype(np.uint64))
