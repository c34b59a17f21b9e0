"""A training of several processes, each a rank of torch.distributed, without Ray."""

from pathlib import Path

import torch
from encoding import DEFAULT_RECIPE, RECIPE, three_families, three_family_samples
from encoding import three_family_targets as targets
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from nar.encoding.default.pretraining import pretrain_default
from nar.encoding.default.samples import collect_feature_samples
from nar.encoding.embed import Embedder
from nar.encoding.paper.pretraining import pretrain_paper
from nar.encoding.registry import Encoder
from nar.encoding.training import LONE, BatchShare, Worker
from nar.motifs.config import MotifConfig


def trained_default(worker: Worker = LONE) -> Encoder:
    """The default encoder of three families."""
    samples = collect_feature_samples(three_families(), targets(), MotifConfig())
    return pretrain_default(samples, DEFAULT_RECIPE, worker=worker)


def trained_paper(worker: Worker = LONE) -> Encoder:
    """The paper's encoder of three families, without dropout, which each rank draws for itself."""
    graph = RECIPE.graph.model_copy(update={"dropout": 0.0})
    motif = RECIPE.motif.model_copy(update={"dropout": 0.0})
    recipe = RECIPE.model_copy(update={"motif": motif, "graph": graph})
    return pretrain_paper(three_family_samples(), recipe, worker=worker)


TRAINED = {"default": trained_default, "paper": trained_paper}


def train_rank(rank: int, world: int, directory: str) -> None:
    """Train each kind as one rank; rank 0 writes the vectors of the three families."""
    torch.set_num_threads(1)
    meeting = f"file://{directory}/meeting"
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world)
    worker = Worker(BatchShare(rank, world), wrap=DistributedDataParallel)
    for kind, trained in TRAINED.items():
        encoder = trained(worker)
        if rank == 0:
            vectors = torch.from_numpy(Embedder(encoder).embed(three_families()))
            torch.save(vectors, Path(directory) / f"{kind}.pt")
    distributed.destroy_process_group()
