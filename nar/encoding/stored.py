"""StoredEmbedder: the encoder of a checkpoint, loaded when the first graph comes.

Whoever asks with a vector that is known needs no torch, which takes longer to import than the whole
answer takes.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nar.encoding.checkpoint_files import read_files
from nar.graphs.by import By
from nar.graphs.graph import ComputationalGraph

if TYPE_CHECKING:
    from nar.encoding.embed import Embedder, Observe

GraphEmbedder: TypeAlias = "Embedder | StoredEmbedder"


class StoredEmbedder:
    """Embeds canonical graphs, as `nar.encoding.embed.Embedder` does; threads may share it.

    Args:
        directory: Of the checkpoint.

    Raises:
        CheckpointError: It is missing, damaged, or of a newer version or operator vocabulary.
    """

    def __init__(self, directory: Path) -> None:
        files = read_files(directory)
        self._directory = directory
        self._config = files.settings
        self._loading = Lock()
        self._loaded: Embedder | None = None
        self.fingerprint = files.fingerprint
        self.name = files.settings.name
        self.dim = files.settings.dim

    def weights(self, by: By) -> NDArray[np.float32]:
        """What a query's vector is multiplied with, by what is asked for: shape (dim,)."""
        return self._config.weights(by)

    def embed(
        self, graphs: Sequence[ComputationalGraph], *, observe: "Observe | None" = None
    ) -> NDArray[np.float32]:
        """Unit vectors of graphs in canonical order: shape (graphs, dim); see `Embedder.embed`."""
        embedder = self.load()
        return embedder.embed(graphs, observe=observe) if observe else embedder.embed(graphs)

    def load(self) -> "Embedder":
        """Load the encoder, unless it is; who comes meanwhile waits."""
        with self._loading:
            if self._loaded is None:
                # Both import torch.
                from nar.encoding.checkpoint import load_checkpoint
                from nar.encoding.embed import Embedder

                self._loaded = Embedder(load_checkpoint(self._directory))
            return self._loaded
