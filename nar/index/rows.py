"""The records of an index: IndexRow goes in, IndexRow and Hit come out.

A column is one field of `IndexEntry`, the base of both; a change of the columns counts up
`nar.index.collection.SCHEMA_VERSION`.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import InvalidInputError
from nar.base.own_labels import MAX_LABELS_BYTES, LabelValue, read
from nar.graphs.architecture import Labels
from nar.graphs.fingerprints import HasFingerprints
from nar.index.filters import text_fault

Embedding = NDArray[np.float32]

_MAX_BYTES: Final = "nar.max_bytes"
_IS_FINGERPRINT: Final = "nar.is_fingerprint"
_ID: Final = re.compile(r"[0-9a-f]{32}")
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}")


def architecture_id(name: str) -> str:
    """The id of an architecture: 32 hexadecimal digits of the sha256 of its name.

    Raises:
        InvalidInputError: The name holds a lone surrogate, which has no bytes.

    Example:
        >>> architecture_id("timm:resnet50")
        '2f6adf940015cde002b2299eedab1175'
    """
    fault = text_fault(name, TEXT_BYTES["name"])
    if fault:
        raise InvalidInputError("name", fault)
    return id_of(name)


def id_of(name: str) -> str:
    """As `architecture_id`, of a name that is known to be one: that of a row."""
    return sha256(name.encode()).hexdigest()[:32]


def is_id(text: str) -> bool:
    """Whether a text has the form of an id."""
    return _ID.fullmatch(text) is not None


def ids_of(keys: Iterable[str]) -> dict[str, list[str]]:
    """The ids that each key may mean, the likelier first: a key is a name, or an id itself."""
    return {key: [architecture_id(key), *([key] if is_id(key) else [])] for key in keys}


def is_fingerprint(text: str) -> bool:
    """Whether a text has the form of a fingerprint."""
    return _FINGERPRINT.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, eq=False)
class IndexEntry:
    """All that the index has on an architecture but its vector: one field a column.

    Attributes:
        id: Derived from the name.
        name: Unique, the spec that builds it; names of networks found by search spell out whole
            genotypes.
        source: Name of the source that registers it.
        library: Distribution and version it was read from.
        family: Fine class.
        block: Coarse class.
        task: Purpose.
        tier: Whether a library registers it, or its parts are combined, or its settings swept; see
            `nar.graphs.architecture.Labels`.
        parameters: Number of learned scalars.
        flops: Floating-point operations of one forward pass.
        nodes: Operators in the graph.
        topology: Topology fingerprint.
        exact: Exact fingerprint.
        inference: Inference fingerprint.
        own: Labels of the user's own, as `nar.base.own_labels` writes them; empty where none are.
    """

    id: str
    name: str = field(metadata={_MAX_BYTES: 4_096})
    source: str = field(metadata={_MAX_BYTES: 64})
    library: str = field(metadata={_MAX_BYTES: 256})
    family: str = field(metadata={_MAX_BYTES: 256})
    block: str = field(metadata={_MAX_BYTES: 64})
    task: str = field(metadata={_MAX_BYTES: 256})
    tier: str = field(metadata={_MAX_BYTES: 64})
    parameters: int
    flops: int
    nodes: int
    topology: str = field(metadata={_IS_FINGERPRINT: True})
    exact: str = field(metadata={_IS_FINGERPRINT: True})
    inference: str = field(metadata={_IS_FINGERPRINT: True})
    own: str = field(default="", kw_only=True)

    @property
    def labels(self) -> Mapping[str, LabelValue]:
        """Labels of the user's own, by key."""
        return read(self.own)

    def description(self) -> str:
        """Hash over every field but the vector.

        The exact fingerprint is a field, so rows of one encoder with equal hashes have equal
        vectors.
        """
        return _hashed(b"", self)

    def hit(self, score: float) -> "Hit":
        """The hit that a search makes of it."""
        values = (*_values(self), score)
        return Hit(*values, own=self.own)

    def with_vector(self, embedding: Embedding) -> "IndexRow":
        """The row of this entry with its vector. Shape (dim,)."""
        values = (*_values(self), embedding)
        return IndexRow(*values, own=self.own)


# The column of own labels, which stands beside the others: most indexes have none.
OWN: Final = "own"
OWN_BYTES: Final = MAX_LABELS_BYTES
# The scalar columns of the index, then by kind: texts with their bytes, counts, fingerprints.
COLUMNS: Final = tuple(each.name for each in fields(IndexEntry) if each.name != OWN)
_values: Final = attrgetter(*COLUMNS)
TEXT_BYTES: Final[dict[str, int]] = {
    each.name: each.metadata[_MAX_BYTES]
    for each in fields(IndexEntry)
    if _MAX_BYTES in each.metadata
}
COUNTS: Final = tuple(each.name for each in fields(IndexEntry) if each.type is int)
FINGERPRINTS: Final = tuple(
    each.name for each in fields(IndexEntry) if _IS_FINGERPRINT in each.metadata
)


