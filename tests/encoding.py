"""Small encoders, graphs and samples for the tests of everything learned."""

import numpy as np
import torch
from graphs import bert, resnet, swin

from nar.canonical import canonical
from nar.config import (
    GraphPretrainingConfig,
    MotifConfig,
    MotifPretrainingConfig,
    PretrainingConfig,
)
from nar.encoding.encoders import EncoderConfig, PaperEncoder, paper_encoder
from nar.encoding.samples import Samples, TrainingLabels, collect_samples

RECIPE = PretrainingConfig(
    motif=MotifPretrainingConfig(epochs=2, batch_size=8, dim=16),
    graph=GraphPretrainingConfig(epochs=3, batch_size=8, dim=16),
)


def small_encoder(seed: int = 0) -> PaperEncoder:
    torch.manual_seed(seed)
    return paper_encoder(EncoderConfig.of(MotifConfig(), RECIPE))


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


def three_family_samples() -> Samples:
    """What pretraining reads of `three_families`: the first is a CNN, the others attend."""
    families = np.repeat(np.arange(3), 3)
    labels = TrainingLabels(classes=np.minimum(families, 1), families=families)
    return collect_samples(three_families(), labels, MotifConfig())
