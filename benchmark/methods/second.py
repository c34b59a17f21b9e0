"""Second stages: the first answers to a query, ranked once more by what a cosine does not see.

By copy, answers are ranked as `nar.answers.known_codes` ranks them, with the scorer that ships; how
rare a code is, is counted in what was learned.

What a design was made from is ranked as `nar.answers.origin` ranks it, but for what must not be
known: of the children of a family only those count that were learned, so that nothing is read of
the family that asks.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmark.methods.reading import read
from benchmark.pairs.codes import Vocabulary, coded
from benchmark.scoring.ranking import NOBODY, Second
from benchmark.tasks.questions import Numbers, Questions
from benchmark.tasks.task import Task
from nar.answers.answer import RANKED
from nar.answers.origin import BUILT_UPON, COMPARED, one_holds_the_other
from nar.answers.pairs import CodedArchitectures, PairScorer, shipped_scorer
from nar.answers.part_of import Reading, reading
from nar.labels.lineage import parents, year_of
from nar.motifs.config import MotifConfig

_DECIMALS: Final = 6
# Readings that are kept: a hundred megabytes of graphs of usual size.
_KEPT: Final = 4_096
_PAIRS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Origin:
    """How what a design was made from is ranked once more.

    Attributes:
        built_upon: What the logarithm of the number of a family's known children adds.
        compared: So many first answers are left out if they hold the query, or it holds them.
        by_year: Whether of equal answers the older family comes first.
    """

    built_upon: float = BUILT_UPON
    compared: int = COMPARED
    by_year: bool = True


CHOSEN: Final = Origin()


def second_stage(task: Task, asked: Questions, origin: Origin = CHOSEN) -> Second | None:
    """The second stage of some questions; None where they have none."""
    if asked.by == "origin":
        return _by_origin(task, asked, origin)
    scorer = shipped_scorer()
    return by_copy(task, scorer) if asked.by == "copy" and scorer else None


def by_copy(task: Task, scorer: PairScorer) -> Second:
    """The second stage by copy."""
    codes = _coded(task)

    def order(query: int, items: Numbers, scores: NDArray[np.floating]) -> Numbers:
        pairs = codes.compared(query, codes, items)
        return items[scorer.order(scores, scorer.scores(pairs))]

    return Second(RANKED, order)


@lru_cache(maxsize=1)
def _coded(task: Task) -> CodedArchitectures:
    """All graphs of a task by their codes."""
    sets = read(task.graphs, MotifConfig()).sets
    return coded(sets, task.graphs, Vocabulary.of(sets.take(task.train)))


def _by_origin(task: Task, asked: Questions, origin: Origin) -> Second:
    children = _learned_children(task, asked)
    prior = origin.built_upon * np.log1p([children[family] for family in asked.cluster])
    years = np.array([year_of(family) for family in asked.cluster])
    holds = _holding(task)

    def order(query: int, items: Numbers, scores: NDArray[np.floating]) -> Numbers:
        likely = np.round(scores + prior[items], _DECIMALS)
        # Keys from the last to the first: of equal ones the first stage has the first by name.
        keys = (years[items], -likely) if origin.by_year else (-likely,)
        ordered = items[np.lexsort(keys)]
        held = [holds(query, item) for item in ordered[: origin.compared].tolist()]
        left_out = np.zeros(len(ordered), dtype=np.bool_)
        left_out[: len(held)] = held
        return np.concatenate([ordered[~left_out], ordered[left_out]])

    return Second(RANKED, order)


def _learned_children(task: Task, asked: Questions) -> Counter[str]:
    """How many learned families were built upon each family."""
    learned = {asked.cluster[row] for row in task.train.tolist()}
    return Counter(parent for family in learned for parent in parents(family))


@lru_cache(maxsize=1)
def _holding(task: Task) -> Callable[[int, int], bool]:
    """Whether one of two architectures is a part of the other; what was compared is kept."""

    @lru_cache(maxsize=_KEPT)
    def read(item: int) -> Reading:
        return reading(task.graphs[item])

    @lru_cache(maxsize=_PAIRS)
    def holds(query: int, item: int) -> bool:
        return item != NOBODY and one_holds_the_other(read(query), read(item))

    return holds
