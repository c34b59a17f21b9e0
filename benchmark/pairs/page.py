"""What a second stage that is learned adds by copy: ``python -m benchmark pairs``.

A scorer of pairs finds the originals of models that are changed automatically; a score is the
cosine and so much of it. What it is learned of is held out by no seed: every test may use it.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from benchmark.methods.default import MOTIFS, UNTRAINED, vectors_of
from benchmark.methods.reading import read, read_anew
from benchmark.methods.second import by_copy
from benchmark.pairs.changes import LIKELY, changed
from benchmark.pairs.codes import Vocabulary, coded
from benchmark.pairs.scorer import learned
from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.scoring.evaluate import Scored, difference, score, summarise
from benchmark.scoring.ranking import rank, unit_rows
from benchmark.tasks import frozen
from benchmark.tasks.datasets import REAL, load_dataset
from benchmark.tasks.questions import Questions, numbered
from benchmark.tasks.task import Task, find_protocol, load_task
from nar.answers.answer import RANKED
from nar.answers.pairs import PairScorer, Values, write_scorer
from nar.encoding.default.encoder import untrained
from nar.encoding.default.recipe import DefaultConfig

COMMAND: Final = "python -m benchmark pairs --results results"
# What is added was chosen on this page.
CHOSEN: Final = 0.01
_COUNTS: Final = (0.01, 0.02, 0.05)
# Answers to each learned question, and questions.
_OFFERED: Final = 60
_ASKED: Final = 600
_SEED: Final = 0
_ENCODER: Final = DefaultConfig.of(MOTIFS, UNTRAINED)
_PROTOCOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "unseen": (
        "edits-family-unseen",
        "edits-original-unseen",
        "parts-family-unseen",
        "parts-original-unseen",
        "shares-family-unseen",
        "shares-original-unseen",
    ),
    "copies": ("rewrites", "rewrites-differing", "twins"),
}
_INTRODUCTION: Final = (
    "The first 100 answers by copy are ranked once more: by their cosine and so much (*counts*) of "
    "the score of a learned scorer, which has mean 0 and spread 1 over the answers to a query. It "
    "reads nine kinds of exact codes: containment both ways and Jaccard, weighed by how rare codes "
    "are; and sizes. It is learned by a softmax over the answers to each question, and without any "
    "label: its questions are models that are changed automatically, {changes}. No seed holds out "
    "a family that they are of, and none of them selects a model. One seed, on what selects a "
    "model. The first stage is untrained: by copy a sketch of all features counts thirty times, "
    "and nothing of it is learned. Intervals of the differences: bootstrap over whole families."
)
_CHANGES: Final[Mapping[str, str]] = {
    "part": "parts of random shares",
    "wider": "all widths by a factor",
    "activation": "other activations",
    "norm": "other norms",
    "both": "both",
    "inserted": "an operator inserted behind every layer of a kind",
    "classes": "another number of classes",
    "headless": "without a head",
    "wrapped": "a softmax on the result",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    """What the page is made with."""

    scorer: PairScorer
    questions: int


def tasks(work: Path) -> Mapping[str, Task]:
    """The tasks that the page asks, by split."""
    return {
        split: load_task(REAL, split, _SEED, cache_directory=work, held="validation")
        for split in _PROTOCOLS
    }


def learn(task: Task, work: Path) -> _Learned:
    """The scorer, from designs that every seed of ``unseen`` learns."""
    cards = load_dataset(REAL, work).cards
    encoder, weights = untrained(_ENCODER), _ENCODER.weights("copy")
    first: dict[str, int] = {}
    for row in task.train.tolist():
        name = cards[row].labels.name
        roles = {frozen.shipped_roles("unseen", seed)[name] for seed in frozen.SEEDS}
        if roles == {"train"} and cards[row].labels.tier == "named":
            first.setdefault(cards[row].topology, row)
    rows = np.array(sorted(first.values()), dtype=np.int64)
    rng = np.random.default_rng(_SEED)
    asking = np.sort(rng.choice(rows, min(_ASKED, len(rows)), replace=False))
    made, whose = changed([task.graphs[row] for row in asking], rng)
    sets, asked = read(task.graphs, MOTIFS).sets.take(rows), read_anew(made, MOTIFS).sets
    graphs = [task.graphs[row] for row in rows]
    vocabulary = Vocabulary.of(sets)
    known, changes = coded(sets, graphs, vocabulary), coded(asked, made, vocabulary)
    queries = np.asarray(unit_rows(vectors_of(encoder, asked, made) * weights))
    near = queries @ np.asarray(unit_rows(vectors_of(encoder, sets, graphs))).T
    exact = numbered([cards[row].exact for row in rows])
    own = exact[np.searchsorted(rows, asking[whose])]
    pairs: list[Values] = []
    right = []
    for query, reached in enumerate(near):
        offered = np.argsort(-reached, kind="stable")[:_OFFERED]
        is_right = exact[offered] == own[query]
        if is_right.any() and not is_right.all():
            pairs.append(changes.compared(query, known, offered))
            right.append(is_right)
    return _Learned(learned(np.stack(pairs), np.stack(right), CHOSEN), len(pairs))


def as_markdown(work: Path, learnt: _Learned | None = None) -> str:
    """The page.

    Args:
        work: Keeps data sets.
        learnt: The scorer; None learns it.
    """
    every = tasks(work)
    learnt = learnt or learn(every["unseen"], work)
    changes = ", ".join(f"{_CHANGES[name]} ({share:.0%})" for name, share in LIKELY.items())
    blocks = ["# A second stage that is learned", f"```sh\n{COMMAND}\n```"]
    blocks += [_INTRODUCTION.format(changes=changes), *_blocks(every, learnt)]
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path, work: Path, target: Path | None) -> None:
    """Measure and write the page.

    Args:
        results: Directory that gets ``pairs.md``.
        work: Keeps data sets.
        target: File that gets the scorer; None for none.
    """
    learnt = learn(tasks(work)["unseen"], work)
    text = as_markdown(work, learnt)
    keep_page(results, "pairs.md", text)
    if target is not None:
        write_scorer(target, learnt.scorer)


def _blocks(every: Mapping[str, Task], learnt: _Learned) -> Iterator[str]:
    lines: list[list[str]] = []
    kinds: list[list[str]] = []
    # The splits have one data set, whose graphs are read and embedded once.
    graphs = next(iter(every.values())).graphs
    vectors = vectors_of(untrained(_ENCODER), read(graphs, MOTIFS).sets, graphs)
    for split, protocols in _PROTOCOLS.items():
        task = every[split]
        for protocol in protocols:
            asked = task.asked[protocol]
            metric = find_protocol(REAL, protocol).headline
            weights = _ENCODER.weights(asked.by)
            first = score(rank(vectors, asked, weights), asked)
            cells = [f"{_mean(first, metric):.3f}"]
            for counts in _COUNTS:
                stage = by_copy(task, replace(learnt.scorer, counts=counts))
                again = score(rank(vectors, asked, weights, second=stage), asked)
                cells.append(_shown(again, first, metric))
                if counts == CHOSEN:
                    kinds += _kinds(protocol, first, again, metric)
            lines.append([protocol, f"{len(first.queries):,}", metric, *cells])
    header = ("protocol", "queries", "metric", "first stage", *map(str, _COUNTS))
    yield markdown_table(header, lines)
    yield (f"Learned of {learnt.questions:,} questions. Chosen: {CHOSEN}. By kind, with that:")
    yield markdown_table(("protocol", "change", "queries", "first stage", "second"), kinds)
    yield _cost(every["unseen"], learnt.scorer)


def _mean(scored: Scored, metric: str) -> float:
    return summarise([scored]).scores[metric].mean


def _shown(again: Scored, first: Scored, metric: str) -> str:
    apart = difference([again], [first], metric)
    return f"{_mean(again, metric):.3f} ({apart.mean:+.3f}, {apart.low:+.3f} to {apart.high:+.3f})"


def _kinds(protocol: str, first: Scored, again: Scored, metric: str) -> Iterator[list[str]]:
    """A line a kind of change, where changed models ask, or rewritten ones of another graph."""
    if not protocol.endswith(("original-unseen", "rewrites-differing")):
        return
    kinds = np.array([name.rpartition("@")[2] for name in first.queries])
    for kind in sorted(set(kinds.tolist())):
        of_kind = kinds == kind
        means = (each.values[metric][of_kind].mean() for each in (first, again))
        yield [protocol, kind, f"{of_kind.sum():,}", *(f"{mean:.3f}" for mean in means)]


def _cost(task: Task, scorer: PairScorer) -> str:
    """CPU time of one query beside a hundred answers."""
    asked: Questions = task.asked["parts-original-unseen"]
    queries = np.flatnonzero(asked.queries)[:RANKED]
    items = np.flatnonzero(asked.gallery)[:RANKED]
    stage = by_copy(task, scorer)
    started = time.process_time()
    for query in queries.tolist():
        stage.order(query, items, np.zeros(len(items), dtype=np.float32))
    took = (time.process_time() - started) / len(queries)
    return f"A question costs {1_000 * took:.1f} ms of CPU for {len(items)} answers."
