"""An encoder on disk: the two files of its checkpoint, read without torch.

`StoredEmbedder` loads the encoder when the first graph comes. A search with a vector that is known
needs no torch, whose import takes longer than the whole answer.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from nar.base.errors import CheckpointError
from nar.base.workspace import job
from nar.encoding.recipe import EncoderConfig
from nar.encoding.registry import to_config
from nar.graphs.by import By
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import FEATURE_DIM

CONFIG_NAME: Final = "config.json"
WEIGHTS_NAME: Final = "weights.safetensors"


def again() -> str:
    """What to do about a checkpoint that cannot be used."""
    return f"pretrain again with {job('pretrain')}"


@dataclass(frozen=True, eq=False)
class CheckpointFiles:
    """The content of the two files of a checkpoint.

    Attributes:
        settings: Settings that belong to the weights.
        weights: Bytes of safetensors.
    """

    settings: EncoderConfig
    weights: bytes

    @cached_property
    def weights_sha256(self) -> str:
        """Digest of the weights (hex)."""
        return sha256(self.weights).hexdigest()

    @property
    def config(self) -> bytes:
        """The file of settings, which holds the digest of the weights, too."""
        document = {
            "encoder": self.settings.model_dump(mode="json"),
            "weights_sha256": self.weights_sha256,
        }
        return (json.dumps(document, indent=2) + "\n").encode()

    @property
    def fingerprint(self) -> str:
        """Sha256 (hex) over settings and weights."""
        digest = sha256(self.config)
        digest.update(self.weights)
        return digest.hexdigest()


def read_files(directory: Path) -> CheckpointFiles:
    """Read both files, and check that the settings were written for the weights.

    Raises:
        CheckpointError: One is missing, damaged, or of a newer version or operator vocabulary.
    """
    config, digest = _read_config(directory)
    files = CheckpointFiles(config, _read(directory, WEIGHTS_NAME))
    if files.weights_sha256 != digest:
        raise CheckpointError(
            f"checkpoint {directory} is damaged: {WEIGHTS_NAME} is not the file that "
            f"{CONFIG_NAME} was written for; {again()}"
        )
    return files


def _read(directory: Path, name: str) -> bytes:
    try:
        return (directory / name).read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"no checkpoint at {directory} ({name}: {error.strerror}); "
            f"make one with {job('pretrain')}"
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
            f"{again()}"
        ) from error
    if config.operators > FEATURE_DIM:
        raise CheckpointError(
            f"checkpoint {directory} is of a newer operator vocabulary: wanted at most "
            f"{FEATURE_DIM} one-hot columns, came {config.operators}; update NAR, or {again()}"
        )
    return config, digest


def _first_fault(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors()[0]
        return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    return f"{type(error).__name__}: {error}"


if TYPE_CHECKING:
    from nar.encoding.embed import Embedder, Observe

GraphEmbedder: TypeAlias = "Embedder | StoredEmbedder"


class StoredEmbedder:
    """Embeds canonical graphs, as `nar.encoding.embed.Embedder` does; threads may share it.

    Args:
        directory: Directory of the checkpoint.

    Raises:
        CheckpointError: It is missing, damaged, or of a newer version or operator vocabulary.
    """

    def __init__(self, directory: Path) -> None:
        files = read_files(directory)
        self._directory = directory
        self._config = files.settings
        self._weights: dict[By, NDArray[np.float32]] = {}
        self._loading = Lock()
        self._loaded: Embedder | None = None
        self.fingerprint = files.fingerprint
        self.name = files.settings.name
        self.dim = files.settings.dim

    def weights(self, by: By) -> NDArray[np.float32]:
        """Factors of a query's vector, by what the query asks for: shape (dim,)."""
        if by not in self._weights:
            self._weights[by] = self._config.weights(by)
        return self._weights[by]

    def embed(
        self, graphs: Sequence[ComputationalGraph], *, observe: "Observe | None" = None
    ) -> NDArray[np.float32]:
        """Unit vectors of graphs in canonical order: shape (graphs, dim); see `Embedder.embed`."""
        embedder = self.load()
        return embedder.embed(graphs, observe=observe) if observe else embedder.embed(graphs)

    def load(self) -> "Embedder":
        """The encoder, loaded at the first call; other threads wait for it meanwhile."""
        with self._loading:
            if self._loaded is None:
                # Both import torch.
                from nar.encoding.embed import Embedder, load_checkpoint

                self._loaded = Embedder(load_checkpoint(self._directory))
            return self._loaded
