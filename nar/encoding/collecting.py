"""The samples that pretraining reads from a corpus, part by part, and their targets.

Graphs are not kept. The samples of many graphs may be larger than memory: a `Spool` is on disk.
"""

import mmap
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from tempfile import TemporaryFile
from typing import Any, Final, Protocol, TypeVar, cast, get_type_hints
from weakref import finalize

import numpy as np
from numpy.typing import DTypeLike, NDArray

from nar.graphs.architecture import Architecture, Labels
from nar.graphs.graph import ComputationalGraph

# Chosen: so many nodes are cut into motifs at once. Samples do not depend on it; the memory used
# beside them grows with it.
NODES_A_CHUNK: Final = 300_000

_SPOOL_PREFIX: Final = "nar-spool-"
# Chosen: smaller arrays are read, since a mapping of each costs as much.
_MAPPED_BYTES: Final = 64 * 2**20

SamplesT = TypeVar("SamplesT", covariant=True)


class Labelled(Protocol):
    """An architecture without its graph: its targets follow from the rest."""

    @property
    def block(self) -> str:
        """Coarse class."""

    @property
    def labels(self) -> Labels:
        """Name and labels."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The targets of stage 2 for each architecture.

    Attributes:
        classes: Shape (architectures,), int64, 0 to classes - 1: the target of the classifier head.
        families: Shape (architectures,), int64: architectures with equal numbers are positives of
            each other.
        decoders: The same by the decoder or head of a composed architecture; by the family of any
            other.
        trunks: The same by the encoder of a composed architecture; by the family of any other.
    """

    classes: NDArray[np.int64]
    families: NDArray[np.int64]
    decoders: NDArray[np.int64]
    trunks: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> "Targets":
        """The targets of some of the architectures, in their order."""
        columns = (self.classes, self.families, self.decoders, self.trunks)
        return Targets(*(column[rows] for column in columns))

    @classmethod
    def of(
        cls,
        blocks: Sequence[str],
        families: Sequence[str],
        decoders: Sequence[str] | None = None,
        trunks: Sequence[str] | None = None,
    ) -> "Targets":
        """Number the coarse class and the fine classes of each architecture."""
        others = (families if names is None else names for names in (decoders, trunks))
        return cls(*map(_numbered, (blocks, families, *others)))


def printed_targets(architectures: Sequence[Labelled]) -> Targets:
    """The targets the paper trains with: the coarse block for the head, the family for contrast."""
    return Targets.of(
        [item.block for item in architectures], [item.labels.family for item in architectures]
    )


def kin_targets(architectures: Sequence[Labelled]) -> Targets:
    """The same with kin for contrast, so that composed models count by their encoders, too."""
    labels = [item.labels for item in architectures]
    return Targets.of(
        [item.block for item in architectures],
        [each.kin for each in labels],
        [each.family for each in labels],
        [each.trunk for each in labels],
    )


def _numbered(names: Sequence[str]) -> NDArray[np.int64]:
    return np.unique(np.array(names), return_inverse=True)[1].astype(np.int64)


class GraphReader(Protocol[SamplesT]):
    """Reads the samples of an encoder from graphs, and does not keep the graphs."""

    def read(self, graphs: Sequence[ComputationalGraph]) -> None:
        """Read some more canonical graphs."""

    def samples(self, targets: Targets) -> SamplesT:
        """The samples of all graphs, with the targets of the graphs."""


@dataclass(frozen=True, slots=True)
class TargetKey:
    """What the targets of an architecture depend on: its coarse class and its families."""

    block: str
    labels: Labels

    @classmethod
    def of(cls, item: Architecture) -> "TargetKey":
        """The key of an architecture, equal for all architectures with the same targets."""
        return cls(item.block, replace(item.labels, name="", source="", library="", task=""))


