"""Who may answer a search: the atlas, the index of a workspace, or a server.

Each has libraries of its own to import, which takes longer than the answer: what is not asked is
not imported.
"""

from dataclasses import dataclass

from nar.atlas import read_atlas, shipped_atlas
from nar.cli.setting import Setting
from nar.config import ServerConfig
from nar.console import stderr
from nar.encoding.checkpoint import load_checkpoint
from nar.encoding.embed import Embedder
from nar.graph import ComputationalGraph
from nar.index.exact import ExactIndex
from nar.index.filters import Filter
from nar.novelty import read_novelty
from nar.query import Answer
from nar.retrieve import Retriever


@dataclass(frozen=True, slots=True)
class Question:
    """What a search asks.

    Attributes:
        graph: Of the model, canonical.
        top_k: Number of relatives.
        wanted: What they must be.
    """

    graph: ComputationalGraph
    top_k: int
    wanted: Filter


def ask_atlas(question: Question) -> Answer:
    """Ask the atlas that came with the package."""
    content = read_atlas(shipped_atlas())
    rows = len(content.rows)
    stderr.print(f"asking the atlas of NAR, {rows:,} architectures", style="dim")
    embedder = Embedder(content.encoder)
    retriever = Retriever(embedder, ExactIndex(content.rows, dim=embedder.dim), content.novelty)
    return retriever.search(question.graph, top_k=question.top_k, wanted=question.wanted)


def ask_index(question: Question, setting: Setting) -> Answer:
    """Ask the index of a workspace, in this process."""
    from nar.index.architecture_index import ArchitectureIndex

    embedder = Embedder(load_checkpoint(setting.place.checkpoint))
    with ArchitectureIndex(setting.config().index, encoder=embedder.fingerprint) as index:
        novelty = read_novelty(setting.place.novelty, encoder=embedder.fingerprint)
        retriever = Retriever(embedder, index, novelty)
        return retriever.search(question.graph, top_k=question.top_k, wanted=question.wanted)


def ask_server(question: Question, config: ServerConfig, target: str) -> Answer:
    """Ask a server at HOST:PORT."""
    from nar.client import Client

    token = config.token.get_secret_value() if config.token else None
    with Client(target, token=token) as client:
        return client.search(question.graph, top_k=question.top_k, wanted=question.wanted)
