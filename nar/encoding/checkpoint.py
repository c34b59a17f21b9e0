"""Checkpoints: an encoder as ``config.json`` and ``weights.safetensors``, never as a pickle."""

from functools import partial
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from nar.base.errors import CheckpointError
from nar.base.files import write_whole
from nar.encoding import stored
from nar.encoding.encoder import Encoder, reading_module


def fingerprint(encoder: Encoder) -> str:
    """Sha256 (hex) over the settings and weights of an encoder, as its checkpoint holds them."""
    return _files(encoder).fingerprint


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
