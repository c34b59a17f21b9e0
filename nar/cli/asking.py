"""Who may answer a query: the atlas, the index of a workspace, or a server.

Each has libraries of its own, which take longer to import than the answer takes: only those of
the one that is asked are imported.
"""

from nar.atlas import read_atlas, shipped_atlas
from nar.cli.choices import IndexChoice
from nar.config import ServerConfig
from nar.console import stderr
from nar.encoding.checkpoint import load_checkpoint
from nar.encoding.embed import Embedder
from nar.index.exact import ExactIndex
from nar.novelty import read_novelty
from nar.query import Answer, Query
from nar.retrieve import Retriever


def ask_atlas(query: Query) -> Answer:
    """Ask the atlas that came with the package."""
    content = read_atlas(shipped_atlas())
    rows = len(content.rows)
    stderr.print(f"asking the atlas of NAR, {rows:,} architectures", style="dim")
    embedder = Embedder(content.encoder)
    index = ExactIndex(content.rows, dim=embedder.dim)
    return Retriever(embedder, index, content.novelty).answer(query)


def ask_index(query: Query, choice: IndexChoice) -> Answer:
    """Ask the index of a workspace, in this process."""
    from nar.index.architecture_index import ArchitectureIndex

    embedder = Embedder(load_checkpoint(choice.workspace.checkpoint))
    with ArchitectureIndex(choice.config().index, encoder=embedder.fingerprint) as index:
        novelty = read_novelty(choice.workspace.novelty, encoder=embedder.fingerprint)
        return Retriever(embedder, index, novelty).answer(query)


def ask_server(query: Query, config: ServerConfig, address: str) -> Answer:
    """Ask a server.

    Args:
        query: Its target is a graph, an architecture, a name or a vector.
        config: Has the token that the server wants.
        address: HOST:PORT.
    """
    from nar.client import Client

    token = config.token.get_secret_value() if config.token else None
    with Client(address, token=token) as client:
        return client.search(query.target, top_k=query.top_k, wanted=query.filter, by=query.by)
