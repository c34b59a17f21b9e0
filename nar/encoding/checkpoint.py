"""Checkpoints: an encoder as ``config.json`` and ``weights.safetensors``, never as a pickle."""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field, TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load, save

from nar.encoding.default.encoder import DefaultConfig, DefaultEncoder, default_encoder
from nar.encoding.paper.encoders import PaperConfig, PaperEncoder, paper_encoder
from nar.errors import CheckpointError
from nar.ops import FEATURE_DIM

CONFIG_NAME = "config.json"
WEIGHTS_NAME = "weights.safetensors"
Pretrained = PaperEncoder | DefaultEncoder
_Config = Annotated[PaperConfig | DefaultConfig, Field(discriminator="name")]
_CONFIG: TypeAdapter[PaperConfig | DefaultConfig] = TypeAdapter(_Config)
_AGAIN = "pretrain again with `python -m cluster.pretrain`"


@dataclass(frozen=True, slots=True)
class _Files:
    """The two files of a checkpoint; the first knows the digest of the second."""

    config: bytes
    weights: bytes

    @property
    def fingerprint(self) -> str:
        return sha256(self.config + self.weights).hexdigest()


def fingerprint(encoder: Pretrained) -> str:
    """Sha256 (hex) over the settings and weights of an encoder, as its checkpoint holds them."""
    return _serialised(encoder).fingerprint


def save_checkpoint(directory: Path, encoder: Pretrained) -> str:
    """Write a checkpoint; each file is whole or absent, and a wrong pair is seen when read.

    Returns:
        The encoder's fingerprint.
    """
    files = _serialised(encoder)
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in ((WEIGHTS_NAME, files.weights), (CONFIG_NAME, files.config)):
        part = directory / f"{name}.part"
        part.write_bytes(content)
        part.replace(directory / name)
    return files.fingerprint


def load_checkpoint(directory: Path) -> Pretrained:
    """Read a checkpoint back, ready to embed.

    Raises:
        CheckpointError: It is missing, damaged, or of another version or operator vocabulary.
    """
    config, digest = _read_config(directory)
    weights = _read(directory, WEIGHTS_NAME)
    if sha256(weights).hexdigest() != digest:
        raise CheckpointError(
            f"checkpoint {directory} is damaged: {WEIGHTS_NAME} is not the file that "
            f"{CONFIG_NAME} was written for; {_AGAIN}"
        )
    encoder = _untrained(config)
    _load_weights(directory, encoder, weights)
    return encoder


def _untrained(config: PaperConfig | DefaultConfig) -> Pretrained:
    return paper_encoder(config) if isinstance(config, PaperConfig) else default_encoder(config)


def _serialised(encoder: Pretrained) -> _Files:
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


def _read_config(directory: Path) -> tuple[PaperConfig | DefaultConfig, str]:
    try:
        document = json.loads(_read(directory, CONFIG_NAME))
        config = _CONFIG.validate_python(document["encoder"])
        digest = str(document["weights_sha256"])
    except (ValueError, KeyError, TypeError) as error:
        detail = _first_fault(error)
        raise CheckpointError(
            f"checkpoint {directory} is damaged or of another version: {CONFIG_NAME}: {detail}; "
            f"{_AGAIN}"
        ) from error
    if config.operators != FEATURE_DIM:
        raise CheckpointError(
            f"checkpoint {directory} is of another operator vocabulary: wanted {FEATURE_DIM} "
            f"one-hot columns, came {config.operators}; {_AGAIN}"
        )
    return config, digest


def _first_fault(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors()[0]
        return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    return f"{type(error).__name__}: {error}"


def _load_weights(directory: Path, encoder: Pretrained, weights: bytes) -> None:
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
