"""Baselines of every table: vectors without training, compared by cosine, a row a graph."""

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, hstack

from benchmark.methods.reading import read
from benchmark.scoring.ranking import unit_rows
from nar.encoding.default.encoder import size_features
from nar.encoding.default.recipe import LEARNED_FEATURES
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import operator_codes
from nar.graphs.ops import FEATURE_DIM, one_hot_columns
from nar.graphs.ragged import offsets, owners
from nar.motifs.config import MotifConfig
from nar.motifs.feature_sets import ASPECT_KINDS, FeatureSets
from nar.motifs.neighbours import refine, wiring

Weighting = Literal["presence", "log_counts", "idf"]

# Codes are spread over this many columns: at a few thousand distinct ones, few collide.
HASH_COLUMNS: Final = 2**20
RANDOM_DIM: Final = 64
# What size counts in the untrained sum, as in the default encoder.
SIZE_COUNTS: Final = 0.1


def random_vectors(count: int, seed: int) -> NDArray[np.float32]:
    """What chance gives. Shape (count, 64)."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, RANDOM_DIM), dtype=np.float32)


def sizes(graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
    """Size alone: log parameters, log FLOPs, log nodes, standardised. Shape (graphs, 3)."""
    counts = [(graph.parameters, graph.flops, graph.nodes) for graph in graphs]
    logs = np.log1p(np.array(counts, dtype=np.float64).reshape(-1, 3))
    spread = logs.std(axis=0)
    standard = (logs - logs.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(standard, dtype=np.float32)


def bag_of_operators(graphs: Sequence[ComputationalGraph]) -> csr_array:
    """Log counts of operators, wiring ignored. Shape (graphs, operators)."""
    columns = [one_hot_columns(graph.op_ids) for graph in graphs]
    return _weigh(_count(columns, FEATURE_DIM), "log_counts")


def code_histograms(
    graphs: Sequence[ComputationalGraph], steps: int, weighting: Weighting
) -> csr_array:
    """Histograms of the codes of Eq. 2 of every radius up to ``steps``, hashed.

    Args:
        graphs: Canonical graphs.
        steps: s of Eq. 2; 0 sees operators only.
        weighting: Which codes occur, log of how often, or how rare they are among the graphs.

    Returns:
        Shape (graphs, 2^20).
    """
    wires = wiring(graphs)
    ends = offsets([graph.nodes for graph in graphs])[1:-1]
    codes = operator_codes(wires.op_ids)
    seen: list[NDArray[np.int64]] = []
    for step in range(steps + 1):
        codes = refine(codes, wires, 1) if step else codes
        seen.append((codes % np.uint64(HASH_COLUMNS)).astype(np.int64))
    columns = np.split(np.stack(seen, axis=1), ends)
    return _weigh(_count([of_graph.ravel() for of_graph in columns], HASH_COLUMNS), weighting)


def untrained_sum(graphs: Sequence[ComputationalGraph]) -> csr_array:
    """Three cosines at once: of codes, of what the default encoder reads, and a little of size.

    Blocks of length 1 are set side by side, so that the cosine of two rows is a mean of the cosines
    of their blocks: codes of Eq. 2 up to three steps, weighed by how rare they are; the features
    that the default encoder has learned vectors for, weighed likewise; parameters and FLOPs.

    Args:
        graphs: Canonical graphs.

    Returns:
        Shape (graphs, 2^21 + 32).
    """
    size = csr_array(SIZE_COUNTS**0.5 * size_features(graphs))
    codes = code_histograms(graphs, 3, "idf")
    features = _feature_histograms(read(graphs, MotifConfig()).sets)
    blocks = [csr_array(unit_rows(block)) for block in (codes, features)]
    whole: Any = hstack([*blocks, size], format="csr")
    return csr_array(whole)


def _feature_histograms(sets: FeatureSets) -> csr_array:
    """Which learned features occur, each by how rare it is among the graphs."""
    is_read = np.array([kind in LEARNED_FEATURES for kind in ASPECT_KINDS])[sets.aspects]
    columns = (sets.codes[is_read] % np.uint64(HASH_COLUMNS)).astype(np.int64)
    ends = offsets(np.bincount(sets.graph()[is_read], minlength=sets.count))[1:-1]
    return _weigh(_count(np.split(columns, ends), HASH_COLUMNS), "idf")


def _count(columns: Sequence[NDArray[np.int64]], width: int) -> csr_array:
    """How often each column occurs in each row."""
    rows = owners([len(row) for row in columns])
    ones = np.ones(len(rows), dtype=np.float32)
    shape = (len(columns), width)
    return coo_array((ones, (rows, np.concatenate(columns))), shape=shape).tocsr()


def _weigh(counts: csr_array, weighting: Weighting) -> csr_array:
    weighed = counts.copy()
    if weighting == "log_counts":
        weighed.data = np.log1p(counts.data)
        return weighed
    weighed.data = np.ones_like(counts.data)
    if weighting == "idf":
        graphs_with = np.bincount(counts.indices, minlength=counts.shape[1])
        weighed.data = np.log1p(counts.shape[0] / graphs_with[counts.indices]).astype(np.float32)
    return weighed
