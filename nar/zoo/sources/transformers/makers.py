"""How the layout of an input is written down: its extents, some of them settings of the model."""

from collections.abc import Callable

import torch
from torch import Tensor

from nar.zoo.sources.transformers.configs import Model
from nar.zoo.sources.transformers.settings import setting

Maker = Callable[[Model], object]
Extent = int | str


def ones(*extents: Extent) -> Maker:
    """Floats.

    Args:
        extents: Of the tensor; a string names a setting of the model's configuration.
    """
    return _filled(extents, 1, torch.float)


def counts(*extents: Extent, value: int = 1) -> Maker:
    """Integers, all alike: masks, kinds, flags. Arguments as in `ones`."""
    return _filled(extents, value, torch.long)


def flags(*extents: Extent, value: bool = True) -> Maker:
    """Booleans, all alike. Arguments as in `ones`."""
    return _filled(extents, int(value), torch.bool)


def left_out(_model: Model) -> None:
    """Nothing: the model does without, or another of its inputs stands for this one."""


def steps(count: int) -> Maker:
    """(1, count): 0, 1, 2, ..."""
    return lambda _model: torch.arange(count)[None]


def value_of(value: object) -> Maker:
    """Something that is no tensor."""
    return lambda _model: value


def in_batch(maker: Maker) -> Maker:
    """What a maker gives, as a batch of one."""

    def make(model: Model) -> Tensor:
        made = maker(model)
        assert isinstance(made, Tensor), "only tensors come in batches"
        return made[None]

    return make


def _filled(extents: tuple[Extent, ...], value: int, dtype: torch.dtype) -> Maker:
    def make(model: Model) -> Tensor:
        sizes = [
            extent if isinstance(extent, int) else int(setting(model.config, extent))
            for extent in extents
        ]
        return torch.full(sizes, value, dtype=dtype)

    return make
