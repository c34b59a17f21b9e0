"""What `nar serve` and `nar web` do: run the server of a workspace, or of the atlas."""

import logging
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from nar.answers.atlas import Atlas, atlas_encoder, read_atlas, shipped_atlas
from nar.answers.novelty import read_novelty
from nar.base.console import stderr, stdout
from nar.base.errors import ConfigError, CorpusError
from nar.base.process import give_back, share_memory
from nar.choices import CorpusChoice, IndexChoice
from nar.config import NarConfig
from nar.corpus import CorpusGraphs, Location, located
from nar.encoding.stored import StoredEmbedder
from nar.index import IndexKind
from nar.index.reader import Reader
from nar.serve.logs import log_to_stderr
from nar.serve.run import OnReady, PageOf, serve_index
from nar.serve.run import serve as run_server
from nar.serve.server import QueryServer

if TYPE_CHECKING:
    from nar.index.architecture_index import ArchitectureIndex

log = logging.getLogger(__name__)


def serve(
    choice: IndexChoice,
    given: Mapping[str, str | int | None],
    corpus: str | Path | None = None,
    kind: IndexKind | None = None,
) -> None:
    """Run the query server; what the command line gives stands above the configuration file.

    Args:
        choice: The index that it serves.
        given: Fields of a `ServerConfig`; None leaves what the file says.
        corpus: Where the corpus lies whose graphs explain; None for that of the index.
        kind: Index kind of the atlas's collection; with HNSW, Milvus searches and not the reader.

    Raises:
        CorpusError: There is no corpus in that directory.
    """
    config = choice.config()
    if kind:
        index = {"kind": kind, **({} if kind == "FLAT" else {"reader_rows": 0})}
        config = config.model_copy(update={"index": config.index.model_copy(update=index)})
    changed = {name: value for name, value in given.items() if value is not None}
    config = config.model_copy(update={"server": config.server.model_copy(update=changed)})
    log_to_stderr(config.server)
    share_memory()
    if choice.notice:
        log.warning("%s", choice.notice)
    if choice.wants_atlas_encoder:
        serve_atlas(config, is_named=choice.has_own_rows, corpus=corpus)
    else:
        _serve_workspace(config, choice, corpus)


def show(choice: IndexChoice, port: int, directory: Path | None = None) -> None:
    """Show the page on this machine until ctrl-c; its other ports are taken by chance.

    The atlas itself is shown as its files have it, and stored nowhere.

    Args:
        choice: The index that is shown; the map is that of the atlas.
        port: Of the page; 0 takes a free one.
        directory: Of another atlas of the shipped corpus.
    """
    config = choice.config()
    ports = {"web_port": port, "port": 0, "metrics_port": 0}
    config = config.model_copy(update={"server": config.server.model_copy(update=ports)})
    if choice.notice:
        stderr.print(choice.notice, style="yellow")
    if not choice.wants_atlas_encoder:
        _serve_workspace(config, choice, None, _say_where)
        return
    atlas = shipped_atlas()
    atlas = Atlas(directory, atlas.corpus) if directory else atlas
    is_own = choice.has_own_rows
    serve_atlas(config, _say_where, is_named=is_own, atlas=atlas, files_alone=not is_own)


def _say_where(server: QueryServer) -> None:
    stdout.print(f"http://127.0.0.1:{server.web_port}/", soft_wrap=True)


def _serve_workspace(
    config: NarConfig,
    choice: IndexChoice,
    corpus: str | Path | None,
    on_ready: OnReady | None = None,
) -> None:
    encoder = StoredEmbedder(choice.workspace.checkpoint).fingerprint
    novelty = read_novelty(choice.workspace.novelty, encoder=encoder)
    graphs = _graphs(CorpusChoice(choice.work, corpus), encoder)
    page = _page(config, graphs)
    run_server(
        config, choice.workspace.checkpoint, on_ready, novelty=novelty, graphs=graphs, page=page
    )


