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
    "no-size": PLAIN.model_copy(update={"size_weight": 0.0}),
    "random-batches": _with_stage("graph", relatives=1),
}
UNTRAINED: Final = _with_stage("motif", epochs=0).model_copy(
    update={"graph": PLAIN.graph.model_copy(update={"epochs": 0})}
)


def trained(task: Task, recipe: DefaultRecipe) -> Matrix:
    """Vectors of an encoder that went through both stages on the training rows of a task."""
    samples = collect_feature_samples(task.learned(), task.targets, MotifConfig())
    encoder = pretrain_default(samples, recipe.with_seed(task.seed))
    return Embedder(encoder).embed(task.graphs)
