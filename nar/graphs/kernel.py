"""The compiled kernel where it is installed: fingerprints, motifs, features and sketches in C++.

It is a distribution of its own (`kernel/`), which `make setup` builds where a compiler is. The
functions in Python and numpy that it stands for are the reference, and work wherever it is not:
codes, vectors and fingerprints are equal to the bit. Operators, salts and limits are defined in
Python and given to it.

`ComputationalGraph.validate` stands before it for graphs from outside; it checks by itself that no
edge leads out of a graph, and raises ValueError.
"""

import logging
import os
from functools import cache
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from nar.graphs.hashing import (
    AFTER,
    ASPECT,
    ATTRIBUTE,
    BEFORE,
    CHILD,
    LEVEL,
    OUTSIDE,
    PIECES,
    POSITION,
    SLOT,
    Codes,
)

# What the functions take and give. Both sides state it, so that a kernel that was built for another
# version of this package is left alone.
CONTRACT: Final = 1
# Set to `off`, it leaves the kernel alone: for comparisons, and where one is suspected.
VARIABLE: Final = "NAR_KERNEL"

_log = logging.getLogger(__name__)


class Kernel(Protocol):
    """What the compiled module has. Arrays are contiguous and of the types that are named."""

    def __hash__(self) -> int:
        """That of a module: rules are made once for a kernel."""

    def CutRules(self, *, salts: object, **limits: int) -> object:
        """How graphs are cut; see `nar.motifs.partition`."""

    def FeatureRules(self, *, salts: object, **limits: int) -> object:
        """Which features are found; see `nar.motifs.feature_sets`."""

    def Salts(self, **salts: int) -> object:
        """Salts of `nar.graphs.hashing`, by name."""

    def cut(
        self,
        op_ids: NDArray[np.uint16],
        edge_index: NDArray[np.int32],
        properties: NDArray[np.uint8],
        rules: object,
    ) -> tuple[NDArray[np.int32], Codes]:
        """Motif of each node of a canonical graph, and the code of each motif."""

    def features(
        self,
        op_ids: NDArray[np.uint16],
        attributes: NDArray[np.int16],
        edge_index: NDArray[np.int32],
        motifs: Codes,
        properties: NDArray[np.uint8],
        rules: object,
    ) -> tuple[Codes, NDArray[np.uint8], NDArray[np.float32], int]:
        """Codes, aspects and weights of the features; how many neighbours of hubs are left out."""

    def sketch(
        self,
        codes: Codes,
        weights: NDArray[np.float32],
        start: NDArray[np.int64],
        dim: int,
        word: int,
    ) -> NDArray[np.float32]:
        """Sums of signs of each graph: shape (graphs, dim)."""

    def node_codes(
        self,
        edge_index: NDArray[np.int32],
        commutative: NDArray[np.uint8],
        initial: NDArray[np.uint8],
    ) -> bytes:
        """Code of each node, 16 bytes each, from rows of bytes of each node by itself."""

    def canonical_order(
        self,
        edge_index: NDArray[np.int32],
        commutative: NDArray[np.uint8],
        codes: NDArray[np.uint8],
    ) -> tuple[NDArray[np.int64], bool]:
        """Nodes in canonical order; whether nodes that need an order are tied."""


@cache
def compiled() -> Kernel | None:
    """The compiled kernel; None where Python and numpy do the work, which is logged once."""
    kernel, reason = _found()
    if kernel is None:
        _log.info("graphs are read by Python and numpy: %s", reason)
    else:
        _log.info("graphs are read by the compiled kernel")
    return kernel


def in_use() -> Literal["compiled", "numpy"]:
    """Which of the two reads graphs."""
    return "numpy" if compiled() is None else "compiled"


def _found() -> tuple[Kernel | None, str]:
    """The kernel, or why there is none."""
    if os.environ.get(VARIABLE, "").lower() == "off":
        return None, f"{VARIABLE}=off"
    try:
        import nar_kernel
    except ImportError as error:
        return None, str(error)
    contract = getattr(nar_kernel, "CONTRACT", None)
    if contract != CONTRACT:
        return None, f"wanted contract {CONTRACT} of nar_kernel, came {contract}: build it anew"
    kernel: Kernel = nar_kernel
    return kernel, ""


@cache
def salts(kernel: Kernel) -> object:
    """The salts of `nar.graphs.hashing`, as the kernel takes them."""
    return kernel.Salts(
        slot=int(SLOT),
        child=int(CHILD),
        outside=int(OUTSIDE),
        position=int(POSITION),
        pieces=int(PIECES),
        attribute=int(ATTRIBUTE),
        before=int(BEFORE),
        after=int(AFTER),
        level=int(LEVEL),
        aspect=int(ASPECT),
    )


def properties(*masks: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """One bit of each possible operator id for each mask, as `Property` of the kernel names them.

    Args:
        masks: Each of shape (MAX_OP_ID + 1,): operators whose operands have no order; operators
            that with one operand are no part of a skeleton; layers with weights; inputs; words.
    """
    bits = np.packbits(np.stack(masks, axis=1), axis=1, bitorder="little")
    return np.ascontiguousarray(bits[:, 0])
