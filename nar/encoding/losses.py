"""The training objectives: Eq. 4 for motifs, Eq. 5 and 6 for macro graphs.

The losses are pure functions of a whole batch; `of_all_workers` joins the parts of a batch that the
workers of a training share.
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.nn.functional import cross_entropy, normalize

from nar.encoding.recipe import Losses

Read = TypeVar("Read")


def of_all_workers(part: Tensor) -> Tensor:
    """The rows of all workers, in the order of ranks; a single worker gets its own rows.

    Only the worker's own rows carry a gradient. As each worker has the loss of the whole batch, its
    own rows get their full gradient, and no gradient has to be sent back::

        rank 0   ██▒▒▒      rank 1   ▒▒███       █ own rows   ▒ rows of others

    Args:
        part: Shape (rows, ...); workers may have different numbers of rows.
    """
    if not (distributed.is_available() and distributed.is_initialized()):
        return part
    world, rank = distributed.get_world_size(), distributed.get_rank()
    sizes = [torch.zeros(1, dtype=torch.int64, device=part.device) for _ in range(world)]
    distributed.all_gather(sizes, torch.full_like(sizes[0], len(part)))
    counts = [int(size) for size in sizes]
    # `all_gather` wants tensors of one shape.
    padded = part.new_zeros(max(counts), *part.shape[1:])
    padded[: len(part)] = part.detach()
    gathered = [torch.empty_like(padded) for _ in counts]
    distributed.all_gather(gathered, padded)
    rows = [each[:count] for each, count in zip(gathered, counts, strict=True)]
    rows[rank] = part
    return torch.cat(rows)


def cosine_similarities(one: Tensor, other: Tensor) -> Tensor:
    """Cosine of every pair of rows.

    Args:
        one: Shape (rows, dim).
        other: Shape (columns, dim).

    Returns:
        Shape (rows, columns).
    """
    return normalize(one, dim=1) @ normalize(other, dim=1).T


def structural_negatives(motif_codes: Tensor, context_codes: Tensor) -> Tensor:
    """Which contexts of a batch are negatives of which motifs.

    A context that equals the motif's own context, or surrounds an equal motif, is no negative.

    Args:
        motif_codes: Shape (batch,), motif type of each pair.
        context_codes: Shape (batch,), structure of each pair's context.

    Returns:
        Shape (batch, batch), True where the column's context is a negative of the row's motif.
    """
    same_motif = motif_codes[:, None] == motif_codes
    same_context = context_codes[:, None] == context_codes
    return ~(same_motif | same_context)


def motif_contrastive_loss(
    motifs: Tensor, contexts: Tensor, *, negatives: Tensor, temperature: float
) -> Tensor:
    """Eq. 4: a motif against its own context and the contexts of other motifs, mean over the batch.

    Args:
        motifs: Shape (batch, dim), F_s of each motif.
        contexts: Shape (batch, dim), F_c of each motif's context, in the same order.
        negatives: Shape (batch, batch), see `structural_negatives`.
        temperature: Divides the cosines.
    """
    scores = cosine_similarities(motifs, contexts) / temperature
    is_own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    candidates = scores.masked_fill(~(negatives | is_own), -torch.inf)
    return (candidates.logsumexp(dim=1) - scores.diagonal()).mean()


def graph_contrastive_loss(embeddings: Tensor, families: Tensor, *, temperature: float) -> Tensor:
    """Eq. 5 for every anchor: its family, summed inside the logarithm, against all others.

    An anchor is no positive of its own. The mean is over anchors that have a positive in the
    batch; without any the loss is 0.

    Args:
        embeddings: Shape (batch, dim).
        families: Shape (batch,), integers.
        temperature: Divides the cosines.
    """
    is_self = torch.eye(len(families), dtype=torch.bool, device=families.device)
    is_positive = (families[:, None] == families) & ~is_self
    is_anchor = is_positive.any(dim=1)
    scores = cosine_similarities(embeddings, embeddings) / temperature
    everyone = scores.masked_fill(is_self, -torch.inf)[is_anchor].logsumexp(dim=1)
    relatives = scores.masked_fill(~is_positive, -torch.inf)[is_anchor].logsumexp(dim=1)
    return (everyone - relatives).sum() / is_anchor.sum().clamp(min=1)


def supervised_contrastive_loss(
    embeddings: Tensor, families: Tensor, *, temperature: float
) -> Tensor:
    """Every relative of every anchor against all others, mean over relatives, then over anchors.

    The sum over relatives stands outside the logarithm (Khosla et al., 2020, equation 2): every
    relative has to be near. In Eq. 5 one near relative is enough.

    Args:
        embeddings: Shape (batch, dim).
        families: Shape (batch,), integers.
        temperature: Divides the cosines.
    """
    is_self = torch.eye(len(families), dtype=torch.bool, device=families.device)
    is_positive = (families[:, None] == families) & ~is_self
    scores = cosine_similarities(embeddings, embeddings) / temperature
    log_share = scores - scores.masked_fill(is_self, -torch.inf).logsumexp(dim=1, keepdim=True)
    relatives = is_positive.sum(dim=1)
    of_anchor = (log_share * is_positive).sum(dim=1) / relatives.clamp(min=1)
    return -of_anchor.sum() / (relatives > 0).sum().clamp(min=1)


def pretraining_loss(
    embeddings: Tensor,
    logits: Tensor,
    *,
    families: Tensor,
    classes: Tensor,
    temperature: float,
    losses: Losses = "ce+cl",
) -> Tensor:
    """Eq. 6: Eq. 5 over families plus the cross-entropy of the classifier head, or either alone.

    Args:
        embeddings: Shape (batch, dim).
        logits: Shape (batch, classes).
        families: Shape (batch,), groups of the contrastive part.
        classes: Shape (batch,), targets of the head.
        temperature: Divides the cosines of Eq. 5.
        losses: Which parts count.
    """
    if losses == "ce":
        return cross_entropy(logits, classes)
    contrast = graph_contrastive_loss(embeddings, families, temperature=temperature)
    return contrast if losses == "cl" else contrast + cross_entropy(logits, classes)


@dataclass(frozen=True, slots=True, eq=False)
class MotifPairs(Generic[Read]):
    """Motifs with one context each, as an encoder reads them.

    Attributes:
        motifs: G_s.
        contexts: G_c, in the same order.
        motif_codes: Shape (batch,), motif type of each pair.
        context_codes: Shape (batch,), structure of each pair's context.
    """

    motifs: Read
    contexts: Read
    motif_codes: Tensor
    context_codes: Tensor


class MotifObjective(nn.Module):
    """Eq. 4 over an encoder of motifs, F_s, and an encoder of contexts, F_c."""

    def __init__(self, motif: nn.Module, context: nn.Module, *, temperature: float) -> None:
        super().__init__()
        self.motif, self.context, self.temperature = motif, context, temperature

    def forward(self, batch: MotifPairs[Any]) -> Tensor:
        """The loss of a batch."""
        return motif_contrastive_loss(
            of_all_workers(self.motif(batch.motifs)),
            of_all_workers(self.context(batch.contexts)),
            negatives=structural_negatives(
                of_all_workers(batch.motif_codes), of_all_workers(batch.context_codes)
            ),
            temperature=self.temperature,
        )
