"""Pretraining on a corpus, by whichever recipe: from architectures to an encoder."""

from collections.abc import Sequence

from nar.architecture import Architecture
from nar.config import DefaultRecipe, MotifConfig, Recipe
from nar.encoding.checkpoint import Pretrained
from nar.encoding.default.pretraining import pretrain_default
from nar.encoding.default.samples import collect_label_samples
from nar.encoding.labels import kin_labels, printed_labels
from nar.encoding.paper.pretraining import pretrain_paper
from nar.encoding.paper.samples import collect_samples
from nar.encoding.training import LONE, AfterEpoch, Worker, nothing
from nar.encoding.training_state import TrainingState


def pretrain(
    architectures: Sequence[Architecture],
    motifs: MotifConfig,
    recipe: Recipe,
    *,
    worker: Worker = LONE,
    start: TrainingState | None = None,
    after_epoch: AfterEpoch = nothing,
) -> Pretrained:
    """Both stages on all of a corpus.

    Args:
        architectures: The corpus.
        motifs: How graphs are cut.
        recipe: Which encoder, and how it learns.
        worker: This process's part.
        start: Where to go on, given by ``after_epoch`` of a run with the same corpus and settings.
        after_epoch: Called after every epoch; the state is valid during the call.

    Raises:
        ConfigError: Too few samples for the number of workers, or the loss is no longer finite.
    """
    graphs = [item.graph for item in architectures]
    if isinstance(recipe, DefaultRecipe):
        samples = collect_label_samples(graphs, kin_labels(architectures), motifs)
        return pretrain_default(
            samples, recipe, worker=worker, start=start, after_epoch=after_epoch
        )
    printed = collect_samples(graphs, printed_labels(architectures), motifs)
    return pretrain_paper(printed, recipe, worker=worker, start=start, after_epoch=after_epoch)
