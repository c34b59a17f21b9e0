"""Pretraining on a corpus, by whichever recipe: from architectures to an encoder."""

from collections.abc import Iterable

from nar.encoding.encoder import Encoder, encoder_module
from nar.encoding.recipe import EncoderRecipe
from nar.encoding.training import LONE, AfterEpoch, Worker, no_report
from nar.encoding.training_state import TrainingState
from nar.graphs.architecture import Architecture
from nar.motifs.config import MotifConfig


def pretrain(
    architectures: Iterable[Architecture],
    motifs: MotifConfig,
    recipe: EncoderRecipe,
    *,
    worker: Worker = LONE,
    start: TrainingState | None = None,
    after_epoch: AfterEpoch = no_report,
) -> Encoder:
    """All stages on all of a corpus.

    Args:
        architectures: The corpus, read once and not kept: an iterator over shards will do.
        motifs: How graphs are cut.
        recipe: Which encoder, and how it learns.
        worker: This process's part.
        start: Where to go on, given by ``after_epoch`` of a run with the same corpus and settings.
        after_epoch: Called after every epoch; the state is valid during the call.

    Raises:
        ConfigError: Too few samples for the number of workers, or the loss is no longer finite.
    """
    module = encoder_module(recipe.encoder)
    samples = module.collect(architectures, motifs)
    return module.pretrain(samples, recipe, worker=worker, start=start, after_epoch=after_epoch)
