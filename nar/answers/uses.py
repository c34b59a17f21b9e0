"""Uses of blocks: every motif type of a corpus, with the architectures that contain it."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nar.answers.atlas import USES, Atlas, check_seal, damaged, seal
from nar.base.files import write_whole
from nar.corpus import Corpus, Location
from nar.graphs.architecture import Architecture
from nar.graphs.ragged import slices_within
from nar.motifs.partition import partition_all

_COLUMNS: Final = ("code", "row", "count")
# The highest level of zstd without `--ultra`: a table is written once, and every wheel carries it.
_LEVEL: Final = 19
# Chosen: graphs of so many nodes are cut into motifs together, which bounds the memory of a step; a
# larger graph is a batch of its own.
_NODES_A_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Uses:
    """Which architectures contain which motif types: one entry for each pair.

    Attributes:
        codes: Shape (pairs,), uint64, ascending.
        rows: Shape (pairs,), int32, positions in the corpus; ascending for each code.
        counts: Shape (pairs,), int32, occurrences of the motif type in that architecture.
    """

    codes: NDArray[np.uint64]
    rows: NDArray[np.int32]
    counts: NDArray[np.int32]

    def of(self, code: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows that contain a motif type, and how often each does.

        Example:
            >>> uses = uses_of([{7: 2}, {9: 1}, {7: 1}])
            >>> rows, counts = uses.of(7)
            >>> rows.tolist(), counts.tolist()
            ([0, 2], [2, 1])
        """
        wanted = np.uint64(code)
        first, last = (int(np.searchsorted(self.codes, wanted, side)) for side in _SIDES)
        return self.rows[first:last], self.counts[first:last]

    def how_many(self, codes: Iterable[int]) -> list[int]:
        """How many architectures contain each of some motif types."""
        wanted = np.array(list(codes), dtype=np.uint64)
        first, last = (np.searchsorted(self.codes, wanted, side) for side in _SIDES)
        counts: list[int] = (last - first).tolist()
        return counts


_SIDES: Final = ("left", "right")


def uses_of(counted: Iterable[dict[int, int]]) -> Uses:
    """The table of what each architecture of a corpus contains: occurrences by motif type."""
    entries = [
        (code, row, count) for row, counts in enumerate(counted) for code, count in counts.items()
    ]
    entries.sort()
    codes, rows, counts = zip(*entries, strict=True) if entries else ((), (), ())
    return Uses(
        np.array(codes, dtype=np.uint64),
        np.array(rows, dtype=np.int32),
        np.array(counts, dtype=np.int32),
    )


def corpus_uses(corpus: Location) -> Uses:
    """Cut every architecture of a corpus into motifs, and count them; takes minutes."""
    return uses_of(counts for _, items in Corpus(corpus).shards() for counts in _counted(items))


def _counted(items: list[Architecture]) -> Iterable[dict[int, int]]:
    graphs = [item.graph for item in items]
    for batch in slices_within([graph.nodes for graph in graphs], _NODES_A_BATCH):
        for cut in partition_all(graphs[batch]):
            yield cut.counts()


def write_uses(atlas: Atlas, uses: Uses) -> None:
    """Keep the table beside the vectors, whole or not at all."""
    columns = (uses.codes, uses.rows, uses.counts)
    table = pa.table(dict(zip(_COLUMNS, columns, strict=True)))
    write = partial(pq.write_table, table, compression="zstd", compression_level=_LEVEL)
    write_whole(_path(atlas), write)
    seal(atlas)


def read_uses(atlas: Atlas) -> Uses | None:
    """The table of an atlas; None if it has none.

    Raises:
        CorpusError: The table is damaged.
    """
    path = _path(atlas)
    if not path.exists():
        return None
    check_seal(path)
    try:
        table = pq.ParquetFile(path).read()
        return Uses(*(table.column(name).to_numpy() for name in _COLUMNS))
    except (OSError, pa.ArrowException, KeyError) as error:
        raise damaged(path, error) from error


def _path(atlas: Atlas) -> Path:
    return atlas.directory / USES
