"""Small encoders, graphs and samples for the tests of everything learned."""

import torch
from graphs import bert, resnet, swin

from nar.canonical import canonical
from nar.config import (
    GraphPretrainingConfig,
    MotifConfig,
    MotifPretrainingConfig,
    PretrainingConfig,
)
from nar.encoders import EncoderConfig, PaperEncoder, paper_encoder

RECIPE = PretrainingConfig(
    motif=MotifPretrainingConfig(epochs=2, batch_size=4, dim=16),
    graph=GraphPretrainingConfig(epochs=3, batch_size=4, dim=16),
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
