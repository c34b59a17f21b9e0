"""What pretraining aims at for each architecture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nar.graphs.architecture import Labels


class Described(Protocol):
    """What the targets of an architecture are made from: all but its graph."""

    @property
    def block(self) -> str:
        """Coarse class."""

    @property
    def labels(self) -> Labels:
        """Who it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """What stage 2 aims at for each architecture.

    Attributes:
        classes: Shape (architectures,), int64, 0 to classes - 1: the target of the classifier head.
        families: Shape (architectures,), int64: who is a positive of whom.
        decoders: The same by what a composed architecture is for; of others the family.
        trunks: The same by what a composed architecture stands on; of others the family.
    """

    classes: NDArray[np.int64]
    families: NDArray[np.int64]
    decoders: NDArray[np.int64]
    trunks: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> "Targets":
        """Those of some of the architectures, in their order."""
        columns = (self.classes, self.families, self.decoders, self.trunks)
        return Targets(*(column[rows] for column in columns))

    @classmethod
    def of(
        cls,
        blocks: Sequence[str],
        families: Sequence[str],
        decoders: Sequence[str] | None = None,
        trunks: Sequence[str] | None = None,
    ) -> "Targets":
        """Number the coarse class and the fine classes of each architecture."""
        others = (families if names is None else names for names in (decoders, trunks))
        return cls(*map(_numbered, (blocks, families, *others)))


def printed_targets(architectures: Sequence[Described]) -> Targets:
    """The targets the paper trains with: the coarse block for the head, the family for contrast."""
    return Targets.of(
        [item.block for item in architectures], [item.labels.family for item in architectures]
    )


def kin_targets(architectures: Sequence[Described]) -> Targets:
    """The same with kin for contrast: composed models by their encoders, too."""
    labels = [item.labels for item in architectures]
    return Targets.of(
        [item.block for item in architectures],
        [each.kin for each in labels],
        [each.family for each in labels],
        [each.trunk for each in labels],
    )


def _numbered(names: Sequence[str]) -> NDArray[np.int64]:
    return np.unique(np.array(names), return_inverse=True)[1].astype(np.int64)
