"""Checkpoints: an encoder as ``config.json`` and ``weights.safetensors``, never as a pickle."""

import json
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load, save

from nar.encoding.encoder import Encoder, encoder_module
from nar.encoding.recipe import EncoderConfig
from nar.encoding.registry import to_config
from nar.errors import CheckpointError
from nar.files import write_whole
from nar.ops import FEATURE_DIM

CONFIG_NAME = "config.json"
WEIGHTS_NAME = "weights.safetensors"
_AGAIN = "pretrain again with `python -m cluster.pretrain`"


@dataclass(frozen=True, slots=True)
class _Files:
    """The two files of a checkpoint; the first knows the digest of the second."""

    config: bytes
    weights: bytes

    @property
    def fingerprint(self) -> str:
        return sha256(self.config + self.weights).hexdigest()


def fingerprint(encoder: Encoder) -> str:
    """Sha256 (hex) over the settings and weights of an encoder, as its checkpoint holds them."""
    return _serialised(encoder).fingerprint


def save_checkpoint(directory: Path, encoder: Encoder) -> str:
    """Write a checkpoint; each file is whole or absent, and a wrong pair is seen when read.

    Returns:
        The encoder's fingerprint.
    """
    files = _serialised(encoder)
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in ((WEIGHTS_NAME, files.weights), (CONFIG_NAME, files.config)):
        write_whole(directory / name, partial(Path.write_bytes, data=content))
    return files.fingerprint


def load_checkpoint(directory: Path) -> Encoder:
    """Read a checkpoint back, ready to embed.

    Raises:
        CheckpointError: It is missing, damaged, or of a newer version or operator vocabulary.
    """
    config, digest = _read_config(directory)
    weights = _read(directory, WEIGHTS_NAME)
    if sha256(weights).hexdigest() != digest:
        raise CheckpointError(
            f"checkpoint {directory} is damaged: {WEIGHTS_NAME} is not the file that "
            f"{CONFIG_NAME} was written for; {_AGAIN}"
        )
    encoder = encoder_module(config.name).untrained(config)
    _load_weights(directory, encoder, weights)
    return encoder


def _serialised(encoder: Encoder) -> _Files:
    weights = save(encoder.tensors())
    document = {
        "encoder": encoder.config.model_dump(mode="json"),
        "weights_sha256": sha256(weights).hexdigest(),
    }
    return _Files((json.dumps(document, indent=2) + "\n").encode(), weights)


def _read(directory: Path, name: str) -> bytes:
    try:
        return (directory / name).read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"no checkpoint at {directory} ({name}: {error.strerror}); "
            "make one with `python -m cluster.pretrain`"
        ) from error


def _read_config(directory: Path) -> tuple[EncoderConfig, str]:
    try:
        document = json.loads(_read(directory, CONFIG_NAME))
        config = to_config(document["encoder"])
        digest = str(document["weights_sha256"])
    except (ValueError, KeyError, TypeError) as error:
        detail = _first_fault(error)
        raise CheckpointError(
            f"checkpoint {directory} is damaged or of another version: {CONFIG_NAME}: {detail}; "
            f"{_AGAIN}"
        ) from error
    if config.operators > FEATURE_DIM:
        raise CheckpointError(
            f"checkpoint {directory} is of a newer operator vocabulary: wanted at most "
            f"{FEATURE_DIM} one-hot columns, came {config.operators}; update NAR, or {_AGAIN}"
        )
    return config, digest


def _first_fault(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors()[0]
        return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    return f"{type(error).__name__}: {error}"


def _load_weights(directory: Path, encoder: Encoder, weights: bytes) -> None:
    try:
        tensors = load(weights)
    except SafetensorError as error:
        raise CheckpointError(
            f"checkpoint {directory} is damaged: {WEIGHTS_NAME}: {error}; {_AGAIN}"
        ) from error
    wanted = {name: tensor.shape for name, tensor in encoder.tensors().items()}
    if {name: tensor.shape for name, tensor in tensors.items()} != wanted:
        raise CheckpointError(
            f"checkpoint {directory} is damaged: {WEIGHTS_NAME} holds other tensors than "
            f"{CONFIG_NAME} describes; {_AGAIN}"
        )
    if not all(torch.isfinite(tensor).all() for tensor in tensors.values()):
        raise CheckpointError(f"checkpoint {directory} holds weights that are no numbers; {_AGAIN}")
    encoder.load(tensors)
