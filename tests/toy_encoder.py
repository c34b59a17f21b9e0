"""An encoder of one stage, for the test that adds one: how often each operator occurs, weighted."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from nar.encoding.recipe import EncoderConfig, EncoderRecipe, StageRecipe
from nar.encoding.registry import EncoderKind
from nar.encoding.training import LONE, no_report
from nar.graphs.ops import one_hot_columns


class ToyRecipe(EncoderRecipe):
    """One stage."""

    encoder: Literal["toy"] = "toy"
    weights: StageRecipe = StageRecipe(epochs=1, batch_size=2, learning_rate=0.1)

    @property
    def stages(self):
        return {"weights": self.weights}


class ToyConfig(EncoderConfig):
    """Nothing of its own."""

    name: Literal["toy"] = "toy"
    version: Literal[1] = 1

    @property
    def dim(self):
        return self.operators


@dataclass
class Toy:
    """A weight for every operator."""

    config: ToyConfig
    weights: torch.Tensor

    def encode(self, partitions):
        counts = [self._counts(partition.graph) for partition in partitions]
        rows = np.stack(counts) * self.weights.numpy()
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def tensors(self):
        return {"weights": self.weights.numpy()}

    def load(self, tensors):
        self.weights = torch.from_numpy(tensors["weights"])

    def to(self, device):
        pass

    def _counts(self, graph):
        width = self.config.operators
        return np.bincount(one_hot_columns(graph.op_ids, width), minlength=width)


def untrained(config):
    return Toy(config, torch.ones(config.operators))


KEEPS = None


def collect(architectures, motifs):
    return [item.graph for item in architectures], motifs


def pretrain(samples, recipe, *, worker=LONE, start=None, after_epoch=no_report):
    """The rarer an operator is, the more it weighs."""
    graphs, motifs = samples
    toy = untrained(ToyConfig(motifs=motifs))
    seen = sum(toy._counts(graph) > 0 for graph in graphs)
    toy.weights = torch.from_numpy(1 / (1 + seen)).float()
    return toy


TOY = EncoderKind("toy", ToyRecipe, ToyConfig, __name__, __name__)
