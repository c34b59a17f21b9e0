"""Batches: the shuffled items of an epoch, and the part of each batch that a worker takes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import ConfigError

# A contrast needs two items: one, and another from which it is to differ.
SMALLEST_SHARE = 2


@dataclass(frozen=True, slots=True)
class BatchShare:
    """Which part of every batch a worker takes."""

    rank: int = 0
    world: int = 1


ALONE = BatchShare()


def epoch_batches(
    items: int, batch_size: int, *, seed: int, epoch: int, share: BatchShare
) -> list[NDArray[np.int64]]:
    """One worker's part of every batch of an epoch.

    The order depends on seed and epoch alone. Batches are of even size, every item is in exactly
    one batch, and every worker has a part of each batch.

    Raises:
        ConfigError: There are too few items to give every worker a part worth contrasting.
    """
    order = np.random.default_rng([seed, epoch]).permutation(items)
    batches = np.array_split(order, max(1, -(-items // batch_size)))
    if len(batches[-1]) < SMALLEST_SHARE * share.world:
        raise ConfigError(
            f"wanted batches of at least {SMALLEST_SHARE} items for each of {share.world} workers, "
            f"came {len(batches[-1])} of {items} in all; take fewer workers, a larger batch or a "
            "larger corpus"
        )
    return [batch[share.rank :: share.world] for batch in batches]
