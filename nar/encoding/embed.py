"""Embedder: from computational graphs to unit vectors (Eq. 8)."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nar.encoding.checkpoint import fingerprint
from nar.encoding.encoder import Encoder
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ragged import slices_within
from nar.motifs.partition import split_all

if TYPE_CHECKING:
    import torch

# Measured: 12,500 to 200,000 nodes at once are equally fast within 10% (results/benchmarks.md); the
# memory of a call grows with it.
NODES_A_PASS = 100_000

Observe = Callable[[str, float], None]


def _ignore(_stage: str, _seconds: float) -> None: ...


class Embedder:
    """Embeds canonical graphs; safe to share between threads.

    Args:
        encoder: The encoder of a checkpoint.
        device: Device to run on; None takes a GPU if there is one that helps.
    """

    def __init__(self, encoder: Encoder, *, device: "torch.device | None" = None) -> None:
        self.fingerprint = fingerprint(encoder)
        self.name = encoder.config.name
        self.dim = encoder.config.dim
        self.weights = encoder.config.weights
        self._motif_config = encoder.config.motifs
        encoder.to(device)
        self._encoder = encoder

    def embed(
        self, graphs: Sequence[ComputationalGraph], *, observe: Observe = _ignore
    ) -> NDArray[np.float32]:
        """Embed graphs.

        Args:
            graphs: In canonical order; any number of any size.
            observe: Called with the seconds spent in the stages ``motifs`` and ``encode``.

        Returns:
            Shape (graphs, dim), every row of length 1.
        """
        vectors = np.empty((len(graphs), self.dim), dtype=np.float32)
        for part in slices_within([graph.nodes for graph in graphs], NODES_A_PASS):
            started = time.perf_counter()
            partitions = split_all(graphs[part], self._motif_config)
            cut = time.perf_counter()
            observe("motifs", cut - started)
            vectors[part] = self._encoder.encode(partitions)
            observe("encode", time.perf_counter() - cut)
        return vectors
