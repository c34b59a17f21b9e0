"""Embedder: from computational graphs to unit vectors (Eq. 8), by an encoder from a checkpoint."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from nar.base.errors import CheckpointError
from nar.base.files import write_whole
from nar.encoding import stored
from nar.encoding.registry import Encoder, reading_module
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
        device: Device to run on; None takes a GPU where a GPU helps.
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


def fingerprint(encoder: Encoder) -> str:
    """Sha256 (hex) over the settings and weights of an encoder, as its checkpoint holds them."""
    return _files(encoder).fingerprint


# Checkpoints: an encoder as ``config.json`` and ``weights.safetensors``, never as a pickle.


def save_checkpoint(directory: Path, encoder: Encoder) -> str:
    """Write a checkpoint; each file is whole or absent, and reading finds a pair that does not fit.

    Returns:
        The encoder's fingerprint.
    """
    files = _files(encoder)
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in ((stored.WEIGHTS_NAME, files.weights), (stored.CONFIG_NAME, files.config)):
        write_whole(directory / name, partial(Path.write_bytes, data=content))
    return files.fingerprint


def load_checkpoint(directory: Path) -> Encoder:
    """Read a checkpoint back, ready to embed.

    Raises:
        CheckpointError: It is missing, damaged, or of a newer version or operator vocabulary.
    """
    files = stored.read_files(directory)
    encoder = reading_module(files.settings.name).untrained(files.settings)
    _load_weights(directory, encoder, files.weights)
    return encoder


def _files(encoder: Encoder) -> stored.CheckpointFiles:
    return stored.CheckpointFiles(encoder.config, save(encoder.tensors()))


def _load_weights(directory: Path, encoder: Encoder, weights: bytes) -> None:
    try:
        tensors = load(weights)
    except (SafetensorError, KeyError) as error:  # of a type that numpy lacks
        raise CheckpointError(
            f"checkpoint {directory} is damaged: {stored.WEIGHTS_NAME}: {error}; {stored.again()}"
        ) from error
    wanted = {name: tensor.shape for name, tensor in encoder.tensors().items()}
    if {name: tensor.shape for name, tensor in tensors.items()} != wanted:
        raise CheckpointError(
            f"checkpoint {directory} is damaged: {stored.WEIGHTS_NAME} holds other tensors than "
            f"{stored.CONFIG_NAME} describes; {stored.again()}"
        )
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise CheckpointError(
            f"checkpoint {directory} holds weights that are no numbers; {stored.again()}"
        )
    encoder.load(tensors)
