"""The paper's encoder as a method of the tables, and the ablations of its Tables 2 and 3."""

from dataclasses import dataclass
from functools import cache
from typing import Final

import torch

from benchmark.scoring.ranking import Matrix
from benchmark.tasks.task import Task
from nar.encoding.collecting import Targets
from nar.encoding.embed import Embedder
from nar.encoding.paper.encoder import PaperEncoder, paper_encoder
from nar.encoding.paper.pretraining import pretrain_paper
from nar.encoding.paper.recipe import (
    PaperConfig,
    PaperGraphRecipe,
    PaperMotifRecipe,
    PaperRecipe,
)
from nar.encoding.paper.samples import collect_samples
from nar.encoding.recipe import Losses
from nar.motifs.config import MotifConfig, Splitting
from nar.zoo.sources.darts.dataset import members_at
from nar.zoo.sources.darts.network import darts_graph

# Table 4: edits of the networks that are learned from first, and how many of them.
NAS_DISTANCE: Final = 4
NAS_NETWORKS: Final = 3_000

OURS: Final = PaperRecipe()
# Table 5 to the letter: it prints no temperature, and so none divides the cosines.
PRINTED: Final = PaperRecipe(
    motif=PaperMotifRecipe(learning_rate=1e-2, temperature=1.0),
    graph=PaperGraphRecipe(temperature=1.0),
)


@dataclass(frozen=True, slots=True)
class Variant:
    """What differs from the paper's own.

    Attributes:
        splitting: Table 2.
        losses: Table 3.
        settings: All others of both stages.
    """

    splitting: Splitting = "repeats"
    losses: Losses = "ce+cl"
    settings: PaperRecipe = OURS

    def motifs(self) -> MotifConfig:
        """How graphs are cut."""
        return MotifConfig(splitting=self.splitting)

    def recipe(self, seed: int) -> PaperRecipe:
        """Both stages."""
        return PaperRecipe(
            motif=self.settings.motif.model_copy(update={"seed": seed}),
            graph=self.settings.graph.model_copy(update={"seed": seed, "losses": self.losses}),
        )


def untrained(task: Task) -> Matrix:
    """Vectors of the encoder with its initial weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(task.seed)
        encoder = paper_encoder(PaperConfig.of(MotifConfig(), PaperRecipe()))
    return Embedder(encoder).embed(task.graphs)


def trained(task: Task, variant: Variant) -> Matrix:
    """Vectors of an encoder that went through both stages on the training rows of a task."""
    samples = collect_samples(task.learned(), task.targets, variant.motifs())
    return Embedder(pretrain_paper(samples, variant.recipe(task.seed))).embed(task.graphs)


def transferred(task: Task) -> Matrix:
    """Vectors of an encoder that went through both stages on the NAS space first (Table 4)."""
    samples = collect_samples(task.learned(), task.targets, Variant().motifs())
    recipe = Variant().recipe(task.seed)
    encoder = pretrain_paper(samples, recipe, initial=_of_nas(task.seed))
    return Embedder(encoder).embed(task.graphs)


@cache
def _of_nas(seed: int) -> PaperEncoder:
    """Learned from the first networks of the NAS data set, the ten classes in turn."""
    members = members_at(NAS_DISTANCE, count=NAS_NETWORKS)
    classes = [str(member.label) for member in members]
    graphs = [darts_graph(member.genotype) for member in members]
    targets = Targets.of(classes, classes)
    return pretrain_paper(
        collect_samples(graphs, targets, Variant().motifs()), Variant().recipe(seed)
    )
