"""A real encoder and a real index, small enough to be made anew by every suite."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from graphs import graph_of

from nar.encoding.embed import Embedder
from nar.encoding.paper.encoder import PaperEncoder, paper_encoder
from nar.encoding.paper.recipe import PaperConfig
from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.index.architecture_index import ArchitectureIndex
from nar.index.rows import index_row
from nar.index.settings import IndexConfig

KNOWN = {
    "timm:plain": "input; conv 0; batch_norm 1; relu 2; conv 3; batch_norm 4; relu 5",
    "timm:residual": "input; conv 0; batch_norm 1; relu 2; conv 3; batch_norm 4; add 5 0; relu 6",
    "timm:mixer": "input; linear 0; gelu 1; linear 2; layer_norm 3; add 4 0",
    "transformers:attend": "input; linear 0; linear 0; linear 0; attention 1 2 3; add 4 0",
    "darts:cell": "input; sep_conv_3x3 0; skip_connect 0; add 1 2; max_pool_3x3 3; concat 3 4",
}


def tiny_encoder(seed: int = 0) -> PaperEncoder:
    """A real encoder, untrained and narrow."""
    torch.manual_seed(seed)
    return paper_encoder(PaperConfig(motif_dim=16, motif_layers=2, dim=16, layers=2))


def tiny_embedder(seed: int = 0) -> Embedder:
    """An embedder of the tiny encoder."""
    return Embedder(tiny_encoder(seed))


def known(name: str) -> ComputationalGraph:
    """The canonical graph of an indexed architecture."""
    return canonical(graph_of(KNOWN[name]))


@contextmanager
def tiny_index(directory: Path, embedder: Embedder) -> Iterator[ArchitectureIndex]:
    """A real index of the known architectures."""
    items = [
        architecture(
            Labels(name, name.split(":")[0], "lib 1", name.split(":")[1], "t"), known(name)
        )
        for name in KNOWN
    ]
    vectors = embedder.embed([item.graph for item in items])
    with ArchitectureIndex(IndexConfig(uri=str(directory / "index.db"))) as index:
        with index.build(embedder.fingerprint, embedder.dim) as build:
            build.upsert([index_row(*pair) for pair in zip(items, vectors, strict=True)])
            build.publish()
        yield index
