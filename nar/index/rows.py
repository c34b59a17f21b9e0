"""What the index holds and gives: IndexRow goes in, IndexRow and Hit come out."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from nar.architecture import Labels
from nar.errors import InvalidInputError
from nar.index.filters import is_count, text_fault

Embedding = NDArray[np.float32]

# Bytes each text may have; names of networks found by search spell out whole genotypes.
TEXT_BYTES: Final = {
    "name": 4_096,
    "source": 64,
    "library": 256,
    "family": 256,
    "block": 64,
    "task": 256,
}
FINGERPRINTS: Final = ("topology", "exact")
COUNTS: Final = ("parameters", "flops", "nodes")

# Beyond these, squares of float32 vanish or overflow and a cosine is noise.
MIN_NORM: Final = 1e-6
MAX_NORM: Final = 1e6

_ID: Final = re.compile(r"[0-9a-f]{32}")
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}")


def architecture_id(name: str) -> str:
    """The id of an architecture: 32 hexadecimal digits of the sha256 of its name.

    Raises:
        InvalidInputError: The name holds a lone surrogate, which has no bytes.
    """
    fault = text_fault(name, TEXT_BYTES["name"])
    if fault:
        raise InvalidInputError("name", fault)
    return sha256(name.encode()).hexdigest()[:32]


def is_id(text: str) -> bool:
    """Whether a text has the form of an id."""
    return _ID.fullmatch(text) is not None


def ids_of(keys: Iterable[str]) -> dict[str, list[str]]:
    """The ids that each key may mean, the likelier first: it is a name, or an id itself."""
    return {key: [architecture_id(key), *([key] if is_id(key) else [])] for key in keys}


def is_fingerprint(text: str) -> bool:
    """Whether a text has the form of a fingerprint."""
    return _FINGERPRINT.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Hit:
    """An indexed architecture and how near it is.

    Attributes:
        id: Derived from the name.
        name: Unique, the spec that builds it.
        source: Who registers it.
        library: Distribution and version it was read from.
        family: Fine class.
        block: Coarse class.
        task: Purpose.
        parameters: Number of learned scalars.
        flops: Floating-point operations of one forward pass.
        nodes: Operators in the graph.
        topology: Topology fingerprint.
        exact: Exact fingerprint.
        score: Cosine similarity in [-1, 1], higher is nearer.
    """

    id: str
    name: str
    source: str
    library: str
    family: str
    block: str
    task: str
    parameters: int
    flops: int
    nodes: int
    topology: str
    exact: str
    score: float


# The scalar columns of the index, in the order of Hit.
COLUMNS: Final = tuple(field.name for field in fields(Hit) if field.name != "score")


@dataclass(frozen=True, slots=True, eq=False)
class IndexRow:
    """An architecture as the index stores it: the fields of a Hit, and its vector.

    Attributes:
        embedding: Shape (dim,), float32.
    """

    id: str
    name: str
    source: str
    library: str
    family: str
    block: str
    task: str
    parameters: int
    flops: int
    nodes: int
    topology: str
    exact: str
    embedding: Embedding

    def hit(self, score: float) -> Hit:
        """What a search shows of this row."""
        return Hit(**{column: getattr(self, column) for column in COLUMNS}, score=score)

    def digest(self) -> str:
        """Hash over every field, vector bytes included: tells whether a row reads back whole."""
        told = sha256(self.embedding.astype("<f4").tobytes())
        for column in COLUMNS:
            told.update(f"\0{getattr(self, column)}".encode())
        return told.hexdigest()[:32]


class Described(Protocol):
    """What a row says besides the vector: an `Architecture`, or its card in a corpus."""

    @property
    def labels(self) -> Labels:
        """Name and labels."""

    @property
    def block(self) -> str:
        """Coarse class."""

    @property
    def parameters(self) -> int:
        """Learned scalars."""

    @property
    def flops(self) -> int:
        """Floating-point operations."""

    @property
    def nodes(self) -> int:
        """Operators."""

    @property
    def topology(self) -> str:
        """Topology fingerprint."""

    @property
    def exact(self) -> str:
        """Exact fingerprint."""


def index_row(item: Described, embedding: Embedding) -> IndexRow:
    """The row of an architecture.

    Args:
        item: The architecture, or what is known of it.
        embedding: Shape (dim,).
    """
    labels = item.labels
    return IndexRow(
        id=architecture_id(labels.name),
        name=labels.name,
        source=labels.source,
        library=labels.library,
        family=labels.family,
        block=item.block,
        task=labels.task,
        parameters=item.parameters,
        flops=item.flops,
        nodes=item.nodes,
        topology=item.topology,
        exact=item.exact,
        embedding=embedding,
    )


def check_rows(rows: Sequence[IndexRow], dim: int) -> None:
    """Refuse what the index would store wrongly or not at all.

    Raises:
        InvalidInputError: Names the row and field at fault: ``rows[3].embedding``.
    """
    seen: set[str] = set()
    for position, row in enumerate(rows):
        fault = _field_fault(row) or _embedding_fault(row.embedding, dim)
        if fault is None and row.id in seen:
            fault = ("id", f"{row.name!r} is there twice in one batch")
        if fault:
            field, reason = fault
            raise InvalidInputError(f"rows[{position}].{field}", reason)
        seen.add(row.id)


def _field_fault(row: IndexRow) -> tuple[str, str] | None:
    for field, limit in TEXT_BYTES.items():
        fault = text_fault(getattr(row, field), limit)
        if fault:
            return field, fault
    for field in COUNTS:
        if not is_count(getattr(row, field)):
            return field, f"wanted a whole number from 0 to 2^63-1, came {getattr(row, field)!r}"
    for field in FINGERPRINTS:
        if not is_fingerprint(getattr(row, field)):
            return field, f"wanted 64 hexadecimal digits, came {getattr(row, field)!r}"
    if row.id != architecture_id(row.name):
        return "id", f"wanted {architecture_id(row.name)}, the id of its name, came {row.id!r}"
    return None


def _embedding_fault(embedding: Embedding, dim: int) -> tuple[str, str] | None:
    if embedding.shape != (dim,) or embedding.dtype != np.float32:
        came = f"{embedding.dtype} of shape {embedding.shape}"
        return "embedding", f"wanted float32 of shape ({dim},), came {came}"
    finite = np.isfinite(embedding)
    if not finite.all():
        first = int(np.argmin(finite))
        return f"embedding[{first}]", f"wanted a finite number, came {embedding[first]}"
    norm = float(np.linalg.norm(embedding.astype(np.float64)))
    if not MIN_NORM <= norm <= MAX_NORM:
        wanted = f"from {MIN_NORM:g} to {MAX_NORM:g}"
        return "embedding", f"wanted a length {wanted}, came {norm:g}"
    return None
