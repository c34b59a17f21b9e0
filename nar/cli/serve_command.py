"""What `nar serve` does: run the query server on the index of a workspace, or on the atlas."""

import logging
from collections.abc import Mapping
from pathlib import Path
from threading import Event

from nar.atlas import read_atlas, shipped_atlas
from nar.cli.atlas_store import atlas_config, open_atlas
from nar.cli.choices import CorpusChoice, IndexChoice
from nar.config import NarConfig
from nar.corpus import CorpusGraphs
from nar.encoding.checkpoint import fingerprint, load_checkpoint
from nar.encoding.embed import Embedder
from nar.errors import ConfigError, CorpusError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.mirror import Mirror
from nar.index.reader import Reader
from nar.novelty import read_novelty
from nar.serve.logs import log_to_stderr
from nar.serve.run import OnReady, serve_index
from nar.serve.run import serve as run_server

log = logging.getLogger(__name__)


def serve(
    choice: IndexChoice, given: Mapping[str, str | int | None], corpus: Path | None = None
) -> None:
    """Run the query server; what the command line gives stands above the configuration file.

    Args:
        choice: The index that it serves.
        given: Fields of a `ServerConfig`; None leaves what the file says.
        corpus: Directory of the corpus whose graphs explain; None for that of the index.

    Raises:
        CorpusError: There is no corpus in that directory.
    """
    config = choice.config()
    changed = {name: value for name, value in given.items() if value is not None}
    config = config.model_copy(update={"server": config.server.model_copy(update=changed)})
    log_to_stderr(config.server)
    if choice.wants_atlas:
        serve_atlas(config, is_named=choice.names_index, corpus=corpus)
        return
    encoder = fingerprint(load_checkpoint(choice.workspace.checkpoint))
    novelty = read_novelty(choice.workspace.novelty, encoder=encoder)
    graphs = _graphs(CorpusChoice(choice.work, corpus))
    run_server(config, choice.workspace.checkpoint, novelty=novelty, graphs=graphs)


def _graphs(corpus: CorpusChoice) -> CorpusGraphs | None:
    """The graphs that explain; a workspace may be without, as an index is served without them."""
    try:
        return CorpusGraphs(corpus.directory())
    except CorpusError as error:
        if corpus.corpus is not None:
            raise
        log.info("Explain has no graphs: %s", error)
        return None


def serve_atlas(
    config: NarConfig,
    on_ready: OnReady | None = None,
    *,
    is_named: bool,
    corpus: Path | None = None,
) -> None:
    """Answer from the files of the atlas at once; its collection is made or opened beside.

    A collection in the cache takes no writes: it is made anew, in another directory, as soon as
    NAR comes with another atlas. Who wants models of their own beside the atlas names an index, in
    which the atlas is stored once; it is theirs from then on.

    Args:
        config: How to serve, and where its collection is.
        on_ready: Called once the ports are open.
        is_named: Whether somebody chose the URI of that configuration; else it is in the cache.
        corpus: Directory of the corpus whose graphs explain; None for that of the atlas.

    Raises:
        ConfigError: What is written would be lost with the cache.
    """
    if config.server.writable and not is_named:
        raise ConfigError(
            "what is written into the cache of the atlas is lost with the next atlas; name an "
            "index of your own with --uri, a path ending in .db or a Milvus server, or a workspace "
            "with --work"
        )
    atlas = shipped_atlas()
    content = read_atlas(atlas)
    embedder, novelty = Embedder(content.encoder), content.novelty
    files = Mirror.of(content.rows, dim=embedder.dim)
    del content  # its rows are in the mirror

    def open_index(ending: Event) -> ArchitectureIndex:
        return open_atlas(atlas, atlas_config(atlas, config.index, is_named=is_named), ending)

    index = Reader(open_index, config.index, files)
    graphs = CorpusGraphs(corpus or atlas.corpus)
    serve_index(config.server, embedder, index, on_ready, novelty=novelty, graphs=graphs)