@dataclass(frozen=True, slots=True)
class Hit(IndexEntry):
    """An indexed architecture and how near it is.

    Attributes:
        score: Cosine similarity in [-1, 1], higher is nearer.
    """

    score: float


# What writes each field of a hit.
_FILLS: Final[Mapping[str, Callable[[Hit, object], None]]] = {
    each.name: getattr(Hit, each.name).__set__ for each in fields(Hit)
}


def hits_of(columns: Mapping[str, Sequence[object]]) -> list[Hit]:
    """Hits by the columns of their fields, which have one length.

    Field by field a thousand hits take a third of the time of a thousand calls of `Hit`.

    Args:
        columns: Every field by name.

    Example:
        >>> values = dict.fromkeys([each.name for each in fields(Hit)], ["x", "y"])
        >>> [hit.name for hit in hits_of({**values, "score": [0.9, 0.5]})]
        ['x', 'y']
    """
    hits = [object.__new__(Hit) for _ in columns["score"]]
    for name, fill in _FILLS.items():
        deque(map(fill, hits, columns[name]), maxlen=0)  # runs it, and keeps nothing
    return hits


@dataclass(frozen=True, slots=True, eq=False)
class IndexRow(IndexEntry):
    """An architecture as the index stores it, with its vector.

    Attributes:
        embedding: Shape (dim,), float32.
    """

    embedding: Embedding

    def digest(self) -> str:
        """Hash over every field, vector bytes included: tells whether a row reads back whole."""
        return _hashed(self.embedding.astype("<f4").tobytes(), self)


def _hashed(content: bytes, entry: IndexEntry) -> str:
    digest = sha256(content)
    digest.update("".join(f"\0{getattr(entry, column)}" for column in COLUMNS).encode())
    # Rows without own labels keep the digest that they had before there were any.
    if entry.own:
        digest.update(f"\0{OWN}\0{entry.own}".encode())
    return digest.hexdigest()[:32]


class RowSource(HasFingerprints, Protocol):
    """What the columns of a row are read from: an `Architecture`, or its card in a corpus."""

    @property
    def labels(self) -> Labels:
        """Name and labels."""

    @property
    def block(self) -> str:
        """Coarse class."""

    @property
    def flops(self) -> int:
        """Floating-point operations."""

    @property
    def nodes(self) -> int:
        """Operators."""


def index_row(item: RowSource, embedding: Embedding) -> IndexRow:
    """The row of an architecture.

    Args:
        item: The architecture, or its card in a corpus.
        embedding: Shape (dim,).
    """
    return IndexRow(**_columns(item), embedding=embedding)


def index_entry(item: RowSource) -> IndexEntry:
    """All that the index has on an architecture but its vector."""
    return IndexEntry(**_columns(item))


def _columns(item: RowSource) -> dict[str, Any]:
    labels = item.labels
    return {
        "id": architecture_id(labels.name),
        "name": labels.name,
        "source": labels.source,
        "library": labels.library,
        "family": labels.family,
        "block": item.block,
        "task": labels.task,
        "tier": labels.tier,
        "parameters": item.parameters,
        "flops": item.flops,
        "nodes": item.nodes,
        "topology": item.topology,
        "exact": item.exact,
        "inference": item.inference,
        OWN: labels.own,
    }


# The number of possible ids, which have 32 hexadecimal digits.
ALL_IDS: Final = 16**32
# Above every id: no hexadecimal digit is as large.
END_OF_IDS: Final = "g"


def id_ranges(rows: int, page_rows: int) -> Iterator[tuple[str, str]]:
    """Ranges of ids that have about ``page_rows`` rows each.

    Args:
        rows: Number of all rows.
        page_rows: Rows that a range should have.

    Yields:
        The first id of a range, and the first id behind it.

    Example:
        >>> [(low[0], end[0]) for low, end in id_ranges(2_000, 500)]
        [('0', '4'), ('4', '8'), ('8', 'c'), ('c', 'g')]
    """
    pages = -(-rows // page_rows) or 1
    return pairwise([*(f"{number * ALL_IDS // pages:032x}" for number in range(pages)), END_OF_IDS])


# Why a call to Milvus fails: Milvus refused it, or has no room for rows, or did not answer.
ERRORS: Final = ("refused", "full", "unreachable")


@dataclass(frozen=True, slots=True)
class IndexState:
    """Where an index keeps its rows.

    Attributes:
        collection: Name of the collection that was looked at last; empty where files alone answer.
        is_in_memory: Whether rows in memory answer searches; else the collection does.
        is_writable: Whether rows can be written.
        visible_within_s: How long it takes at most until rows that others wrote answer, by the
            last time that all rows were compared; 0 where every search asks the collection.
        stale_since: Since when the store cannot be read, so that rows in memory may be old, in
            seconds since 1970; None while it is read.
    """

    collection: str
    is_in_memory: bool
    is_writable: bool
    visible_within_s: float
    stale_since: float | None = None
