"""What `nar search` does: it looks a model up or captures it, asks an index, shows the answer.

The atlas, the index of a workspace and a server have libraries of their own, which take longer to
import than the answer takes: only the libraries of the index that is asked are imported.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from rich.console import RenderableType

from nar.answers.answer import EXPLAINED, Graphs, explained_names, explanation_of
from nar.answers.atlas import atlas_novelty, read_atlas, shipped_atlas
from nar.answers.bodies import Dissected
from nar.answers.conditions import MemoryValues, PagedValues, Values, check_values
from nar.answers.difference import Cut
from nar.answers.naming import Asked, captured, known_or_captured
from nar.answers.novelty import Novelty, read_novelty
from nar.answers.query import Answer, Counted, Part, Query
from nar.answers.retrieve import Retriever
from nar.base.asking import Asking
from nar.base.console import show, stderr, stdout
from nar.base.errors import CorpusError, NarError, UnknownArchitectureError
from nar.base.files import write_text
from nar.choices import CorpusChoice, IndexChoice
from nar.cli.options import Multiples, resolved
from nar.corpus import Corpus, Location, shipped_corpus
from nar.encoding.stored import StoredEmbedder
from nar.graphs.architecture import Architecture
from nar.graphs.by import By
from nar.index.exact import ExactIndex
from nar.index.filters import EVERYTHING, Filter
from nar.index.rows import IndexEntry
from nar.views.answer import NetworkRow, answer_report, answer_view, one_row_a_network

if TYPE_CHECKING:
    from nar.answers.supported import Closest, SupportedList
    from nar.client.client import Client
    from nar.config import NarConfig
    from nar.index.architecture_index import ArchitectureIndex

# Parts that a person reads of every model, and further parts of a model that is not known.
_READ: Final = frozenset[Part]({"family", "trunk", "part_of", "changes"})
_WEAKER: Final = frozenset[Part]({"resemblance", "bodies", "coverage"})
_REASONS: Final = frozenset[Part]({"shared"})
# A program reads it of every model; a person has `nar describe`.
_CARD: Final = frozenset[Part]({"card"})
_NONE: Final = frozenset[Part]()
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Finding:
    """Where relatives are looked for, and which.

    Attributes:
        choice: The index to ask where no server is named.
        server: HOST:PORT of the server to ask; None for the atlas or the workspace.
        top_k: Number of relatives; copies of one network are one.
        wanted: Conditions of relatives.
        relative: Bounds that are multiples of what a model has.
        by: What relatives should share with a model.
        copies: Whether every copy counts as a relative of its own.
        listed: What an engine supports, where only that is wanted.
    """

    choice: IndexChoice
    server: str | None
    top_k: int
    wanted: Filter
    relative: Multiples
    by: By
    copies: bool = False
    listed: "SupportedList | None" = None

    def query(self, asked: Asked, *, is_whole: bool, explain: bool = False) -> Query:
        """The question for the relatives of a model.

        Args:
            asked: The model.
            is_whole: Whether parts are made that a person reads of a new model alone.
            explain: Whether to name the motifs that the first hits share with it.
        """
        item = asked.architecture
        wanted = self.wanted
        if self.relative:
            wanted = resolved(wanted, self.relative, item.graph)
        parts = _READ | (_WEAKER | _CARD if is_whole else _NONE) | (_REASONS if explain else _NONE)
        counted: Counted = "hits" if self.copies else "networks"
        return Query(
            item,
            self.top_k,
            wanted,
            self.by,
            parts,
            _WEAKER,
            asked.assumed,
            counted,
            asked.unread,
        )

    def rows(self, name: str, answer: Answer) -> list[NetworkRow]:
        """The relatives of an answer.

        Args:
            name: Name of the model.
            answer: The answer.
        """
        if self.copies:
            return [NetworkRow(hit) for hit in answer.hits]
        return one_row_a_network(answer.hits, self.top_k, name)


def search(
    name: str,
    finding: Finding,
    asking: Asking,
    *,
    explain: bool,
    fresh: bool,
    html: Path | None,
    as_json: bool,
) -> None:
    """Search with a model, and show its relatives.

    Args:
        name: Name in the corpus, or spec of a model to capture.
        finding: Where relatives are looked for, and which.
        asking: What the user states of a model of their own.
        explain: Whether to name the motifs that the first hits share with the model.
        fresh: Whether to capture what the corpus has, too.
        html: File that gets the same as a page.
        as_json: Whether a program reads the answer.
    """
    corpus = CorpusChoice(finding.choice.work).directory_if_any()
    try:
        asked = known_or_captured(corpus, name, fresh=fresh, asking=asking)
    except UnknownArchitectureError as error:
        # An index that the user names may have a row of that name, whose vector is asked with.
        if finding.server is None and not finding.choice.has_own_rows:
            raise
        _search_row(name, finding, error, HitGraphs(corpus), html=html, as_json=as_json)
        return
    show_relatives(asked, finding, explain=explain, html=html, as_json=as_json)


def _search_row(
    name: str,
    finding: Finding,
    unknown: UnknownArchitectureError,
    graphs: "HitGraphs",
    *,
    html: Path | None,
    as_json: bool,
) -> None:
    """Search with a row of the index that is asked; there is no graph of it."""
    if finding.relative:
        raise unknown
    counted: Counted = "hits" if finding.copies else "networks"
    query = Query(name, finding.top_k, finding.wanted, finding.by, counted=counted)
    try:
        [answer] = ask([query], finding.choice, finding.server, graphs)
    except UnknownArchitectureError as error:
        raise UnknownArchitectureError(f"{error}; {unknown}") from None
    _show(
        answer,
        finding.rows(name, answer),
        name,
        _closest(finding, name, answer, graphs),
        html,
        as_json=as_json,
    )


def show_relatives(
    asked: Asked, finding: Finding, *, explain: bool, html: Path | None, as_json: bool
) -> None:
    """Show the relatives of a model; arguments as for `search`."""
    corpus = CorpusChoice(finding.choice.work).directory_if_any()
    item, name = asked.architecture, asked.architecture.labels.name
    query = finding.query(asked, is_whole=as_json or explain, explain=explain)
    graphs = HitGraphs(corpus)
    [answer] = ask([query], finding.choice, finding.server, graphs)
    closest = _closest(finding, item if query.has_verdict else name, answer, graphs)
    rows = finding.rows(name, answer)
    if len(rows) < finding.top_k <= len(answer.hits):
        copies = f"{len(answer.hits)} hits are {len(rows)} networks"
        stderr.print(f"{copies}: --all gives every copy a row of its own", style="yellow")
    if explain:
        answer = _explained(item, answer, min(finding.top_k, EXPLAINED))
    _show(answer, rows, name, closest, html, as_json=as_json)


def _closest(
    finding: Finding, asked: Architecture | str, answer: Answer, graphs: "HitGraphs"
) -> "Closest | None":
    """What of the list of an engine is closest, where only that is wanted."""
    if finding.listed is None:
        return None
    # Imported here: few questions are about an engine.
    from nar.answers.supported import closest

    return closest(finding.listed, asked, answer, graphs)


def _show(
    answer: Answer,
    rows: Sequence[NetworkRow],
    name: str,
    closest: "Closest | None",
    html: Path | None,
    *,
    as_json: bool,
) -> None:
    """Show an answer; arguments as for `answer_view` and `show_and_keep`."""
    report = answer_report(name, answer, rows, closest) if as_json else {}
    view = partial(answer_view, name, answer, rows, closest)
    show_and_keep(report, view, name, html, as_json=as_json)
    if closest and not as_json:
        # What is copied has no line breaks of a terminal.
        stdout.print(f"\nFor an issue:\n\n{closest.issue}", soft_wrap=True, markup=False)


def show_and_keep(
    report: Mapping[str, object],
    view: Callable[[], RenderableType],
    title: str,
    html: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print an answer, and write it as a page that needs nothing beside it.

    Args:
        report: The answer for a program.
        view: Makes the answer for a person.
        title: Title of the page.
        html: File of the page; None for none.
        as_json: Whether a program reads the answer.
    """
    if html is not None:
        # A terminal does not need it.
        from nar.views.html import document, html_of

        write_text(html, document(title, html_of(view())))
        stderr.print(f"wrote {html}", style="dim")
    show(report, view, as_json=as_json)


