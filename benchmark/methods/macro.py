"""Macro graphs beside the default encoder: what reading them is worth, learned or not.

A network over macro graphs (`benchmark.methods.macro_network`) goes through two stages: masked
motifs, without labels, over the training rows and networks of the NAS space; then families. What it
knows of a graph answers alone, or beside the vector of the default encoder, which is learned apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from benchmark.methods import default
from benchmark.methods.macro_network import (
    DIM,
    FamilyObjective,
    MacroBatch,
    MacroGraphs,
    MacroNetwork,
    MaskedObjective,
    macro_graphs,
)
from benchmark.methods.reading import read
from benchmark.scoring.ranking import Matrix, Weights, unit_rows
from benchmark.tasks.task import Task
from nar.encoding.default.pretraining import relatives_side_by_side
from nar.encoding.default.recipe import DefaultConfig
from nar.encoding.recipe import StageRecipe
from nar.encoding.training import (
    ALONE,
    LONE,
    TrainingStage,
    epoch_batches,
    no_report,
    train,
    warm_up_and_anneal,
)
from nar.graphs.by import By
from nar.graphs.ragged import slices_within
from nar.motifs.partition import MotifPartition, split_all
from nar.zoo.sources.darts.dataset import members_at
from nar.zoo.sources.darts.network import darts_graph

# Share of the motif types of a graph that are masked.
MASKED: Final = 0.2
# What the macro graph counts beside the vector of the default encoder, which counts 1.
BESIDE: Final = 0.3
# Networks of the NAS space that are learned from, without their classes.
NAS_DISTANCE: Final = 8
NAS_NETWORKS: Final = 2_000
_MOTIFS_A_BATCH: Final = 50_000
_MASK_SEED: Final = 3


@dataclass(frozen=True, slots=True)
class Variant:
    """What is compared.

    Attributes:
        masked_epochs: Of masked-motif prediction.
        family_epochs: Of the contrast of families, after that.
        is_beside: Whether the vector of the default encoder stands beside.
    """

    masked_epochs: int = 0
    family_epochs: int = 0
    is_beside: bool = False


# The names are those of the methods, after ``macro-``.
VARIANTS: Final[Mapping[str, Variant]] = {
    "untrained": Variant(),
    "masked": Variant(masked_epochs=5),
    "families": Variant(family_epochs=15),
    "masked-families": Variant(masked_epochs=5, family_epochs=15),
    "beside-masked-families": Variant(masked_epochs=5, family_epochs=15, is_beside=True),
}


def embedded(task: Task, variant: Variant) -> Matrix:
    """Vectors of the graphs of a task."""
    cut = read(task.graphs, default.MOTIFS).cut
    network = _learned(task, cut, variant)
    of_macro = _vectors(network, macro_graphs(cut, default.MOTIFS))
    if not variant.is_beside:
        return of_macro
    whole = default.trained(task)
    return np.concatenate([whole, np.float32(BESIDE) * of_macro], axis=1)


def weights(by: By, variant: Variant) -> Weights | None:
    """What a query's vector is multiplied with."""
    if not variant.is_beside:
        return None
    whole = DefaultConfig.of(default.MOTIFS, default.PLAIN).weights(by)
    return np.concatenate([whole, np.ones(DIM, dtype=np.float32)])


def _learned(task: Task, cut: Sequence[MotifPartition], variant: Variant) -> MacroNetwork:
    learned = [cut[row] for row in task.train]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(task.seed)
        network = MacroNetwork()
        masked = MaskedObjective(network)
    if variant.masked_epochs:
        graphs = macro_graphs([*learned, *_of_nas()], default.MOTIFS)
        _train(_masked_stage(graphs, masked, variant.masked_epochs, task.seed))
    if variant.family_epochs:
        graphs = macro_graphs(learned, default.MOTIFS)
        families = task.targets.families
        _train(_family_stage(graphs, families, network, variant.family_epochs, task.seed))
    return network.eval()


def _train(stage: TrainingStage) -> None:
    train(stage.objective, [lambda: stage], worker=LONE, start=None, after_epoch=no_report)


def _masked_stage(
    graphs: MacroGraphs, objective: MaskedObjective, epochs: int, seed: int
) -> TrainingStage:
    recipe = StageRecipe(epochs=epochs, batch_size=512, learning_rate=2e-3, seed=seed)

    def batch(rows: NDArray[np.int64], epoch: int) -> tuple[MacroBatch, NDArray[np.bool_]]:
        taken = graphs.take(rows)
        pairs, _ = taken.kinds()
        rng = np.random.default_rng([seed, epoch, int(rows[0]), _MASK_SEED])
        # One at least, or there is nothing to tell.
        hidden = rng.random(len(pairs)) < MASKED
        hidden[rng.integers(len(pairs))] = True
        return taken, hidden

    return TrainingStage(
        "masked motifs",
        recipe,
        objective,
        lambda epoch: epoch_batches(
            graphs.count, recipe.batch_size, seed=seed, epoch=epoch, share=ALONE
        ),
        batch,
        warm_up_and_anneal,
    )


def _family_stage(
    graphs: MacroGraphs,
    families: NDArray[np.int64],
    network: MacroNetwork,
    epochs: int,
    seed: int,
) -> TrainingStage:
    recipe = StageRecipe(epochs=epochs, batch_size=512, learning_rate=2e-3, seed=seed)

    def batches(epoch: int) -> list[NDArray[np.int64]]:
        rng = np.random.default_rng([seed, epoch])
        order = relatives_side_by_side(families, default.PLAIN.graph.relatives, rng)
        return np.array_split(order, max(1, round(len(order) / recipe.batch_size)))

    return TrainingStage(
        "families",
        recipe,
        FamilyObjective(network),
        batches,
        lambda rows, _: (graphs.take(rows), torch.from_numpy(families[rows])),
        warm_up_and_anneal,
    )


def _vectors(network: MacroNetwork, graphs: MacroGraphs) -> NDArray[np.float32]:
    """Unit vectors of macro graphs: shape (graphs, dim)."""
    parts = slices_within(np.diff(graphs.start).tolist(), _MOTIFS_A_BATCH)
    rows = np.arange(graphs.count)
    with torch.inference_mode():
        vectors = torch.cat([network(graphs.take(rows[part])) for part in parts])
    unit: NDArray[np.float32] = np.asarray(unit_rows(vectors.numpy()))
    return unit


@cache
def _of_nas() -> tuple[MotifPartition, ...]:
    """Networks of the NAS space, cut into motifs, the ten classes in turn."""
    members = members_at(NAS_DISTANCE, count=NAS_NETWORKS)
    return tuple(split_all([darts_graph(each.genotype) for each in members], default.MOTIFS))
