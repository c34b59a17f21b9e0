"""The default encoder as a method of the tables, and what it is without each of its parts."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmark.editing.parts import run
from benchmark.methods.reading import read, read_anew, read_motifs
from benchmark.rewriting.rewrite import NotApplicableError
from benchmark.scoring.ranking import Matrix
from benchmark.tasks.task import Task
from nar.encoding.default.encoder import DefaultEncoder
from nar.encoding.default.pretraining import pretrain_default
from nar.encoding.default.recipe import (
    LEARNED_FEATURES,
    WEIGHTS,
    BlockWeights,
    DefaultRecipe,
)
from nar.encoding.default.samples import FeatureSamples
from nar.graphs.by import By
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ragged import slices_within
from nar.motifs.config import FeatureKind, MotifConfig
from nar.motifs.feature_sets import FeatureSets, joined

PLAIN: Final = DefaultRecipe()
MOTIFS: Final = MotifConfig()
# Embedded at a time: their vectors of signs are long.
FEATURES_A_RUN: Final = 500_000
# Of a graph's nodes, least and most.
PART_SHARES: Final = (0.4, 0.9)
_PARTS_SEED: Final = 4


def _with_stage(stage: str, **changes: Any) -> DefaultRecipe:  # noqa: ANN401
    return PLAIN.model_copy(update={stage: getattr(PLAIN, stage).model_copy(update=changes)})


def _without(kind: FeatureKind) -> DefaultRecipe:
    kept = tuple(each for each in PLAIN.features if each != kind)
    return PLAIN.model_copy(update={"features": kept})


# One part less each; the names are those of the methods, after ``default-``.
ABLATIONS: Final[Mapping[str, DefaultRecipe]] = {
    "no-motif-stage": _with_stage("motif", epochs=0),
    "no-operators": _without("operators"),
    "no-attributes": _without("attributes"),
    "no-motif-types": _without("motifs"),
    "no-paths": _without("paths"),
    "no-unknown": PLAIN.model_copy(update={"unknown_weight": 0.0}),
    "no-identity": PLAIN.model_copy(update={"identity_dim": 0}),
    "no-size": PLAIN.model_copy(update={"size_weight": 0.0}),
    "no-halves": PLAIN.model_copy(update={"halves": False}),
    "random-batches": _with_stage("graph", relatives=1),
}
# One trained linear projection of which operators with their neighbours occur, and nothing else.
LINEAR: Final = PLAIN.model_copy(
    update={
        "features": ("operators",),
        "learned_dim": 256,
        "unknown_weight": 0.0,
        "size_weight": 0.0,
        "halves": False,
        "identity_dim": 0,
        "graph": PLAIN.graph.model_copy(update={"temperature": 0.1}),
        "motif": PLAIN.motif.model_copy(update={"epochs": 0}),
    }
)


@dataclass(frozen=True, slots=True)
class Trial:
    """Other settings than those of the default encoder, tried on what selects a model.

    Attributes:
        recipe: Of pretraining.
        motifs: How graphs are cut and read.
        blocks: What the blocks of a query count.
        parts: Whether a part of each learned architecture is learned as a member of its family.
    """

    recipe: DefaultRecipe = PLAIN
    motifs: MotifConfig = MOTIFS
    blocks: BlockWeights = field(default_factory=lambda: WEIGHTS)
    parts: bool = False


def _with(**changes: Any) -> Trial:  # noqa: ANN401
    return Trial(PLAIN.model_copy(update=changes))


def _asked(by: By, *counts: float) -> Trial:
    return Trial(blocks={**WEIGHTS, by: counts})


# The names are those of the methods, after ``trial-``.
TRIALS: Final[Mapping[str, Trial]] = {
    "learned-192-identity-256": _with(learned_dim=192, identity_dim=256),
    "learned-256-identity-192": _with(learned_dim=256, identity_dim=192),
    "no-halves": _with(halves=False),
    "no-identity": _with(identity_dim=0, learned_dim=256),
    "identity-weight-55": _with(identity_weight=0.55),
    "identity-attributes-1": _with(identity_attributes=1.0),
    "identity-attributes-2": _with(identity_attributes=2.0),
    "temperature-10": Trial(_with_stage("graph", temperature=0.1)),
    "leave-out-15": Trial(_with_stage("graph", leave_out=0.15)),
    "leave-out-30": Trial(_with_stage("graph", leave_out=0.3)),
    "epochs-15": Trial(_with_stage("graph", epochs=15)),
    "motif-epochs-10": Trial(_with_stage("motif", epochs=10)),
    "no-border-widths": Trial(motifs=MotifConfig(border_widths=False)),
    "learned-skeleton": _with(features=(*LEARNED_FEATURES, "skeleton")),
    "identity-as-learned": _with(identity_features=LEARNED_FEATURES),
    "identity-no-whole": _with(identity_features=(*LEARNED_FEATURES, "skeleton")),
    "design-unknown-1": _asked("design", 1, 1, 1, 1, 1),
    "design-unknown-3": _asked("design", 1, 1, 3, 1, 1),
    "copy-10": _asked("copy", 1, 1, 1, 10, 3),
    "copy-20": _asked("copy", 1, 1, 1, 20, 5),
    "copy-100": _asked("copy", 1, 1, 1, 100, 30),
}
DEFAULT: Final = Trial()
UNTRAINED: Final = _with_stage("motif", epochs=0).model_copy(
    update={"graph": PLAIN.graph.model_copy(update={"epochs": 0})}
)


def trained(task: Task, trial: Trial = DEFAULT) -> Matrix:
    """Vectors of an encoder that went through both stages on the training rows of a task."""
    encoder = encoder_of(task, trial)
    return vectors_of(encoder, read(task.graphs, trial.motifs).sets, task.graphs)


def encoder_of(task: Task, trial: Trial = DEFAULT) -> DefaultEncoder:
    """An encoder that went through both stages on the training rows of a task."""
    every = read(task.graphs, trial.motifs)
    occurrences = read_motifs(every, task.train)
    samples = FeatureSamples(every.sets.take(task.train), occurrences, task.targets, trial.motifs)
    if trial.parts:
        samples = with_parts(samples, task.learned(), task.seed)
    return pretrain_default(samples, trial.recipe.with_seed(task.seed))


def vectors_of(
    encoder: DefaultEncoder, sets: FeatureSets, graphs: Sequence[ComputationalGraph]
) -> NDArray[np.float32]:
    """Vectors of graphs whose features were read, a few at a time: shape (graphs, dim)."""
    vectors = np.empty((len(graphs), encoder.config.dim), dtype=np.float32)
    rows = np.arange(len(vectors))
    for part in slices_within(np.diff(sets.start).tolist(), FEATURES_A_RUN):
        vectors[part] = encoder.encode_features(sets.take(rows[part]), graphs[part])
    return vectors


def with_parts(
    samples: FeatureSamples, graphs: Sequence[ComputationalGraph], seed: int
) -> FeatureSamples:
    """The same samples, and a run of the nodes of each graph under the same targets.

    Args:
        samples: Of the graphs, in their order.
        graphs: What the runs are cut out of.
        seed: Which runs.
    """
    rng = np.random.default_rng([seed, _PARTS_SEED])
    parts: list[ComputationalGraph] = []
    whole: list[int] = []
    for row, graph in enumerate(graphs):
        share = rng.uniform(*PART_SHARES)
        begin = rng.uniform(0, 1 - share)
        # A run may hold nothing but inputs.
        with suppress(NotApplicableError):
            parts.append(run(graph, begin=begin, end=begin + share))
            whole.append(row)
    cut = read_anew(parts, samples.config)
    return replace(
        samples,
        graphs=joined([samples.graphs, cut.sets]),
        targets=samples.targets.take(np.concatenate([np.arange(len(graphs)), whole])),
    )
