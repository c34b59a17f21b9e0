"""What a learned pair scorer adds to the first stage: ``python -m benchmark pairs``.

Two scorers are learned, of learned families alone: one finds the originals of models that are
changed automatically, one the family of a design. A score is the cosine and so much of the scorer.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmark.cells import Cell, task_of
from benchmark.methods.default import DEFAULT, MOTIFS, PLAIN, encoder_of, vectors_of
from benchmark.methods.reading import read, read_anew
from benchmark.methods.registry import find_method
from benchmark.pairs.changes import changed
from benchmark.pairs.codes import Coded, Values, Vocabulary
from benchmark.pairs.scorer import Scorer, learned
from benchmark.reporting.markdown import markdown_table
from benchmark.scoring.evaluate import Scored, difference, score, summarise
from benchmark.scoring.ranking import Second, rank, unit_rows
from benchmark.tasks.datasets import REAL, load_dataset
from benchmark.tasks.questions import Numbers, Questions, numbered
from benchmark.tasks.task import Task, find_protocol
from nar.base.files import write_whole
from nar.encoding.default.encoder import DefaultEncoder
from nar.encoding.default.recipe import DefaultConfig
from nar.graphs.by import By

COMMAND: Final = "python -m benchmark pairs --results results"
RANKED: Final = 100
# Answers to each learned question, and questions of either kind.
_OFFERED: Final = 60
_ASKED: Final = 1_500
_SEED: Final = 0
_COUNTS: Final = (0.02, 0.05, 0.1, 0.2)
_METHOD: Final = "default"
# Protocol -> what is asked for: an original, or a family.
_PROTOCOLS: Final[Mapping[str, str]] = {
    "unseen-named": "family",
    "unseen-named-relatives-unjudged": "family",
    "edits-family-unseen": "original",
    "edits-original-unseen": "original",
    "parts-family-unseen": "original",
    "parts-original-unseen": "original",
    "shares-family-unseen": "original",
    "shares-original-unseen": "original",
}
_SAID: Final = (
    "The first 100 answers are ranked once more: by their cosine and so much (*counts*) of the "
    "score of a learned scorer, which has mean 0 and spread 1 over the answers to a query. It "
    "reads nine kinds of exact codes: containment both ways and Jaccard, weighed by how rare "
    "codes are; and sizes. It is learned by a softmax over the answers to each question, of "
    "families that are learned alone: *family*, designs that ask for their own; *original*, models "
    "that are changed automatically, half of them parts of random shares, the others with other "
    "activations, norms, widths or classes, with operators inserted, without a head, or wrapped. "
    "One training, one seed, on what selects a model. Intervals of the differences: bootstrap over "
    "whole families."
)


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """What a scorer is learned from and asked with.

    Attributes:
        task: The task.
        encoder: Learned of its training rows.
        vectors: Of all its graphs.
        vocabulary: Of the training rows.
        coded: All its graphs.
    """

    task: Task
    encoder: DefaultEncoder
    vectors: Values
    vocabulary: Vocabulary
    coded: Coded


def given(task: Task) -> Given:
    """Learn and read once for all that is asked."""
    encoder = encoder_of(task, DEFAULT)
    sets = read(task.graphs, MOTIFS).sets
    vocabulary = Vocabulary.of(sets.take(task.train))
    coded = Coded.of(sets, task.graphs, vocabulary)
    return Given(task, encoder, vectors_of(encoder, sets, task.graphs), vocabulary, coded)


def scorers(of: Given, work: Path) -> Mapping[str, Scorer]:
    """Both scorers."""
    cards = load_dataset(REAL, work).cards
    first: dict[str, int] = {}
    for row in of.task.train.tolist():
        if cards[row].labels.tier == "named":
            first.setdefault(cards[row].topology, row)
    rows = np.array(sorted(first.values()), dtype=np.int64)
    rng = np.random.default_rng(_SEED)
    asking = np.sort(rng.choice(rows, min(_ASKED, len(rows)), replace=False))
    families = numbered([card.labels.family for card in cards])
    exact = numbered([card.exact for card in cards])
    graphs, whose = changed([of.task.graphs[row] for row in asking], rng)
    sets = read_anew(graphs, MOTIFS).sets
    made = Coded.of(sets, graphs, of.vocabulary)
    vectors = vectors_of(of.encoder, sets, graphs)
    own = asking[whose]
    return {
        "family": _learned(of, of.coded, asking, of.vectors[asking], "design", rows, families),
        "original": _learned(of, made, np.arange(len(graphs)), vectors, "copy", rows, exact, own),
    }


def _learned(
    of: Given,
    asking: Coded,
    queries: Numbers,
    vectors: Values,
    by: By,
    rows: Numbers,
    labels: Numbers,
    own: Numbers | None = None,
) -> Scorer:
    """A scorer of the first answers among some rows.

    Args:
        of: What was read.
        asking: Who asks.
        queries: Which of them.
        vectors: Their vectors.
        by: What is asked for.
        rows: Who answers.
        labels: Of every graph of the task: what makes an answer right.
        own: Original of each query; None where the queries are rows themselves, which do not
            answer.
    """
    weights = DefaultConfig.of(MOTIFS, PLAIN).weights(by)
    asked = np.asarray(unit_rows(vectors * weights)) @ np.asarray(unit_rows(of.vectors[rows])).T
    originals = queries if own is None else own
    pairs, right = [], []
    for place, query in enumerate(queries.tolist()):
        reached = asked[place]
        if own is None:
            reached = np.where(rows == query, -np.inf, reached)
        offered = rows[np.argsort(-reached, kind="stable")[:_OFFERED]]
        is_right = labels[offered] == labels[originals[place]]
        if is_right.any() and not is_right.all():
            pairs.append(asking.compared(query, of.coded, offered))
            right.append(is_right)
    return learned(np.stack(pairs), np.stack(right))


def second(of: Given, scorer: Scorer, counts: float) -> Second:
    """Cosines and so much of the scorer."""

    def order(query: int, items: Numbers, scores: NDArray[np.floating]) -> Numbers:
        added = scorer.scores(of.coded.compared(query, of.coded, items))
        return items[np.argsort(-np.round(scores + counts * added, 6), kind="stable")]

    return Second(RANKED, order)


def as_markdown(work: Path) -> str:
    """The page.

    Args:
        work: Keeps data sets.
    """
    cell = Cell(REAL, "unseen", _METHOD, 0, "validation")
    of = given(task_of(cell, cache_directory=work))
    learned_scorers = scorers(of, work)
    blocks = ["# A second stage that is learned", f"```sh\n{COMMAND}\n```", _SAID]
    blocks += _blocks(of, learned_scorers)
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path, work: Path) -> None:
    """Measure and write the page.

    Args:
        results: Directory that gets ``pairs.md``.
        work: Keeps data sets.
    """
    text = as_markdown(work)
    results.mkdir(parents=True, exist_ok=True)
    write_whole(results / "pairs.md", lambda part: part.write_text(text))


def _blocks(of: Given, every: Mapping[str, Scorer]) -> Iterator[str]:
    lines: list[list[str]] = []
    kinds: list[list[str]] = []
    for protocol, what in _PROTOCOLS.items():
        asked = of.task.asked[protocol]
        metric = find_protocol(REAL, protocol).headline
        reach = partial(_reached, of, asked)
        first = reach(None)
        cells = [f"{_mean(first, metric):.3f}"]
        for counts in _COUNTS:
            again = reach(second(of, every[what], counts))
            cells.append(_shown(again, first, metric))
            if counts == _COUNTS[2]:
                kinds += _kinds(protocol, first, again, metric)
        lines.append([protocol, what, f"{len(first.queries):,}", metric, *cells])
    header = ("protocol", "scorer", "queries", "metric", "first stage", *map(str, _COUNTS))
    yield markdown_table(header, lines)
    yield f"By kind of change, with {_COUNTS[2]}:"
    yield markdown_table(("protocol", "change", "queries", "first stage", "second"), kinds)
    yield _cost(of, every["original"])


def _reached(of: Given, asked: Questions, stage: Second | None) -> Scored:
    weights = find_method(_METHOD).weights(asked.by)
    return score(rank(of.vectors, asked, weights, second=stage), asked)


def _mean(scored: Scored, metric: str) -> float:
    return summarise([scored]).scores[metric].mean


def _shown(again: Scored, first: Scored, metric: str) -> str:
    apart = difference([again], [first], metric)
    return f"{_mean(again, metric):.3f} ({apart.mean:+.3f}, {apart.low:+.3f} to {apart.high:+.3f})"


def _kinds(protocol: str, first: Scored, again: Scored, metric: str) -> Iterator[list[str]]:
    """A line a kind of change, where changed models ask."""
    if not protocol.endswith("original-unseen"):
        return
    kinds = np.array([name.rpartition("@")[2] for name in first.queries])
    for kind in sorted(set(kinds.tolist())):
        of_kind = kinds == kind
        means = (each.values[metric][of_kind].mean() for each in (first, again))
        yield [protocol, kind, f"{of_kind.sum():,}", *(f"{mean:.3f}" for mean in means)]


def _cost(of: Given, scorer: Scorer) -> str:
    """CPU time of one query beside a hundred answers."""
    asked = of.task.asked["parts-original-unseen"]
    queries = np.flatnonzero(asked.queries)[:RANKED]
    items = np.flatnonzero(asked.gallery)[:RANKED]
    stage = second(of, scorer, _COUNTS[0])
    started = time.process_time()
    for query in queries.tolist():
        stage.order(query, items, np.zeros(len(items), dtype=np.float32))
    took = (time.process_time() - started) / len(queries)
    return f"A question costs {1_000 * took:.1f} ms of CPU for {len(items)} answers."
