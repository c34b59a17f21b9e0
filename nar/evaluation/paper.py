"""The paper's encoder as a method of the tables, and the ablations of its Tables 2 and 3."""

from dataclasses import dataclass

import torch

from nar.config import (
    Losses,
    MotifConfig,
    PaperGraphRecipe,
    PaperMotifRecipe,
    PaperRecipe,
    Splitting,
)
from nar.encoding.embed import Embedder
from nar.encoding.paper.encoders import PaperConfig, paper_encoder
from nar.encoding.paper.pretraining import pretrain_paper
from nar.encoding.paper.samples import collect_samples
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

    def recipe(self, seed: int) -> PaperRecipe:
        """Both stages."""
        return PaperRecipe(
            motif=PaperMotifRecipe(seed=seed),
            graph=PaperGraphRecipe(seed=seed, losses=self.losses),
        )


def untrained(task: Task) -> Matrix:
    """Vectors of the encoder with its initial weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(task.seed)
        encoder = paper_encoder(PaperConfig.of(MotifConfig(), PaperRecipe()))
    return Embedder(encoder).embed(task.graphs)


def trained(task: Task, variant: Variant) -> Matrix:
    """Vectors of an encoder that went through both stages on the training rows of a task."""
    samples = collect_samples(task.learned(), task.labels, variant.motifs())
    return Embedder(pretrain_paper(samples, variant.recipe(task.seed))).embed(task.graphs)
