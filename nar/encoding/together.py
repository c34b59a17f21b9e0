"""What all workers of a training made of a batch: its loss is that of the whole batch."""

import torch
from torch import Tensor, distributed


def together(part: Tensor) -> Tensor:
    """The rows of every worker, those of rank 0 first; alone, one's own.

    Only one's own rows carry a gradient. As each worker has the loss of the whole batch, that is
    all that the batch says of them, and nothing has to be sent back::

        rank 0   ██▒▒▒      rank 1   ▒▒███       █ own rows   ▒ rows of others

    Args:
        part: Shape (rows, ...); workers may have other numbers of rows.
    """
    if not (distributed.is_available() and distributed.is_initialized()):
        return part
    world, rank = distributed.get_world_size(), distributed.get_rank()
    sizes = [torch.zeros(1, dtype=torch.int64, device=part.device) for _ in range(world)]
    distributed.all_gather(sizes, torch.full_like(sizes[0], len(part)))
    counts = [int(size) for size in sizes]
    # Gathered tensors have one shape.
    padded = part.new_zeros(max(counts), *part.shape[1:])
    padded[: len(part)] = part.detach()
    gathered = [torch.empty_like(padded) for _ in counts]
    distributed.all_gather(gathered, padded)
    rows = [each[:count] for each, count in zip(gathered, counts, strict=True)]
    rows[rank] = part
    return torch.cat(rows)
