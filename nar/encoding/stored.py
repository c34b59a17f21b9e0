"""StoredEmbedder: the encoder of a checkpoint, loaded when the first graph comes.

Whoever asks with a vector that is known needs no torch, which takes longer to import than the whole
answer takes.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nar.by import By
from nar.encoding.checkpoint_files import read_files
from nar.graph import ComputationalGraph

if TYPE_CHECKING:
    from nar.encoding.embed import Embedder


class StoredEmbedder:
    """Embeds canonical graphs, as `nar.encoding.embed.Embedder` does.

    Args:
        directory: Of the checkpoint.

    Raises:
        CheckpointError: It is missing, damaged, or of a newer version or operator vocabulary.
    """

    def __init__(self, directory: Path) -> None:
        files = read_files(directory)
        self._directory = directory
        self._config = files.settings
        self.fingerprint = files.fingerprint
        self.dim = files.settings.dim

    def weights(self, by: By) -> NDArray[np.float32]:
        """What a query's vector is multiplied with, by what is asked for: shape (dim,)."""
        return self._config.weights(by)

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Unit vectors of graphs in canonical order: shape (graphs, dim)."""
        return self._embedder.embed(graphs)

    @cached_property
    def _embedder(self) -> "Embedder":
        # Both import torch.
        from nar.encoding.checkpoint import load_checkpoint
        from nar.encoding.embed import Embedder

        return Embedder(load_checkpoint(self._directory))