def _explained(asked: Architecture, answer: Answer, networks: int) -> Answer:
    """The answer with explanations of the first networks; a hit without a graph is captured.

    Args:
        asked: The query.
        answer: The answer to it.
        networks: How many networks are explained.
    """
    own = asked.labels.name
    given = {each.name: each for each in answer.shared or ()}
    copies = {row.hit.name: row.copies for row in one_row_a_network(answer.hits, networks, own)}
    cut, dissected = Cut(asked), Dissected(asked)
    reasons = []
    for name in explained_names(answer, copies):
        # The answer may explain a network under another name than the table shows.
        reason = next(
            (given[each] for each in (name, *copies.get(name, ())) if each in given), None
        )
        try:
            reason = reason or explanation_of(cut, dissected, captured(name).architecture)
        except NarError as error:
            stderr.print(f"{name} is not explained: {error}", style="yellow")
            break
        reasons.append(replace(reason, name=name))
    return replace(answer, shared=tuple(reasons))


class HitGraphs:
    """The graphs of hits, as far as a corpus has them: nothing is captured for them.

    What the corpus lacks is looked for in the shipped corpus, whose rows may stand beside the
    user's own. Where a corpus cannot be read, hits are not compared, and one message says so.

    Args:
        corpus: The corpus with the graphs; None for no graphs.
    """

    def __init__(self, corpus: Location | None) -> None:
        self._corpora = [] if corpus is None else [Corpus(corpus)]
        # An installation may come without a corpus.
        with suppress(CorpusError):
            shipped = Corpus(shipped_corpus())
            if self._corpora and shipped not in self._corpora:
                self._corpora.append(shipped)

    def graphs(self, names: Sequence[str], sources: Collection[str]) -> Mapping[str, Architecture]:
        """Architectures by name; names that no corpus has are left out."""
        return self._read(Corpus.graphs, names, sources)

    def backbones(self, names: Sequence[str], sources: Collection[str]) -> Mapping[str, str]:
        """Families of the encoders that composed models stand on, by name."""
        return self._read(Corpus.backbones, names, sources)

    def _read(
        self,
        read: Callable[[Corpus, Sequence[str], Collection[str]], Mapping[str, Item]],
        names: Sequence[str],
        sources: Collection[str],
    ) -> Mapping[str, Item]:
        found: dict[str, Item] = {}
        for corpus in list(self._corpora):
            absent = [name for name in names if name not in found]
            try:
                found |= read(corpus, absent, sources) if absent else {}
            except CorpusError as error:
                self._corpora.remove(corpus)
                stderr.print(f"the hits were not compared node by node: {error}", style="yellow")
        return found


