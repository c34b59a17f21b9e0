"""Is what is new also far? ``python -m benchmark novelty --results results``.

Designs of families held out whole are told from held-out designs of the families that were learned
from, by nothing but the distance to the nearest learned design. The area under the ROC curve is the
chance that a new family's design is the farther of two.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmark.cells import Cell, cell_path, questions_of, read_cell
from benchmark.methods.registry import find_method
from benchmark.reporting.markdown import markdown_table
from benchmark.scoring.evaluate import RESAMPLES, SEED
from benchmark.tasks import frozen
from benchmark.tasks.datasets import REAL
from benchmark.tasks.questions import Questions
from nar.labels.lineage import parents

Floats = NDArray[np.float64]
PROTOCOL: Final = "novelty"
METHODS: Final = (
    "size",
    "operators",
    "codes-1-presence",
    "default-untrained",
    "linear",
    "default",
)
_INTRODUCTION: Final = (
    "A fifth of the families is held out whole, with their twins and with whatever stands on one "
    "of them, and of the other families a tenth of the designs; none is learned from. Named models "
    "ask. Area under the ROC curve: the chance that a design of a held-out family is "
    "farther from the nearest learned design than one of a family that was learned from (0.5: no "
    "better than a coin). {:,} new and {:,} known designs over {} seeds; 95%: bootstrap over whole "
    "families, 1,000 draws. *relatives unjudged*: families whose parent, child or sibling was "
    "learned are left out of what is new. What a seed holds out has more or fewer relatives among "
    "what is learned, so that seeds lie apart; of the former corpus NAR default had 0.931 with "
    "seed 0 and 0.880 in the mean, by this one definition."
)
_COMMAND: Final = "python -m benchmark novelty --results results"


@dataclass(frozen=True, slots=True)
class Area:
    """Area under the ROC curve, over all seeds.

    Attributes:
        method: That gave the vectors.
        mean: 0.5 by chance, 1 if everything new is farther than anything known; mean over seeds.
        low: Lower end of its 95% interval, from a bootstrap over families.
        high: Upper end.
        new: Designs of held-out families, all seeds together.
        known: Held-out designs of the others.
        by_seed: The same of each seed.
        unjudged: Mean over seeds where what is new has no relative among what was learned.
    """

    method: str
    mean: float
    low: float
    high: float
    new: int
    known: int
    by_seed: tuple[float, ...]
    unjudged: float


@dataclass(frozen=True, slots=True, eq=False)
class NoveltyQueries:
    """Who is asked about with one seed.

    Attributes:
        rows: Shape (designs,), one architecture of each.
        is_new: Shape (designs,), whether its family was held out.
        families: Shape (designs,).
        is_relative: Shape (designs,), whether it is new, and a relative of its family was learned.
    """

    rows: NDArray[np.int64]
    is_new: NDArray[np.bool_]
    families: tuple[str, ...]
    is_relative: NDArray[np.bool_]


def area(farther: Floats, is_new: NDArray[np.bool_], weight: Floats) -> float:
    """Chance that a new design is farther than a known design, ties half; by weight.

    Returns:
        NaN where nothing is new, or nothing known, has a weight.
    """
    _, rank = np.unique(farther, return_inverse=True)
    new = np.bincount(rank, np.where(is_new, weight, 0.0))
    old = np.bincount(rank, np.where(is_new, 0.0, weight))
    nearer = np.cumsum(old) - old / 2
    pairs = new.sum() * old.sum()
    return float((new * nearer).sum() / pairs) if pairs else float("nan")


def pooled(method: str, seeds: Sequence[tuple[Floats, NoveltyQueries]]) -> Area:
    """The mean over seeds, and its interval: whole families are drawn, in every seed the same."""
    names = sorted({family for _, asked in seeds for family in asked.families})
    number = {name: position for position, name in enumerate(names)}
    drawn = np.random.default_rng(SEED).multinomial(
        len(names), np.full(len(names), 1 / len(names)), RESAMPLES
    )
    means, unjudged, draws = [], [], np.zeros(RESAMPLES)
    for farther, asked in seeds:
        family = np.array([number[name] for name in asked.families])
        means.append(area(farther, asked.is_new, np.ones(len(farther))))
        unjudged.append(area(farther, asked.is_new, (~asked.is_relative).astype(float)))
        draws += [area(farther, asked.is_new, counts[family].astype(float)) for counts in drawn]
    low, high = np.nanquantile(draws / len(seeds), [0.025, 0.975])
    new = sum(int(asked.is_new.sum()) for _, asked in seeds)
    known = sum(int((~asked.is_new).sum()) for _, asked in seeds)
    mean, without = float(np.mean(means)), float(np.nanmean(unjudged))
    return Area(method, mean, float(low), float(high), new, known, tuple(means), without)


def measure(method: str, directory: Path, seeds: Sequence[int] = frozen.SEEDS) -> Area:
    """Compare distances of new and known designs, from cells; nothing is learned.

    Args:
        method: Name of a method.
        directory: Of the evaluation.
        seeds: Of its cells.

    Raises:
        CorpusError: A cell is missing or damaged.
        InvalidInputError: A cell answers other questions than are asked today.
    """
    return pooled(method, [asked_with_distances(method, directory, seed) for seed in seeds])


def asked_with_distances(method: str, directory: Path, seed: int) -> tuple[Floats, NoveltyQueries]:
    """Who asks with one seed, and how far each is from the nearest learned design.

    Args:
        method: Name of a method.
        directory: Of the evaluation.
        seed: Of the cell.

    Returns:
        Shape (designs,), 1 - cosine, and who they are.

    Raises:
        CorpusError: The cell is missing or damaged.
        InvalidInputError: It answers other questions than are asked today.
    """
    cell = Cell(REAL, "unseen", method, seed)
    asked = questions_of(cell, cache_directory=directory)[PROTOCOL]
    ranking = read_cell(cell_path(directory, cell)).ranking(asked)
    return 1 - ranking.nearest.astype(np.float64), asked_of(asked)


def asked_of(asked: Questions) -> NoveltyQueries:
    """Who asks, and whether it is new: nothing that was learned is of its family."""
    rows = np.flatnonzero(asked.queries)
    is_new, families = asked.relevant() == 0, tuple(asked.cluster[row] for row in rows)
    learned = {asked.cluster[row] for row in np.flatnonzero(asked.gallery)}
    has_relative = {each: _has_relative(each, learned) for each in set(families)}
    return NoveltyQueries(
        rows, is_new, families, is_new & np.array([has_relative[each] for each in families])
    )


def _has_relative(family: str, learned: Collection[str]) -> bool:
    """Whether a parent, a child or a sibling of a family was learned."""
    above = {*parents(family)}
    return any(
        other in above or family in parents(other) or not above.isdisjoint(parents(other))
        for other in learned
    )


def as_markdown(areas: Sequence[Area]) -> str:
    """The table with what it means and how to make it again."""
    titles = [find_method(each.method).title for each in areas]
    lines = [
        [
            title,
            f"{each.mean:.3f}",
            f"{each.low:.3f} to {each.high:.3f}",
            ", ".join(f"{of_seed:.3f}" for of_seed in each.by_seed),
            f"{each.unjudged:.3f}",
        ]
        for title, each in zip(titles, areas, strict=True)
    ]
    said = _INTRODUCTION.format(areas[-1].new, areas[-1].known, len(frozen.SEEDS))
    title = "# Novelty: is what is new also far?"
    header = ("method", "area", "95%", "by seed", "relatives unjudged")
    table = markdown_table(header, lines)
    return "\n\n".join([title, f"```sh\n{_COMMAND}\n```", said, table]) + "\n"


def write_novelty(results: Path, directory: Path, methods: Sequence[str] = METHODS) -> None:
    """Measure how well distance tells new families from known ones, and write the table.

    Args:
        results: Directory that gets ``novelty.md`` and ``novelty.json``.
        directory: Of the cells, which ``python -m benchmark run unseen`` runs.
        methods: Names of methods.
    """
    areas = [measure(method, directory) for method in methods]
    results.mkdir(parents=True, exist_ok=True)
    told: Mapping[str, object] = {"command": _COMMAND, "areas": [asdict(each) for each in areas]}
    (results / "novelty.json").write_text(json.dumps(told, indent=2) + "\n")
    (results / "novelty.md").write_text(as_markdown(areas))
