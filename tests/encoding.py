"""Small encoders, graphs and samples for the tests of everything learned."""

import numpy as np
import torch
from graphs import bert, resnet, swin

from nar.encoding.collecting import Targets
from nar.encoding.default.encoder import DefaultEncoder
from nar.encoding.default.pretraining import default_encoder
from nar.encoding.default.recipe import DefaultConfig, DefaultRecipe, GraphRecipe, MotifRecipe
from nar.encoding.paper.encoder import PaperEncoder, paper_encoder
from nar.encoding.paper.recipe import PaperConfig, PaperGraphRecipe, PaperMotifRecipe, PaperRecipe
from nar.encoding.paper.samples import Samples, collect_samples
from nar.graphs.architecture import Architecture, Labels, architecture
from nar.graphs.canonical import canonical
from nar.motifs.config import MotifConfig

RECIPE = PaperRecipe(
    motif=PaperMotifRecipe(epochs=2, batch_size=8, dim=16),
    graph=PaperGraphRecipe(epochs=3, batch_size=8, dim=16),
)


DEFAULT_RECIPE = DefaultRecipe(
    rows_log2=6,
    learned_dim=32,
    unknown_dim=64,
    motif=MotifRecipe(epochs=2, batch_size=8),
    graph=GraphRecipe(epochs=12, batch_size=9, relatives=3),
)


def small_default(seed: int = 0) -> DefaultEncoder:
    torch.manual_seed(seed)
    return default_encoder(DefaultConfig.of(MotifConfig(), DEFAULT_RECIPE))


def small_encoder(seed: int = 0) -> PaperEncoder:
    torch.manual_seed(seed)
    return paper_encoder(PaperConfig.of(MotifConfig(), RECIPE))


def three_families():
    """Three members each of three designs."""
    return [
        canonical(graph)
        for family in (
            [resnet([2, 2]), resnet([3, 4]), resnet([3, 4, 6])],
            [bert(2), bert(3), bert(4)],
            [swin([2, 2]), swin([2, 4]), swin([2, 2, 2])],
        )
        for graph in family
    ]


def three_family_corpus() -> list[Architecture]:
    """The same with the labels that say so."""
    families = np.repeat(["resnet", "bert", "swin"], 3).tolist()
    return [
        architecture(Labels(f"file:{number}", "file", "-", family, "-"), graph)
        for number, (family, graph) in enumerate(zip(families, three_families(), strict=True))
    ]


def three_family_samples() -> Samples:
    """What pretraining reads of `three_families`: the first is a CNN, the others attend."""
    return collect_samples(three_families(), three_family_targets(), MotifConfig())


def three_family_targets() -> Targets:
    """The labels of `three_families`."""
    families = np.repeat(np.arange(3), 3)
    return Targets(np.minimum(families, 1), families, families, families)