def ask(
    queries: Sequence[Query], choice: IndexChoice, server: str | None, graphs: Graphs | None = None
) -> list[Answer]:
    """Answers to several queries, in their order.

    Args:
        queries: Their targets are graphs, architectures, names or vectors.
        choice: The index to ask where no server is named.
        server: HOST:PORT of the server to ask; None for the atlas or the workspace.
        graphs: Has the graphs of hits; a server has its own.
    """
    if server is not None:
        return _ask_server(queries, choice.config(), server)
    if not choice.has_own_rows:
        return _ask_atlas(queries, graphs)
    return _ask_index(queries, choice, graphs)


def _ask_atlas(queries: Sequence[Query], graphs: Graphs | None) -> list[Answer]:
    content = read_atlas(shipped_atlas())
    rows = content.index.count()
    stderr.print(f"asking the atlas of NAR, {rows:,} architectures", style="dim")
    _check(queries, MemoryValues(content.index))
    retriever = Retriever(content.embedder, content.index, content.novelty, graphs)
    return retriever.answers([_with_vector(query, content.index) for query in queries])


def _with_vector(query: Query, index: ExactIndex) -> Query:
    """The same query with the vector from the index, if the index has this very network.

    Then nothing is embedded, and torch is not imported.
    """
    if not isinstance(query.target, Architecture):
        return query
    name = query.target.labels.name
    row = index.get([name]).get(name)
    return replace(query, target=row) if row and row.exact == query.target.exact else query


def _ask_index(
    queries: Sequence[Query], choice: IndexChoice, graphs: Graphs | None
) -> list[Answer]:
    from nar.index.architecture_index import ArchitectureIndex
    from nar.index.following import checked_index

    if choice.notice:
        stderr.print(choice.notice, style="yellow")
    config = choice.existing()
    embedder, novelty = _encoder(choice)
    with ArchitectureIndex(config, encoder=embedder.fingerprint) as index:
        rows = index.count()
        stderr.print(f"asking the index at {config.uri}, {rows:,} architectures", style="dim")
        reads = checked_index(index, config)
        _check(queries, MemoryValues(reads) if isinstance(reads, ExactIndex) else of_pages(reads))
        retriever = Retriever(embedder, reads, novelty, graphs)
        return retriever.answers(queries)


def _encoder(choice: IndexChoice) -> tuple[StoredEmbedder, Novelty | None]:
    """The encoder of an index, and the distances by which it measures novelty."""
    if choice.wants_atlas_encoder:
        atlas = shipped_atlas()
        return StoredEmbedder(atlas.encoder), atlas_novelty(atlas)
    embedder = StoredEmbedder(choice.workspace.checkpoint)
    return embedder, read_novelty(choice.workspace.novelty, encoder=embedder.fingerprint)


def _ask_server(queries: Sequence[Query], config: "NarConfig", address: str) -> list[Answer]:
    with opened_client(config, address) as client:
        _check(queries, of_server(client))
        return client.answers(queries)


@contextmanager
def opened_client(config: "NarConfig", address: str) -> Iterator["Client"]:
    """A client of a server, with the token that the user has.

    Raises:
        ServiceError: The server refuses the token; says where it came from.
    """
    from nar.client.client import Client
    from nar.client.remote import ServiceError

    token = config.server.token.get_secret_value() if config.server.token else None
    try:
        with Client(address, token=token, config=config.client) as client:
            yield client
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
    for wanted in {query.filter: None for query in queries if query.filter != EVERYTHING}:
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
