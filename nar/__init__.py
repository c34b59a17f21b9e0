"""NAR, the search engine for neural architectures: the pipeline in a few names.

    print(nar.search("timm:resnet50"))             # relatives in the atlas that ships with NAR

    graph = nar.capture_architecture("timm:resnet50").architecture.graph   # nodes, edges
    cut = nar.partition(graph)                    # every node in one motif
    embedder = nar.Embedder(nar.load_checkpoint(Path("work/demo/checkpoint")))
    vectors = embedder.embed([graph])             # (1, dim) float32, rows of length 1
    with nar.ArchitectureIndex(nar.IndexConfig(uri="work/demo/index.db")) as index:
        answer = nar.Retriever(embedder, index).search(graph, top_k=10)
    print(nar.family_verdict(answer.hits).family)      # what the hits agree on

Names are imported when they are first used: `import nar` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nar.answers.part_of import wholes_of
    from nar.answers.retrieve import Retriever
    from nar.answers.verdict import family_verdict
    from nar.ask import describe, diff, motifs_of, novelty_of, search
    from nar.base.asking import Asking
    from nar.base.errors import NarError
    from nar.capture import CaptureInputs, capture_module
    from nar.capture.exported import capture_exported
    from nar.capture.onnx.file import capture_onnx
    from nar.client.async_client import AsyncClient
    from nar.client.client import Client
    from nar.corpus import read_corpus, read_named
    from nar.encoding.embed import Embedder, load_checkpoint
    from nar.graphs.graph import ComputationalGraph
    from nar.index.architecture_index import ArchitectureIndex
    from nar.index.filters import Filter
    from nar.index.settings import IndexConfig
    from nar.motifs.partition import macro_graph, partition
    from nar.own import capture_architecture
    from nar.watch import watch
    from nar.wire.settings import ClientConfig

_HOME = {
    "search": "nar.ask",
    "describe": "nar.ask",
    "motifs_of": "nar.ask",
    "diff": "nar.ask",
    "novelty_of": "nar.ask",
    "watch": "nar.watch",
    "ComputationalGraph": "nar.graphs.graph",
    "CaptureInputs": "nar.capture",
    "capture_module": "nar.capture",
    "capture_exported": "nar.capture.exported",
    "capture_onnx": "nar.capture.onnx.file",
    "capture_architecture": "nar.own",
    "read_corpus": "nar.corpus",
    "read_named": "nar.corpus",
    "partition": "nar.motifs.partition",
    "macro_graph": "nar.motifs.partition",
    "load_checkpoint": "nar.encoding.embed",
    "Embedder": "nar.encoding.embed",
    "ClientConfig": "nar.wire.settings",
    "IndexConfig": "nar.index.settings",
    "ArchitectureIndex": "nar.index.architecture_index",
    "Filter": "nar.index.filters",
    "Retriever": "nar.answers.retrieve",
    "wholes_of": "nar.answers.part_of",
    "family_verdict": "nar.answers.verdict",
    "Client": "nar.client.client",
    "AsyncClient": "nar.client.async_client",
    "Asking": "nar.base.asking",
    "NarError": "nar.base.errors",
}

__all__ = [
    "ArchitectureIndex",
    "Asking",
    "AsyncClient",
    "CaptureInputs",
    "Client",
    "ClientConfig",
    "ComputationalGraph",
    "Embedder",
    "Filter",
    "IndexConfig",
    "NarError",
    "Retriever",
    "capture_architecture",
    "capture_exported",
    "capture_module",
    "capture_onnx",
    "describe",
    "diff",
    "family_verdict",
    "load_checkpoint",
    "macro_graph",
    "motifs_of",
    "novelty_of",
    "partition",
    "read_corpus",
    "read_named",
    "search",
    "watch",
    "wholes_of",
]


def __getattr__(name: str) -> object:
    """Import a public name from its module."""
    if name not in _HOME:
        raise AttributeError(f"module 'nar' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        from nar.base.extras import missing_in

        missing = missing_in(error)
        if missing is None:
            raise
        raise missing from error


def __dir__() -> list[str]:
    """The public names."""
    return __all__
