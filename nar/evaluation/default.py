"""The default encoder as a method of the tables."""

from nar.config import DefaultRecipe, MotifConfig
from nar.encoding.default.pretraining import pretrain_default
from nar.encoding.default.samples import collect_label_samples
from nar.encoding.embed import Embedder
from nar.evaluation.evaluate import Matrix
from nar.evaluation.tasks import Task

PLAIN = DefaultRecipe()


def trained(task: Task, recipe: DefaultRecipe = PLAIN) -> Matrix:
    """Vectors of an encoder that went through both stages on the training rows of a task."""
    samples = collect_label_samples(task.learned(), task.labels, MotifConfig())
    stages = {
        name: getattr(recipe, name).model_copy(update={"seed": task.seed})
        for name in ("motif", "graph")
    }
    encoder = pretrain_default(samples, recipe.model_copy(update=stages))
    return Embedder(encoder).embed(task.graphs)
