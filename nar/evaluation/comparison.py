"""The same questions to every method: the trained encoder beside baselines that learn nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from nar.architecture import Architecture
from nar.config import MotifConfig, PretrainingConfig
from nar.encoding.embed import Embedder
from nar.encoding.encoders import EncoderConfig, paper_encoder
from nar.evaluation.baselines import (
    Weighting,
    bag_of_operators,
    label_histograms,
    random_vectors,
    sizes,
)
from nar.evaluation.evaluate import Evaluation, Matrix, evaluate
from nar.evaluation.questions import questions
from nar.graph import ComputationalGraph

Graphs = Sequence[ComputationalGraph]
UNTRAINED_SEED = 0
HISTOGRAMS: tuple[tuple[int, Weighting], ...] = (
    (1, "presence"),
    (2, "presence"),
    (2, "log_counts"),
    (2, "idf"),
    (3, "presence"),
)


@dataclass(frozen=True, slots=True)
class Method:
    """A way to turn graphs into vectors that are compared by cosine.

    Attributes:
        name: As tables show it.
        embed: Rows in the order of the graphs.
    """

    name: str
    embed: Callable[[Graphs], Matrix]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row of a table.

    Attributes:
        data: Which architectures: ``real`` or ``nas``.
        method: Name of the method.
        evaluation: What it reached.
    """

    data: str
    method: str
    evaluation: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"data": self.data, "method": self.method, **self.evaluation.to_dict()}


def untrained_methods() -> tuple[Method, ...]:
    """Baselines that learn nothing, an untrained encoder among them."""
    return (
        Method("random", lambda graphs: random_vectors(len(graphs), seed=0)),
        Method("size only", sizes),
        Method("bag of operators", bag_of_operators),
        *(
            Method(
                f"label histogram, s<={steps}, {weighting.replace('_', ' ')}",
                partial(label_histograms, steps=steps, weighting=weighting),
            )
            for steps, weighting in HISTOGRAMS
        ),
        Method("paper encoder, untrained", lambda graphs: untrained_embedder().embed(graphs)),
    )


def untrained_embedder() -> Embedder:
    """The paper's encoder with its initial weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(UNTRAINED_SEED)
        return Embedder(paper_encoder(EncoderConfig.of(MotifConfig(), PretrainingConfig())))


def compare(
    architectures: Sequence[Architecture],
    methods: Sequence[Method],
    *,
    done: Callable[[int], None] = lambda _: None,
) -> list[Comparison]:
    """Evaluate every method on the real architectures and on those of the DARTS space.

    Twins (architectures of the query's topology) are neither relevant nor in the gallery:
    finding a copy shows nothing.

    Args:
        architectures: A corpus.
        methods: What to compare.
        done: Called with 1 after each method.
    """
    rows = []
    for data in ("real", "nas"):
        items = [
            item for item in architectures if (item.labels.source == "darts") == (data == "nas")
        ]
        for method in methods if items else ():
            rows.append(Comparison(data, method.name, _evaluate(items, method)))
            done(1)
    return rows


def _evaluate(items: Sequence[Architecture], method: Method) -> Evaluation:
    asked = questions(
        [item.labels.name for item in items],
        [item.labels.family for item in items],
        apart=[item.topology for item in items],
    )
    return evaluate(method.embed([item.graph for item in items]), asked)
