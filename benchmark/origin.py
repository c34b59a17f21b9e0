"""How the second stage of `--by origin` was set, and what it costs: ``python -m benchmark origin``.

One training, one seed, on the families that select a model; the table of lineage has the test.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmark.cells import Cell, task_of
from benchmark.methods.registry import find_method
from benchmark.methods.second import CHOSEN, Origin, second_stage
from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.scoring.evaluate import Scored, difference, score, summarise
from benchmark.scoring.ranking import Matrix, Second, Weights, rank
from benchmark.tasks.datasets import REAL
from benchmark.tasks.questions import Numbers, Questions
from benchmark.tasks.task import Task
from nar.graphs.by import By

COMMAND: Final = "python -m benchmark origin --results results"
PROTOCOL: Final = "lineage-parents"
_METHOD: Final = "default-first"
_METRICS: Final = ("families@1", "families@5", "families@10")
_NOTHING: Final = Origin(built_upon=0.0, compared=0, by_year=False)
# What was chosen is run first, so that it is timed while nothing is kept; then one thing at a time,
# and what else could have been chosen.
_SETTINGS: Final[Mapping[str, Origin | None]] = {
    "**all three**": CHOSEN,
    "the first stage alone": None,
    "of equal ones the older family": replace(_NOTHING, by_year=True),
    "what holds or is held left out": replace(_NOTHING, compared=CHOSEN.compared),
    "families that were built upon": replace(_NOTHING, built_upon=CHOSEN.built_upon),
    "all three, built upon 0.01": replace(CHOSEN, built_upon=0.01),
    "all three, built upon 0.03": replace(CHOSEN, built_upon=0.03),
    "all three, built upon 0.05": replace(CHOSEN, built_upon=0.05),
}
_FIRST: Final = "the first stage alone"
_INTRODUCTION: Final = (
    "Designs of families that were held out ask which family they were made from; the own family "
    "does not answer. Of a family's children only those count that were learned. Intervals: "
    "bootstrap over whole families; *difference*: to the first stage, query by query."
)


def as_markdown(work: Path) -> str:
    """The page.

    Args:
        work: Keeps data sets.
    """
    cell = Cell(REAL, "unseen", _METHOD, 0, "validation")
    task = task_of(cell, cache_directory=work)
    asked = task.asked[PROTOCOL]
    method = find_method(_METHOD)
    vectors = method.embed(task)
    blocks = ["# What a design was made from", f"```sh\n{COMMAND}\n```", _INTRODUCTION]
    blocks += _blocks(task, asked, vectors)
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path, work: Path) -> None:
    """Measure and write the page.

    Args:
        results: Directory that gets ``origin.md``.
        work: Keeps data sets.
    """
    text = as_markdown(work)
    keep_page(results, "origin.md", text)


def _blocks(task: Task, asked: Questions, vectors: Matrix) -> Iterator[str]:
    reached: dict[str, Scored] = {}
    seconds = 0.0
    for name, setting in _SETTINGS.items():
        timed = None if setting is None else _Timed(task, asked, setting)
        second = timed.second if timed else None
        reached[name] = score(rank(vectors, asked, _weights(asked.by), second=second), asked)
        if timed and setting == CHOSEN:
            seconds = timed.seconds / int(asked.queries.sum())
    first = reached[_FIRST]
    lines = [[name, *_cells(scored, first)] for name, scored in reached.items()]
    yield markdown_table(("second stage", *_METRICS, "difference of the first"), lines)
    yield (
        f"{len(first.queries):,} queries of {len(set(first.clusters)):,} families. The stage takes "
        f"{1_000 * seconds:.0f} ms of CPU a question, nearly all of it for reading graphs."
    )


def _weights(by: By) -> Weights | None:
    return find_method(_METHOD).weights(by)


def _cells(scored: Scored, first: Scored) -> list[str]:
    evaluation = summarise([scored])
    scores = [evaluation.scores[metric] for metric in _METRICS]
    apart = difference([scored], [first], _METRICS[0])
    shown = f"{apart.mean:+.3f} ({apart.low:+.3f} to {apart.high:+.3f})"
    return [*(f"{each.mean:.3f} ({each.low:.3f}-{each.high:.3f})" for each in scores), shown]


class _Timed:
    """A second stage that notes how long it takes.

    Args:
        task: The task.
        asked: Its questions.
        setting: Of the stage.

    Attributes:
        second: The stage.
        seconds: CPU time of all its calls.
    """

    def __init__(self, task: Task, asked: Questions, setting: Origin) -> None:
        stage = second_stage(task, asked, setting)
        assert stage is not None
        self._order = stage.order
        self.second = Second(stage.count, self._timed)
        self.seconds = 0.0

    def _timed(self, query: int, items: Numbers, scores: NDArray[np.floating]) -> Numbers:
        started = time.process_time()
        ordered = self._order(query, items, scores)
        self.seconds += time.process_time() - started
        return ordered
