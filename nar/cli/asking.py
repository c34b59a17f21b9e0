"""What `nar search` asks, and who may answer: the atlas, the index of a workspace, or a server.

Each has libraries of its own, which take longer to import than the answer takes: only those of
the one that is asked are imported.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nar.answers.atlas import atlas_novelty, read_atlas, shipped_atlas
from nar.answers.conditions import MemoryValues, PagedValues, Values, check_values
from nar.answers.novelty import Novelty, read_novelty
from nar.answers.query import Answer, Query
from nar.answers.retrieve import Retriever
from nar.base.console import stderr
from nar.base.errors import CorpusError
from nar.choices import IndexChoice
from nar.corpus import Corpus, shipped_corpus
from nar.encoding.stored import StoredEmbedder
from nar.graphs.architecture import Architecture
from nar.index.exact import ExactIndex
from nar.index.filters import Filter
from nar.index.rows import IndexEntry

if TYPE_CHECKING:
    from nar.client.client import Client
    from nar.config import NarConfig
    from nar.index.architecture_index import ArchitectureIndex


def ask(queries: Sequence[Query], choice: IndexChoice, server: str | None) -> list[Answer]:
    """Answers to several queries, in their order.

    Args:
        queries: Their targets are graphs, architectures, names or vectors.
        choice: The index to ask where no server is named.
        server: HOST:PORT of the server to ask; None for the atlas or the workspace.
    """
    if server is not None:
        return _ask_server(queries, choice.config(), server)
    if not choice.has_own_rows:
        return _ask_atlas(queries)
    return _ask_index(queries, choice)


def _ask_atlas(queries: Sequence[Query]) -> list[Answer]:
    content = read_atlas(shipped_atlas())
    rows = content.index.count()
    stderr.print(f"asking the atlas of NAR, {rows:,} architectures", style="dim")
    _check(queries, MemoryValues(content.index))
    retriever = Retriever(content.embedder, content.index, content.novelty)
    return retriever.answers([_with_vector(query, content.index) for query in queries])


def _with_vector(query: Query, index: ExactIndex) -> Query:
    """The same question with the vector that the index holds, if it holds this very network.

    Then nothing is embedded, and torch is not imported.
    """
    if not isinstance(query.target, Architecture):
        return query
    name = query.target.labels.name
    row = index.get([name]).get(name)
    return replace(query, target=row) if row and row.exact == query.target.exact else query


def _ask_index(queries: Sequence[Query], choice: IndexChoice) -> list[Answer]:
    from nar.index.architecture_index import ArchitectureIndex
    from nar.index.following import checked_index

    if choice.said:
        stderr.print(choice.said, style="yellow")
    config = choice.existing()
    embedder, novelty = _encoder(choice)
    with ArchitectureIndex(config, encoder=embedder.fingerprint) as index:
        rows = index.count()
        stderr.print(f"asking the index at {config.uri}, {rows:,} architectures", style="dim")
        reads = checked_index(index, config)
        _check(queries, MemoryValues(reads) if isinstance(reads, ExactIndex) else of_pages(reads))
        retriever = Retriever(embedder, reads, novelty)
        return retriever.answers(queries)


def _encoder(choice: IndexChoice) -> tuple[StoredEmbedder, Novelty | None]:
    """What made the vectors of an index, and how far these are from each other."""
    if choice.wants_atlas_encoder:
        atlas = shipped_atlas()
        return StoredEmbedder(atlas.encoder), atlas_novelty(atlas)
    embedder = StoredEmbedder(choice.workspace.checkpoint)
    return embedder, read_novelty(choice.workspace.novelty, encoder=embedder.fingerprint)


def _ask_server(queries: Sequence[Query], config: "NarConfig", address: str) -> list[Answer]:
    from nar.client.client import Client
    from nar.client.remote import ServiceError

    token = config.server.token.get_secret_value() if config.server.token else None
    try:
        with Client(address, token=token, config=config.client) as client:
            _check(queries, of_server(client))
            return [
                client.search(each.target, top_k=each.top_k, wanted=each.filter, by=each.by)
                for each in queries
            ]
    except ServiceError as error:
        if error.code != "UNAUTHENTICATED":
            raise
        raise error.with_way_out(_about_token(token)) from error


def _about_token(token: str | None) -> str:
    """Where the token of a refused call came from, or should have."""
    variable = os.environ.get("NAR_TOKEN")
    if token is None:
        return "NAR_TOKEN is set and empty" if variable == "" else "set NAR_TOKEN"
    return f"it is that of {'NAR_TOKEN' if token == variable else 'server.token in --config'}"


def _check(queries: Sequence[Query], index: Values) -> None:
    """See that the filters ask for what an index has, each filter once."""
    for wanted in dict.fromkeys(query.filter for query in queries):
        check_values(index, wanted)


def of_pages(index: "ArchitectureIndex") -> PagedValues:
    """The values of an index in Milvus."""
    return PagedValues(lambda wanted, limit: index.page("", limit, wanted), _shipped_values)


def of_server(client: "Client") -> PagedValues:
    """The values of the index behind a server."""

    def page(wanted: Filter, limit: int) -> Iterable[IndexEntry]:
        most = client.describe().limits.max_page_size
        return client.list(wanted=wanted, page_size=min(limit, most))

    return PagedValues(page, _shipped_values)


def _shipped_values(column: str) -> Iterable[str]:
    """The values of a column of the corpus of the package, if it came with one."""
    try:
        values = Corpus(shipped_corpus()).columns([column]).column(column).to_pylist()
    except CorpusError:
        return []
    return dict.fromkeys(values)
