"""Coverage: how much of a design stands in no known architecture, and which operators these are.

Every operator of the normal form has a code of what is around it, so many steps far. The codes of
all known architectures are kept, sorted; an operator is new where its code is unknown::

    known    input ─> conv ─> relu ─> conv ─> add
    query    input ─> conv ─> tanh ─> conv ─> add       two steps around tanh: all but input are new

It says what a design is written with, and nothing of how good it is: a known design that is written
otherwise is new to it, and 0 does not say that the whole is known.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Literal
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.workspace import package_path
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import ATTRIBUTE, Codes, operator_codes, salted
from nar.graphs.normal_form import normal_form
from nar.graphs.ops import ATTRIBUTES, op_name
from nar.motifs.neighbours import refine, wiring

# Steps around an operator. Chosen: within two steps stands the layer before and behind a layer,
# with what is between them; one and three stand beside it.
RADII: Final = (1, 2, 3)
RADIUS: Final = 2  # the middle one of these says which operators are counted as new
# Chosen: 40 bits of a code. Of 10^5 known codes one stands for a new one by chance once in 10^7,
# and a file of sorted differences has three bytes a code in the place of eight.
_BITS: Final = np.uint64(24)
# What a neighbourhood tells apart beside operators: windows, and neither widths nor strides, which
# change from stage to stage.
_READ: Final = tuple(
    ATTRIBUTES.index(name) for name in ("kernel", "kernel_shape", "dilation", "rank")
)
# Nodes that are coded together; more at a time take more memory and are no faster.
_NODES_A_BATCH: Final = 50_000

Word = Literal["known", "routine", "variant", "unusual", "new"]
# Share of new operators up to which a word is said. Chosen: a changed block of sixteen is a variant
# at most; which designs get each word stands in `results/coverage.md`.
_WORDS: Final[tuple[tuple[Word, float], ...]] = (
    ("known", 0.0),
    ("routine", 0.05),
    ("variant", 0.2),
    ("unusual", 0.5),
    ("new", 1.0),
)


@dataclass(frozen=True, slots=True)
class NewOperators:
    """Operators of one class in surroundings that no known architecture has.

    Attributes:
        operator: The class.
        times: How many there are.
    """

    operator: str
    times: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a design stands in no known architecture.

    Attributes:
        new: Share of its operators that no known architecture has in the same surroundings of two
            steps, 0 to 1.
        narrow: The same for surroundings of one step.
        wide: The same for surroundings of three steps.
        operators: The new operators by class, the most frequent first.
        nearest: The one of the nearest architectures that covers most; empty if none was read.
        left: Share of the operators that `nearest` does not have in the same surroundings of two
            steps, 0 to 1; 0 where none was read.
    """

    new: float
    narrow: float
    wide: float
    operators: tuple[NewOperators, ...]
    nearest: str = ""
    left: float = 0.0

    @property
    def word(self) -> Word:
        """What the share is called.

        Example:
            >>> Coverage(0.04, 0, 0.1, ()).word
            'routine'
        """
        return next(word for word, most in _WORDS if self.new <= most)


KnownCodes = Mapping[int, Codes]


def coverage(
    graph: ComputationalGraph, known: KnownCodes, near: Mapping[str, ComputationalGraph]
) -> Coverage:
    """How much of a design stands in no known architecture, and how much not in the nearest one.

    Args:
        graph: Canonical graph.
        known: Codes of all known architectures by radius, sorted.
        near: Near architectures by name.
    """
    form = normal_form(graph)
    codes = neighbourhoods([form])
    is_new = {radius: ~_within(codes[radius], known[radius]) for radius in RADII}
    counts = Counter(form.op_ids[is_new[RADIUS]].tolist())
    operators = tuple(NewOperators(op_name(each), times) for each, times in counts.most_common())
    narrow, new, wide = (float(is_new[radius].mean()) for radius in RADII)
    left = {name: _left(codes[RADIUS], other) for name, other in near.items()}
    nearest = min(left, key=lambda name: left[name], default="")
    return Coverage(new, narrow, wide, operators, nearest, left.get(nearest, 0.0))


