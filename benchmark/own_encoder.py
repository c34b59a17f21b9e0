"""When an encoder of one's own is worth it: ``python -m benchmark own-encoder``.

A zoo that the shipped encoder has never seen: networks of a search space of its own, in ten
designs, each network some edits from the centre of its design. An encoder is pretrained on so many
of them, as `cluster.pretrain` does it; networks that were held out then look for their own kind
among each other, by its vectors and by those of the shipped encoder.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.scoring.metrics import average_precision
from nar.answers.atlas import shipped_atlas
from nar.encoding.default.pretraining import collect, pretrain_default
from nar.encoding.default.recipe import DefaultRecipe
from nar.encoding.embed import Embedder, load_checkpoint
from nar.graphs.architecture import Architecture, architecture
from nar.motifs.config import MotifConfig
from nar.zoo.sources.darts.dataset import members_at
from nar.zoo.sources.darts.models import DARTS, member_name
from nar.zoo.sources.darts.network import darts_network

COMMAND: Final = "python -m benchmark own-encoder --results results"
FILE: Final = "own_encoder.md"
# At eight edits any encoder finds all, at sixteen a design is hardly one any more.
_DISTANCES: Final = (12, 16)
# Chosen: networks that ask, fifty of each design: a tenth of a point of MAP@20 is told apart.
_HELD_OUT: Final = 500
# Chosen: what a zoo of one's own may have; a thousand take a minute.
_LEARNED: Final = (100, 300, 1_000)
_SEEDS: Final = (0, 1, 2)
_DEPTH: Final = 20
# Chosen: five times what three seeds differ by.
_TOLD_APART: Final = 0.05


@dataclass(frozen=True, slots=True)
class Measured:
    """MAP@20 of held-out networks by one encoder.

    Attributes:
        distance: Edits between a network and the centre of its design.
        learned: How many networks the encoder was pretrained on; 0 for the shipped one.
        scores: A score each seed.
    """

    distance: int
    learned: int
    scores: tuple[float, ...]


def measured() -> Iterator[Measured]:
    """Each encoder on each zoo."""
    shipped = Embedder(load_checkpoint(shipped_atlas().encoder))
    for distance in _DISTANCES:
        zoo = _zoo(distance)
        asking = zoo[-_HELD_OUT:]
        yield Measured(distance, 0, (_score(shipped, asking),))
        for count in _LEARNED:
            scores = (_score(_pretrained(zoo[:count], seed), asking) for seed in _SEEDS)
            yield Measured(distance, count, tuple(scores))


def _zoo(distance: int) -> list[Architecture]:
    """Networks of ten designs in turn, each with its design as its family."""
    made = []
    for member in members_at(distance, count=max(_LEARNED) + _HELD_OUT):
        labels = DARTS.resolve(member_name(member)).labels
        made.append(architecture(labels, darts_network(member.genotype)))
    return made


def _pretrained(zoo: Sequence[Architecture], seed: int) -> Embedder:
    samples = collect(zoo, MotifConfig())
    return Embedder(pretrain_default(samples, DefaultRecipe().with_seed(seed)))


def _score(embedder: Embedder, asking: Sequence[Architecture]) -> float:
    """MAP@20 of networks that look for the others of their design."""
    vectors = embedder.embed([item.graph for item in asking])
    families = np.array([item.labels.family for item in asking])
    return mean_precision(vectors, families, _DEPTH)


def mean_precision(vectors: NDArray[np.floating], families: NDArray[np.str_], depth: int) -> float:
    """MAP at a depth, where each row asks all others for those of its family.

    Example:
        >>> vectors = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
        >>> mean_precision(vectors, np.array(["a", "a", "b", "b"]), 1)
        1.0
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    near = unit @ unit.T
    np.fill_diagonal(near, -np.inf)
    ranked = np.argsort(-near, axis=1, kind="stable")[:, :depth]
    relevance = families[ranked] == families[:, None]
    relevant = (families[:, None] == families[None, :]).sum(axis=1) - 1
    return float(average_precision(relevance, relevant, depth).mean())


def sentence(every: Sequence[Measured]) -> str:
    """From how many own models on pretraining is worth it, at each distance from their designs."""
    worth = {distance: _worth_from(every, distance) for distance in _DISTANCES}
    if not any(worth.values()):
        return (
            f"Up to {max(_LEARNED):,} own models the shipped encoder is as good or better: keep it."
        )
    never = f"with none of up to {max(_LEARNED):,}"
    said = "; ".join(
        f"at {distance} edits {f'from {count:,} own models on' if count else never}"
        for distance, count in worth.items()
    )
    return f"An encoder of one's own finds held-out own models better than the shipped one {said}."


def _worth_from(every: Sequence[Measured], distance: int) -> int | None:
    """The number of own models from which on the worst seed is better; None if there is none."""
    at = [each for each in every if each.distance == distance]
    shipped = next(each.scores[0] for each in at if not each.learned)
    lost = (
        each.learned for each in at if each.learned and min(each.scores) - shipped < _TOLD_APART
    )
    least = max(lost, default=0)
    return next((count for count in _LEARNED if count > least), None)


def as_markdown(every: Sequence[Measured]) -> str:
    """The page."""
    rows = [
        (
            f"{each.distance}",
            f"pretrained on {each.learned:,}" if each.learned else "shipped",
            f"{np.mean(each.scores):.3f}",
            f"{min(each.scores):.3f} to {max(each.scores):.3f}" if each.learned else "-",
        )
        for each in every
    ]
    header = ("edits from its design", "encoder", f"MAP@{_DEPTH}", "of the seeds")
    said = (__doc__ or "").partition("\n\n")[2].strip()
    return (
        f"# An encoder of one's own\n\n```sh\n{COMMAND}\n```\n\n{said}\n\n**{sentence(every)}**\n\n"
        f"{_HELD_OUT} networks ask, {len(_SEEDS)} seeds; `default`, as it is. Labels say which "
        "design a network is of: without families there is nothing to learn from. A zoo of the "
        "designs that NAR ships has less to gain, as the shipped encoder has learned them.\n\n"
        f"{markdown_table(header, rows)}\n"
    )


def write_page(results: Path) -> None:
    """Measure and write the page.

    Args:
        results: Directory that gets ``own_encoder.md``.
    """
    text = as_markdown([*measured()])
    keep_page(results, FILE, text)
