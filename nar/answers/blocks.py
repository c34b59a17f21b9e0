"""Blocks: the operators of every motif type of an atlas, so that blocks are found by what they do.

An atlas holds codes only. Their operators are read from the corpus, from the smallest network that
has each, and kept in the user's cache: seconds, once.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nar.answers.atlas import USES, Atlas
from nar.answers.uses import Uses
from nar.base.files import write_whole
from nar.corpus import iterate_cards, iterate_shards
from nar.encoding.batches import runs
from nar.graphs.architecture import Architecture
from nar.motifs.partition import partition_all

Operators = Mapping[int, tuple[str, ...]]
_COLUMNS: Final = ("code", "operators")
_NODES_A_BATCH: Final = 10_000


def operators_of_blocks(atlas: Atlas, uses: Uses, cache: Path) -> Operators:
    """Operators of each motif type of an atlas, in canonical order, by code.

    Args:
        atlas: Which.
        uses: Who contains which motif type of it.
        cache: Directory that keeps them; it is made if need be.
    """
    digest = sha256((atlas.directory / USES).read_bytes()).hexdigest()[:16]
    path = cache / f"blocks-{digest}.parquet"
    if not path.exists():
        read = _read_operators(atlas, uses)
        table = pa.table(dict(zip(_COLUMNS, _columns(read), strict=True)))
        # Where nothing can be kept, the next call reads them again.
        with suppress(OSError):
            cache.mkdir(parents=True, exist_ok=True)
            write_whole(path, partial(pq.write_table, table, compression="zstd"))
        return read
    table = pq.ParquetFile(path).read()
    codes, texts = (table.column(name).to_pylist() for name in _COLUMNS)
    return {code: tuple(text.split()) for code, text in zip(codes, texts, strict=True)}


def _columns(operators: Operators) -> tuple[pa.Array, list[str]]:
    return pa.array(list(operators), pa.uint64()), [" ".join(each) for each in operators.values()]


def _read_operators(atlas: Atlas, uses: Uses) -> Operators:
    nodes = np.array([card.nodes for card in iterate_cards(atlas.corpus)])
    wanted = set(smallest_users(uses, nodes).tolist())
    operators: dict[int, tuple[str, ...]] = {}
    first = 0
    for _, items in iterate_shards(atlas.corpus):
        asked = [item for row, item in enumerate(items, start=first) if row in wanted]
        for code, names in _operators_in(asked):
            operators.setdefault(code, names)
        first += len(items)
    return operators


def smallest_users(uses: Uses, nodes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Rows that contain every motif type between them: for each, the smallest that has it.

    Args:
        uses: Who contains which motif type.
        nodes: Shape (architectures,), operators of each row.

    Returns:
        Shape (rows,), ascending.

    Example:
        >>> from nar.answers.uses import uses_of
        >>> smallest_users(uses_of([{7: 2}, {9: 1, 8: 1}, {7: 1}]), np.array([5, 4, 3])).tolist()
        [1, 2]
    """
    order = np.lexsort((nodes[uses.rows], uses.codes))
    _, first = np.unique(uses.codes[order], return_index=True)
    return np.unique(uses.rows[order][first])


def _operators_in(items: Sequence[Architecture]) -> Iterator[tuple[int, tuple[str, ...]]]:
    graphs = [item.graph for item in items]
    for batch in runs([graph.nodes for graph in graphs], _NODES_A_BATCH):
        for cut in partition_all(graphs[batch]):
            yield from ((code, tuple(cut.operators(code))) for code in cut.counts())