def collected(
    architectures: Iterable[Architecture],
    reader: GraphReader[SamplesT],
    targets: Callable[[Sequence[Labelled]], Targets],
    *,
    nodes_a_chunk: int,
) -> SamplesT:
    """Read a corpus.

    Args:
        architectures: The corpus, in its order.
        reader: Reads the graphs of the corpus.
        targets: Gives the targets of architectures from their labels.
        nodes_a_chunk: Most nodes that are read at once; a larger graph is read alone.
    """
    kinds: dict[TargetKey, int] = {}
    kind_of = array("q")
    for chunk in chunks(architectures, nodes_a_chunk):
        reader.read([item.graph for item in chunk])
        kind_of.extend(kinds.setdefault(TargetKey.of(item), len(kinds)) for item in chunk)
    return reader.samples(targets(list(kinds)).take(np.array(kind_of, dtype=np.int64)))


def chunks(
    architectures: Iterable[Architecture], nodes_a_chunk: int
) -> Iterator[list[Architecture]]:
    """Consecutive architectures with at most ``nodes_a_chunk`` nodes together, or a single one."""
    chunk: list[Architecture] = []
    nodes = 0
    for item in architectures:
        if chunk and nodes + item.graph.nodes > nodes_a_chunk:
            yield chunk
            chunk, nodes = [], 0
        chunk.append(item)
        nodes += item.graph.nodes
    if chunk:
        yield chunk


def keep_samples(folder: Path, samples: object) -> None:
    """Keep samples for other processes and later runs: records of arrays, each array a file.

    Args:
        folder: Made whole or not at all; where another process was first, its own stays.
        samples: A dataclass of arrays, and of such dataclasses; everything else is left out.
    """
    part = folder.with_name(f"{folder.name}.{token_hex(4)}.part")
    _write(part, samples)
    try:
        part.rename(folder)
    except OSError:  # another process was first: it has written the same
        rmtree(part)


def _write(folder: Path, record: Any) -> None:  # noqa: ANN401 -- any dataclass
    folder.mkdir(parents=True)
    for name in (each.name for each in fields(record)):
        value = getattr(record, name)
        if isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value, allow_pickle=False)
        elif is_dataclass(value):
            _write(folder / name, value)


def kept_samples(folder: Path, kind: type[SamplesT], given: Mapping[str, object]) -> SamplesT:
    """Samples that `keep_samples` has kept; large arrays are mapped from their files.

    Args:
        folder: Where they are.
        kind: Their class.
        given: Fields that are no arrays, by name.

    Raises:
        OSError: They are not there, or a file is damaged.
        ValueError: A file is damaged.
    """
    hints = get_type_hints(kind)
    values = {
        name: given[name] if name in given else _read(folder, name, hints[name], given)
        for name in hints
    }
    return kind(**values)


def _read(folder: Path, name: str, kind: Any, given: Mapping[str, object]) -> object:  # noqa: ANN401
    if is_dataclass(kind):
        return kept_samples(folder / name, cast("type[object]", kind), given)
    file = folder / f"{name}.npy"
    is_large = file.stat().st_size > _MAPPED_BYTES
    return np.load(file, mmap_mode="r" if is_large else None, allow_pickle=False)


class Spool:
    """Arrays of one type, laid end to end in a file that has no name.

    The arrays may be larger than memory: they are mapped from the file, and the system may drop
    pages that it has read. The file lies where `tempfile` puts files (``TMPDIR``), and disappears
    with the last array that reads it.

    Args:
        dtype: Type of every item.

    Example:
        >>> spool = Spool(np.int64)
        >>> spool.append(np.array([1, 2]))
        >>> spool.append(np.array([3]))
        >>> spool.array()
        array([1, 2, 3])
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._file = TemporaryFile(prefix=_SPOOL_PREFIX)  # noqa: SIM115 - open until it is read
        finalize(self, self._file.close)

    def append(self, array: NDArray[Any]) -> None:
        """Append an array.

        Args:
            array: Shape (items,), of values that the type holds.

        Raises:
            OSError: The disk is full.
        """
        self._file.write(np.ascontiguousarray(array, dtype=self._dtype).tobytes())

    def array(self) -> NDArray[Any]:
        """All items, read-only: shape (items,). Nothing can be appended afterwards."""
        with self._file as file:
            file.flush()
            if not file.tell():  # A file without content cannot be mapped.
                return np.empty(0, dtype=self._dtype)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, dtype=self._dtype)
