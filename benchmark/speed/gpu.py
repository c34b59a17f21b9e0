"""Pretraining and embedding on a GPU, beside the same on the CPUs of its machine.

An epoch is timed by itself: reading, cutting and collecting come before all of them, and are the
same on both. What is learned on both is compared, too: the losses, and the vectors of one encoder.

Run: python -m benchmark speed gpu [results.json]
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch

from benchmark.speed.measure import report
from nar.answers.atlas import shipped_atlas
from nar.corpus import read_corpus, shipped_corpus
from nar.encoding.default.recipe import DefaultRecipe, GraphRecipe, MotifRecipe
from nar.encoding.embed import Embedder, load_checkpoint
from nar.encoding.paper.encoder import paper_encoder
from nar.encoding.paper.recipe import (
    PaperConfig,
    PaperGraphRecipe,
    PaperMotifRecipe,
    PaperRecipe,
)
from nar.encoding.recipe import EncoderRecipe
from nar.encoding.registry import Encoder
from nar.encoding.training import EpochReport, Worker, training_module
from nar.graphs.architecture import Architecture
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.motifs.config import MotifConfig
from nar.zoo.sources.darts.network import darts_graph
from nar.zoo.sources.darts.sampling import sample_classes

# As they are learned from, but for fewer epochs: the first of a stage pays for what comes later.
SHORT = (
    DefaultRecipe(motif=MotifRecipe(epochs=2), graph=GraphRecipe(epochs=4)),
    PaperRecipe(motif=PaperMotifRecipe(epochs=2), graph=PaperGraphRecipe(epochs=4)),
)
EVERY = 3  # of the corpus; an epoch of the whole corpus takes CPUs minutes
PAPER_EVERY = 7  # of these graphs
CPU, GPU = torch.device("cpu"), torch.device("cuda")
Row = dict[str, object]


def epochs_of(
    corpus: Sequence[Architecture], recipe: EncoderRecipe
) -> tuple[list[Row], dict[torch.device, float]]:
    """Seconds of the last epoch of each stage, a row a stage; and the last loss of each device."""
    module = training_module(recipe.encoder)
    samples = module.collect(corpus, MotifConfig())
    taken: dict[torch.device, dict[str, float]] = {}
    losses: dict[torch.device, float] = {}
    for device in (CPU, GPU):
        told: list[tuple[float, EpochReport]] = []
        module.pretrain(
            samples,
            recipe,
            worker=Worker(device=device),
            start=None,
            after_epoch=lambda epoch, _, told=told: told.append((time.perf_counter(), epoch)),
        )
        losses[device] = told[-1][1].loss
        taken[device] = {
            epoch.stage: now - before
            for (before, _), (now, epoch) in pairwise(told)
            if epoch.epoch > 1
        }
    rows = [
        compared(f"{recipe.encoder}, an epoch of {stage}", len(corpus), cpu, taken[GPU][stage])
        for stage, cpu in taken[CPU].items()
    ]
    return rows, losses


def compared(name: str, items: int, cpu_s: float, gpu_s: float) -> Row:
    return {
        "what": name,
        "items": f"{items:,}",
        "CPU s": f"{cpu_s:.2f}",
        "GPU s": f"{gpu_s:.2f}",
        "items/s on the GPU": f"{items / gpu_s:,.0f}",
        "times faster": f"{cpu_s / gpu_s:.2f}",
    }


def embedded(
    name: str, make: Callable[[], Encoder], graphs: list[ComputationalGraph]
) -> tuple[list[Row], float]:
    """An encoder that knows no motif on each; and how far two vectors differ at most."""
    seconds: dict[torch.device, dict[str, float]] = {}
    vectors = {}
    for device in (CPU, GPU):
        embedder, stages = Embedder(make(), device=device), Counter[str]()
        started = time.perf_counter()
        vectors[device] = embedder.embed(
            graphs, observe=lambda stage, took, stages=stages: stages.update({stage: took})
        )
        seconds[device] = {**stages, "all": time.perf_counter() - started}
    rows = [
        compared(f"{name}: {stage}", len(graphs), seconds[CPU][stage], seconds[GPU][stage])
        for stage in ("all", "motifs", "encode")
    ]
    return rows, float(np.abs(vectors[CPU] - vectors[GPU]).max())


def untrained_paper() -> Encoder:
    torch.manual_seed(0)
    return paper_encoder(PaperConfig.of(MotifConfig(), PaperRecipe()))


def main() -> None:
    corpus = read_corpus(shipped_corpus())[::EVERY]
    graphs = [item.graph for item in corpus]
    cells = [canonical(darts_graph(member.genotype)) for member in sample_classes(5_000)]
    rows, notes = [], []
    for recipe in SHORT:
        part = corpus if recipe.encoder == "default" else corpus[::PAPER_EVERY]
        found, losses = epochs_of(part, recipe)
        rows += found
        notes.append(f"{recipe.encoder}: last loss {losses[CPU]:.6f} CPU, {losses[GPU]:.6f} GPU")
    torch.zeros(1, device=GPU)
    for name, make, items in (
        ("default, corpus", lambda: load_checkpoint(shipped_atlas().encoder), graphs),
        ("default, DARTS", lambda: load_checkpoint(shipped_atlas().encoder), cells),
        ("paper, corpus", untrained_paper, graphs[::PAPER_EVERY]),
        ("paper, DARTS", untrained_paper, cells),
    ):
        parts, difference = embedded(name, make, items)
        rows += parts
        notes.append(f"{name}: vectors differ by at most {difference:.2e}")
    report(f"{torch.cuda.get_device_name()} beside {torch.get_num_threads()} CPU threads", rows)
    for note in notes:
        sys.stdout.write(f"{note}\n")


if __name__ == "__main__":
    main()