def _page(
    config: NarConfig,
    graphs: CorpusGraphs | None,
    atlas: Atlas | None = None,
    names: tuple[str, ...] = (),
) -> PageOf | None:
    """A function that makes the page, or None where no page is wanted.

    Args:
        config: Has a port for the page, if it is wanted.
        graphs: Graphs of the architectures.
        atlas: Has the map, if there is one.
        names: Names of the rows of the atlas.
    """
    if config.server.web_port is None:
        return None
    # Its libraries take 0.2 s to import, and a server without the page does not need them.
    from nar.web.pages import AtlasExtras, atlas_extras, page_of

    return page_of(config.server, graphs, atlas_extras(atlas, names) if atlas else AtlasExtras())


def _graphs(corpus: CorpusChoice, encoder: str) -> CorpusGraphs | None:
    """The graphs for explanations; None where the workspace has no corpus, and none is named.

    Rows of the atlas may stand beside one's own where the encoder is its encoder.
    """
    try:
        return CorpusGraphs(corpus.directory(), beside=_atlas_corpus(encoder))
    except CorpusError as error:
        if corpus.corpus is not None:
            raise
        log.info("Explain has no graphs: %s", error)
        return None


def _atlas_corpus(encoder: str) -> Location | None:
    try:
        atlas = shipped_atlas()
        return atlas.corpus if atlas_encoder(atlas) == encoder else None
    except CorpusError:  # this installation came without an atlas
        return None


def serve_atlas(
    config: NarConfig,
    on_ready: OnReady | None = None,
    *,
    is_named: bool,
    corpus: str | Path | None = None,
    atlas: Atlas | None = None,
    files_alone: bool = False,
) -> None:
    """Answer from the files of the atlas at once; its collection is made or opened beside.

    A collection in the cache takes no writes: it is made again, in another directory, as soon as
    NAR comes with another atlas. Users who want models of their own beside the atlas name an index.
    The atlas is stored in it once; from then on its rows may be others, so that it is opened before
    anything is answered.

    Args:
        config: How to serve, and where the collection is.
        on_ready: Called once the ports are open.
        is_named: Whether the user chose the URI in the configuration; else it is in the cache.
        corpus: Where the corpus lies whose graphs explain; None for that of the atlas.
        atlas: The atlas; None for the shipped one.
        files_alone: Whether only its files ever answer, and no collection is made.

    Raises:
        ConfigError: Writes are allowed, but would be lost with the cache.
        IndexUnavailableError: The index that the user chose cannot be reached.
        IndexMismatchError: That index holds the vectors of another encoder.
    """
    if config.server.writable and not is_named:
        raise ConfigError(
            "what is written into the cache of the atlas is lost with the next atlas; name an "
            "index of your own with --uri, a path ending in .db or a Milvus server, or a workspace "
            "with --work"
        )
    chosen = atlas or shipped_atlas()
    own = None if files_alone or not is_named else _own_index(chosen, config)
    content = read_atlas(chosen)
    embedder, novelty = content.embedder, content.novelty
    files = None if own else content.index
    graphs = CorpusGraphs(located(str(corpus)) if corpus else chosen.corpus)
    page = _page(config, graphs, chosen, tuple(content.index.values("name")))
    del content  # its rows are in the files' index, if anywhere
    give_back()

    def open_index(ending: Event) -> "ArchitectureIndex":
        if own:
            return own
        # It imports pymilvus, which takes half of a start; the files answer meanwhile.
        from nar.answers.atlas_store import open_kept

        return open_kept(chosen, config.index, ending, is_named=is_named)

    index = Reader(None if files_alone else open_index, config.index, files)
    serve_index(config.server, embedder, index, on_ready, novelty=novelty, graphs=graphs, page=page)


def _own_index(atlas: Atlas, config: NarConfig) -> "ArchitectureIndex | None":
    """The index that the user chose; None where it is not made yet, or lacks the atlas."""
    if config.index.is_missing:
        log.warning("there is no index at %s: it is made, with the atlas in it", config.index.uri)
        return None
    from nar.answers.atlas_store import opened_if_stored

    return opened_if_stored(atlas, config.index.apart)
