"""Whom wrong answers come from: ``python -m benchmark misses --results results``.

What a query lacks of a MAP@20 of 1 is blamed on the wrong architectures among its first min(R, 20),
each the same share. Summed by their families, that says what stands in the way. Some of them have
as much in common with the query as any right answer whose place they take: there the labels say one
thing and the structure another.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmark.cells import Cell, cell_path, questions_of, read_cell
from benchmark.methods.baselines import code_histograms
from benchmark.methods.registry import find_method
from benchmark.reporting.markdown import markdown_table
from benchmark.scoring.metrics import average_precision
from benchmark.scoring.ranking import NOBODY, Matrix, Ranking, unit_rows
from benchmark.tasks import frozen
from benchmark.tasks.datasets import REAL, load_dataset
from benchmark.tasks.questions import Questions
from benchmark.tasks.task import find_protocol
from nar.corpus import Card
from nar.labels.lineage import PARENT_AND_CHILD, SIBLINGS, UNRELATED, relevance_grade

DEPTH: Final = 20
METHOD: Final = "default"
PROTOCOLS: Final = ("distinct-named", "unseen-named", "twins")
PAIRS_SHOWN: Final = 20
# What two architectures have in common: which codes of Eq. 2 up to this radius occur in both.
COMMON_STEPS: Final = 2
KINDS: Final = {
    "same": "the family itself: on another encoder, with another head, of another size",
    "parent or child": "a family that it was made from, or that was made from it",
    "sibling": "a family that was made from the same one",
    "other": "any other family",
}
_KIND_OF_GRADE: Final = {
    PARENT_AND_CHILD: "parent or child",
    SIBLINGS: "sibling",
    UNRELATED: "other",
}
_COMMAND: Final = "python -m benchmark misses --results results"
_INTRODUCTION: Final = (
    "What a query lacks of a MAP@20 of 1 is blamed on the wrong architectures among its first "
    "min(R, 20), each the same share; every seed weighs the same. Who was made from whom: "
    "`nar/labels/lineage.yaml`."
)

Lost = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Misses:
    """What is lost under a protocol, the mean over seeds.

    Attributes:
        lost: By the families of query and wrong item.
        to_nearer: How much of it is lost to wrong items that have as much in common with the query
            as the right ones whose place they take.
    """

    lost: Lost
    to_nearer: float


def blame(ranking: Ranking, asked: Questions) -> Iterator[tuple[int, int, float]]:
    """Query, wrong item, and how much of the MAP@20 over all queries it takes away."""
    relevant = asked.relevant()
    rows = np.flatnonzero(relevant)
    is_right = ranking.judged(asked, rows).relevance[:, :DEPTH]
    lacking = 1 - average_precision(is_right, relevant[rows], DEPTH)
    for row, right, lack in zip(rows, is_right, lacking, strict=True):
        first = ranking.items[row, : min(relevant[row], DEPTH)]
        wrong = first[~right[: len(first)] & (first != NOBODY)]
        query = int(ranking.queries[row])
        yield from ((query, int(item), lack / len(wrong) / len(rows)) for item in wrong)


def lost_by_family(cards: Sequence[Card], blamed: Iterable[tuple[int, int, float]]) -> Lost:
    """The same, summed by the families of query and wrong item."""
    lost: defaultdict[tuple[str, str], float] = defaultdict(float)
    for row, item, share in blamed:
        lost[cards[row].labels.family, cards[item].labels.family] += share
    return lost


def kind_of(family: str, other: str) -> str:
    """How two families are related: one of `KINDS`."""
    if family == other:
        return "same"
    return _KIND_OF_GRADE[relevance_grade(family, other)]


def lost_to_nearer(
    ranking: Ranking, asked: Questions, blamed: Iterable[tuple[int, int, float]], common: Matrix
) -> float:
    """How much is lost to wrong items at least as near as every right item that they displace.

    Args:
        ranking: The items that answered.
        asked: The questions.
        blamed: Of these, as `blame` gives it.
        common: Vectors of the items, whose cosines say how much two have in common.
    """
    unit, number = unit_rows(common), {int(query): row for row, query in enumerate(ranking.queries)}
    lost = 0.0
    for query, item, share in blamed:
        row = number[query]
        start, end = asked.gains.indptr[row : row + 2]
        right = asked.gains.indices[start:end]
        displaced = np.setdiff1d(right, ranking.items[row, : min(len(right), DEPTH)])
        cosines = unit[np.append(displaced, item)] @ unit[[query]].T
        dense = cosines if isinstance(cosines, np.ndarray) else cosines.toarray()
        *of_right, of_wrong = np.round(dense, 6).ravel().tolist()
        lost += share if of_wrong >= max(of_right) else 0.0
    return lost


def measure(protocol: str, directory: Path, seeds: Sequence[int] = frozen.SEEDS) -> Misses:
    """What is lost in the cells of the default encoder, the mean over seeds; nothing is learned.

    Raises:
        CorpusError: A cell is missing or damaged.
        InvalidInputError: A cell answers other questions than are asked today.
    """
    split = find_protocol(REAL, protocol).split
    cells = [Cell(REAL, split, METHOD, seed) for seed in seeds]
    # A cell that is missing is said before anything is counted for seconds.
    ranked = [read_cell(cell_path(directory, cell)) for cell in cells]
    data = load_dataset(REAL, directory)
    common = code_histograms(data.graphs, COMMON_STEPS, "presence")
    total: defaultdict[tuple[str, str], float] = defaultdict(float)
    to_nearer = 0.0
    for cell, answers in zip(cells, ranked, strict=True):
        asked = questions_of(cell, cache_directory=directory)[protocol]
        ranking = answers.ranking(asked)
        blamed = list(blame(ranking, asked))
        to_nearer += lost_to_nearer(ranking, asked, blamed, common) / len(seeds)
        for pair, share in lost_by_family(data.cards, blamed).items():
            total[pair] += share / len(seeds)
    return Misses(total, to_nearer)


def as_markdown(missed: Mapping[str, Misses]) -> str:
    """The tables with what they mean and how to make them again."""
    blocks = ["# Whom wrong answers come from", f"```sh\n{_COMMAND}\n```", _INTRODUCTION]
    for protocol, misses in missed.items():
        lost, whole = misses.lost, sum(misses.lost.values())
        title = find_method(METHOD).title
        blocks += [
            f"## real, {protocol}",
            f"{title} lacks {whole:.3f} of a MAP@20 of 1, {misses.to_nearer:.3f} of it to "
            f"architectures that have as much in common with the query (codes, s<={COMMON_STEPS}, "
            "presence) as any right one whose place they take.",
            markdown_table(("wrong answers are of", "lost"), _by_kind(lost)),
            f"The {PAIRS_SHOWN} pairs of families that cost most:",
            markdown_table(("asked", "answered", "related", "lost"), _by_pair(lost)),
        ]
    return "\n\n".join(blocks) + "\n"


def _by_kind(lost: Lost) -> list[list[str]]:
    kinds = dict.fromkeys(KINDS, 0.0)
    for pair, share in lost.items():
        kinds[kind_of(*pair)] += share
    return [[said, f"{kinds[kind]:.3f}"] for kind, said in KINDS.items()]


def _by_pair(lost: Lost) -> list[list[str]]:
    ranked = sorted(lost.items(), key=lambda each: (-each[1], each[0]))[:PAIRS_SHOWN]
    return [[*pair, kind_of(*pair), f"{share:.4f}"] for pair, share in ranked]


def write_misses(results: Path, directory: Path) -> None:
    """Say of which families the wrong answers of the default encoder are.

    Args:
        results: Directory that gets ``misses.md`` and ``misses.json``.
        directory: Of the cells, which `python -m benchmark run distinct unseen twins` runs.
    """
    missed = {protocol: measure(protocol, directory) for protocol in PROTOCOLS}
    results.mkdir(parents=True, exist_ok=True)
    told = {
        protocol: {
            "to_nearer": misses.to_nearer,
            "lost": [[*pair, share] for pair, share in sorted(misses.lost.items())],
        }
        for protocol, misses in missed.items()
    }
    (results / "misses.json").write_text(json.dumps({"command": _COMMAND, **told}, indent=1) + "\n")
    (results / "misses.md").write_text(as_markdown(missed))
