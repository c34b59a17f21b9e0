"""What pretraining is told of each architecture."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.architecture import Architecture


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLabels:
    """What stage 2 is told of each architecture.

    Attributes:
        classes: Shape (architectures,), int64, 0 to classes - 1: the target of the classifier head.
        families: Shape (architectures,), int64: who is a positive of whom.
    """

    classes: NDArray[np.int64]
    families: NDArray[np.int64]

    @classmethod
    def of(cls, blocks: Sequence[str], families: Sequence[str]) -> "TrainingLabels":
        """Number the coarse class and the fine class of each architecture."""
        return cls(_numbered(blocks), _numbered(families))


def printed_labels(architectures: Sequence[Architecture]) -> TrainingLabels:
    """The labels the paper trains with: the coarse block for the head, the family for contrast."""
    return TrainingLabels.of(
        [item.block for item in architectures], [item.labels.family for item in architectures]
    )


def kin_labels(architectures: Sequence[Architecture]) -> TrainingLabels:
    """The same with kin for contrast: composed models by their encoders, too."""
    return TrainingLabels.of(
        [item.block for item in architectures], [item.labels.kin for item in architectures]
    )


def _numbered(names: Sequence[str]) -> NDArray[np.int64]:
    return np.unique(np.array(names), return_inverse=True)[1].astype(np.int64)
