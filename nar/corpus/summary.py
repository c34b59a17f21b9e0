"""What a corpus holds, in numbers: groups, sizes and copies, without its names and graphs.

To count distinct networks and percentiles, about 200 bytes of every architecture are in memory at
once.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nar.corpus.columns import numbers_of, prefixes_of
from nar.corpus.location import Location
from nar.corpus.reading import Corpus

# Name of a size -> its column.
SIZES: Final = {
    "parameters": "parameters",
    "flops": "flops",
    "nodes": "node_count",
    "edges": "edge_count",
}
_LABELS: Final = ("source", "family", "block", "task")
_FINGERPRINTS: Final = ("exact", "topology")
PERCENTILES: Final = (0, 5, 25, 50, 75, 95, 100)
_SHOWN_COPIES = 10  # chosen: the largest groups, as many as a glance takes in


@dataclass(frozen=True, slots=True)
class Group:
    """Architectures that have one label in common.

    Attributes:
        name: The label.
        raw: How many there are.
        exact: Distinct networks among them.
        topology: Distinct designs among them.
        sources: Sources that register them, sorted.
    """

    name: str
    raw: int
    exact: int
    topology: int
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SizeDistribution:
    """How one size is distributed.

    Attributes:
        name: ``parameters``, ``flops``, ``nodes`` or ``edges``.
        total: Sum over all architectures.
        percentiles: At each of `PERCENTILES`.
    """

    name: str
    total: int
    percentiles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Copies:
    """How far a fingerprint repeats.

    Attributes:
        fingerprint: ``exact`` or ``topology``.
        distinct: Different values.
        groups: Values that several architectures share.
        members: Architectures in those groups.
        across_sources: Groups whose members come from more than one source.
        by_size: Number of groups by number of members, groups of one member included.
        largest: The largest groups: members, and the name of the first in the corpus.
    """

    fingerprint: str
    distinct: int
    groups: int
    members: int
    across_sources: int
    by_size: dict[int, int]
    largest: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A corpus in numbers.

    Attributes:
        tasks: Largest first.
        families: Largest first.
        blocks: Largest first.
        sizes: Distributions of the sizes.
        copies: Copies by the exact fingerprint, then by the topology.
    """

    tasks: tuple[Group, ...]
    families: tuple[Group, ...]
    blocks: tuple[Group, ...]
    sizes: tuple[SizeDistribution, ...]
    copies: tuple[Copies, ...]


def summarise(directory: Location) -> Summary:
    """Count a finished corpus.

    Raises:
        CorpusError: Names what is missing or damaged.
    """
    words, columns = _read(directory)
    return Summary(
        tasks=_groups(words, columns, "task"),
        families=_groups(words, columns, "family"),
        blocks=_groups(words, columns, "block"),
        sizes=tuple(_size(name, columns[column]) for name, column in SIZES.items()),
        copies=tuple(_copies(columns, name, directory) for name in _FINGERPRINTS),
    )


_Words = dict[str, list[str]]
# Shape (architectures,) each. A label is the number of its word, a fingerprint the number of its
# group.
_Columns = dict[str, NDArray[Any]]


def _read(directory: Location) -> tuple[_Words, _Columns]:
    numbers = {name: _Numbering() for name in _LABELS}
    names = (*_LABELS, *SIZES.values(), *_FINGERPRINTS)
    # Gives a corpus without shards its columns.
    nothing = {name: np.uint64 if name in _FINGERPRINTS else np.int32 for name in names}
    shards: dict[str, list[NDArray[Any]]] = {
        name: [np.empty(0, kind)] for name, kind in nothing.items()
    }
    for table in Corpus(directory).shard_columns(names):
        for name in names:
            shards[name].append(_array(table[name], numbers.get(name)))
    columns = {name: np.concatenate(shards.pop(name)) for name in names}
    for name in _FINGERPRINTS:
        columns[name] = np.unique(columns[name], return_inverse=True)[1]
    return {name: list(words) for name, words in numbers.items()}, columns


class _Numbering(dict[str, int]):
    """Words, numbered in the order in which they were asked for."""

    def __missing__(self, word: str) -> int:
        return self.setdefault(word, len(self))


def _array(column: pa.ChunkedArray, numbers: _Numbering | None) -> NDArray[Any]:
    if numbers is not None:
        return np.array([numbers[word] for word in column.to_pylist()], np.int32)
    return numbers_of(column) if pa.types.is_integer(column.type) else prefixes_of(column)


def _groups(words: _Words, columns: _Columns, label: str) -> tuple[Group, ...]:
    codes = columns[label]
    sources = defaultdict(list)
    for code, source in zip(*_pairs(codes, columns["source"]), strict=True):
        sources[code].append(words["source"][source])
    raw = np.bincount(codes).tolist()
    exact, topology = (_distinct(codes, columns[name]).tolist() for name in _FINGERPRINTS)
    groups = (
        Group(name, raw[code], exact[code], topology[code], tuple(sorted(sources[code])))
        for code, name in enumerate(words[label])
    )
    return tuple(sorted(groups, key=lambda group: (-group.raw, group.name)))


def _pairs(codes: NDArray[Any], others: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The pairs of numbers that stand beside each other in two columns, once each, sorted."""
    width = int(others.max(initial=0)) + 1
    return np.divmod(np.unique(codes.astype(np.int64) * width + others), width)


def _distinct(codes: NDArray[Any], others: NDArray[Any]) -> NDArray[np.int64]:
    """How many different numbers of another column each number of this one goes with."""
    return np.bincount(_pairs(codes, others)[0])


def _size(name: str, values: NDArray[np.int64]) -> SizeDistribution:
    if not len(values):
        return SizeDistribution(name, 0, (0,) * len(PERCENTILES))
    percentiles = np.percentile(values, PERCENTILES, method="nearest")
    # As whole numbers of Python: the operations of very many models may pass 64 bits together.
    return SizeDistribution(name, sum(values.tolist()), tuple(map(int, percentiles)))


def _copies(columns: _Columns, fingerprint: str, directory: Location) -> Copies:
    codes = columns[fingerprint]
    _, first, members = np.unique(codes, return_index=True, return_counts=True)
    shared = np.flatnonzero(members > 1)
    largest = shared[np.lexsort((first[shared], -members[shared]))][:_SHOWN_COPIES]
    names = _names(directory, first[largest].tolist())
    sizes, groups = np.unique(members, return_counts=True)
    return Copies(
        fingerprint=fingerprint,
        distinct=len(members),
        groups=len(shared),
        members=int(members[shared].sum()),
        across_sources=int((_distinct(codes, columns["source"]) > 1).sum()),
        by_size=dict(zip(sizes.tolist(), groups.tolist(), strict=True)),
        largest=tuple(zip(members[largest].tolist(), names, strict=True)),
    )


def _names(directory: Location, rows: Sequence[int]) -> list[str]:
    """The names of some architectures, by their rows in the corpus."""
    found: dict[int, str] = {}
    start = 0
    for entry, shard_names in Corpus(directory).names():
        found |= {
            row: shard_names[row - start] for row in rows if start <= row < start + len(shard_names)
        }
        start += entry.rows
        if len(found) == len(rows):
            break
    return [found[row] for row in rows]
