"""The paper's encoder as a method of the tables, and the ablations of its Tables 2 and 3."""

from dataclasses import dataclass

import torch

from nar.config import (
    GraphPretrainingConfig,
    Losses,
    MotifConfig,
    MotifPretrainingConfig,
    PretrainingConfig,
    Splitting,
)
from nar.encoding.embed import Embedder
from nar.encoding.encoders import EncoderConfig, paper_encoder
from nar.encoding.pretraining import pretrain
from nar.encoding.samples import TrainingLabels, collect_samples
from nar.evaluation.evaluate import Matrix
from nar.evaluation.tasks import Task


@dataclass(frozen=True, slots=True)
class Variant:
    """What differs from the paper's own.

    Attributes:
        splitting: Table 2.
        losses: Table 3.
    """

    splitting: Splitting = "repeats"
    losses: Losses = "ce+cl"

    def motifs(self) -> MotifConfig:
        """How graphs are cut."""
        return MotifConfig(splitting=self.splitting)

    def recipe(self, seed: int) -> PretrainingConfig:
        """Both stages."""
        return PretrainingConfig(
            motif=MotifPretrainingConfig(seed=seed),
            graph=GraphPretrainingConfig(seed=seed, losses=self.losses),
        )


def untrained(task: Task) -> Matrix:
    """Vectors of the encoder with its initial weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(task.seed)
        encoder = paper_encoder(EncoderConfig.of(MotifConfig(), PretrainingConfig()))
    return Embedder(encoder).embed(task.graphs)


def trained(task: Task, variant: Variant) -> Matrix:
    """Vectors of an encoder that went through both stages on the training rows of a task."""
    labels = TrainingLabels.of(task.blocks, task.families)
    samples = collect_samples(task.learned(), labels, variant.motifs())
    return Embedder(pretrain(samples, variant.recipe(task.seed))).embed(task.graphs)
