"""The default encoder as a method of the tables, and what it is without each of its parts."""

from collections.abc import Mapping
from typing import Any, Final

from nar.encoding.default.pretraining import pretrain_default
from nar.encoding.default.recipe import DefaultRecipe
from nar.encoding.default.samples import collect_feature_samples
from nar.encoding.embed import Embedder
from nar.evaluation.benchmark.tasks import Task
from nar.evaluation.scoring.ranking import Matrix
from nar.motifs.config import FeatureKind, MotifConfig

PLAIN: Final = DefaultRecipe()
MOTIFS: Final = MotifConfig()


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
    "whole-graphs": _with_stage("graph", leave_out=0.0),
    "random-batches": _with_stage("graph", relatives=1),
}
# One trained linear projection of which operators with their neighbours occur, and nothing else.
LINEAR: Final = PLAIN.model_copy(
    update={
        "features": ("operators",),
        "unknown_weight": 0.0,
        "size_weight": 0.0,
        "halves": False,
        "identity_dim": 0,
        "graph": PLAIN.graph.model_copy(update={"leave_out": 0.0}),
        "motif": PLAIN.motif.model_copy(update={"epochs": 0}),
    }
)
# What was tried, on what selects a model: the names are those of the methods.
TRIALS: Final[Mapping[str, tuple[DefaultRecipe, MotifConfig]]] = {
    "trial-0-1-0": (
        _with_stage("graph", leave_out=0.0).model_copy(
            update={"halves": False, "identity_dim": 0, "unknown_dim": 128}
        ),
        MOTIFS,
    ),
    "trial-no-halves": (PLAIN.model_copy(update={"halves": False}), MOTIFS),
    "trial-no-identity": (
        PLAIN.model_copy(update={"identity_dim": 0, "unknown_dim": 128}),
        MOTIFS,
    ),
    "trial-unknown-128-identity-64": (
        PLAIN.model_copy(update={"identity_dim": 64, "unknown_dim": 128}),
        MOTIFS,
    ),
    "trial-leave-out-0": (_with_stage("graph", leave_out=0.0), MOTIFS),
    "trial-leave-out-70": (_with_stage("graph", leave_out=0.7), MOTIFS),
    "trial-no-border-widths": (PLAIN, MotifConfig(border_widths=False)),
}
UNTRAINED: Final = _with_stage("motif", epochs=0).model_copy(
    update={"graph": PLAIN.graph.model_copy(update={"epochs": 0})}
)


def trained(task: Task, recipe: DefaultRecipe, motifs: MotifConfig = MOTIFS) -> Matrix:
    """Vectors of an encoder that went through both stages on the training rows of a task."""
    samples = collect_feature_samples(task.learned(), task.targets, motifs)
    encoder = pretrain_default(samples, recipe.with_seed(task.seed))
    return Embedder(encoder).embed(task.graphs)