def _left(codes: Codes, other: ComputationalGraph) -> float:
    """Share of the codes that another graph does not have."""
    its = np.unique(neighbourhoods([normal_form(other)])[RADIUS])
    return float((~_within(codes, its)).mean())


def neighbourhoods(forms: list[ComputationalGraph]) -> KnownCodes:
    """Code of each operator with its surroundings, by radius; graphs are laid end to end.

    Args:
        forms: Normal forms.
    """
    wires = wiring(forms)
    codes = operator_codes(wires.op_ids)
    attributes = np.concatenate([form.attributes for form in forms])
    for column in attributes[:, _READ].T:
        codes = salted(codes, column.astype(np.int64), ATTRIBUTE)
    of_radius: dict[int, Codes] = {}
    for radius in range(1, max(RADII) + 1):
        codes = refine(codes, wires, 1)
        of_radius[radius] = codes >> _BITS
    return of_radius


def _within(codes: Codes, known: Codes) -> NDArray[np.bool_]:
    """Whether each code is one of the sorted codes. Shape (codes,)."""
    places = np.minimum(np.searchsorted(known, codes), max(len(known) - 1, 0))
    return known[places] == codes if len(known) else np.zeros(len(codes), dtype=np.bool_)


def known_codes(graphs: Iterable[ComputationalGraph]) -> KnownCodes:
    """The codes of some architectures by radius, each once and sorted.

    Args:
        graphs: Canonical graphs; designs that are there twice only take time.
    """
    found: dict[int, list[Codes]] = {radius: [] for radius in RADII}
    for batch in _batches(map(normal_form, graphs)):
        for radius, codes in neighbourhoods(batch).items():
            found[radius].append(np.unique(codes))
    return {radius: np.unique(np.concatenate(each)) for radius, each in found.items()}


def _batches(forms: Iterable[ComputationalGraph]) -> Iterator[list[ComputationalGraph]]:
    batch: list[ComputationalGraph] = []
    nodes = 0
    for form in forms:
        batch.append(form)
        nodes += form.nodes
        if nodes >= _NODES_A_BATCH:
            yield batch
            batch, nodes = [], 0
    if batch:
        yield batch


def write_codes(path: Path, known: KnownCodes) -> None:
    """Keep the codes of all known architectures.

    What is compressed are differences of sorted codes, byte by byte: most of the eight bytes of a
    difference are zero, and three bytes a code are left.
    """
    planes = {f"radius_{radius}": _packed(codes) for radius, codes in known.items()}
    write_whole(path, partial(_save, planes=planes))


def _save(path: Path, planes: Mapping[str, NDArray[np.uint8]]) -> None:
    # To a path, numpy would append an ending.
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **planes)


def _packed(codes: Codes) -> NDArray[np.uint8]:
    differences = np.diff(codes, prepend=np.uint64(0))
    return np.ascontiguousarray(differences.view(np.uint8).reshape(-1, 8).T)


def _unpacked(planes: NDArray[np.uint8]) -> Codes:
    differences = np.ascontiguousarray(planes.T).view(np.uint64).ravel()
    return np.cumsum(differences, dtype=np.uint64)


@lru_cache(maxsize=1)
def shipped_codes() -> KnownCodes | None:
    """The codes of the shipped corpus; None where this installation has none."""
    path = package_path("data", "neighbourhoods.npz")
    return read_codes(path) if path.exists() else None


def read_codes(path: Path) -> KnownCodes:
    """Codes that were kept.

    Raises:
        CorpusError: The file is damaged.
    """
    try:
        with np.load(path) as kept:
            return {radius: _unpacked(kept[f"radius_{radius}"]) for radius in RADII}
    except (OSError, KeyError, ValueError, BadZipFile) as error:
        raise CorpusError(f"{path} holds no codes of architectures: {error}") from error
