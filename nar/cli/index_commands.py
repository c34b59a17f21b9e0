"""What the commands of `nar index` do: make the index of a workspace here, or show it."""

from collections.abc import Iterator
from pathlib import Path

from nar.architecture import Architecture
from nar.cli import display
from nar.cli.choices import IndexChoice
from nar.console import progress, show
from nar.corpus import iterate_shards
from nar.corpus.manifest import Manifest
from nar.encoding.checkpoint import load_checkpoint
from nar.encoding.embed import Embedder
from nar.index.architecture_index import ArchitectureIndex
from nar.index.rows import Embedding, index_row
from nar.novelty import keep_novelty


def build(choice: IndexChoice, *, as_json: bool) -> None:
    """Embed the corpus of a workspace and publish it as the index."""
    config, workspace = choice.config().index, choice.workspace
    embedder = Embedder(load_checkpoint(workspace.checkpoint))
    with (
        ArchitectureIndex(config) as index,
        index.build(embedder.fingerprint, embedder.dim) as bulk,
    ):
        pairs = embedded(workspace.corpus, embedder)
        bulk.load(index_row(item, vector) for item, vector in pairs)
        rows = bulk.publish()
        keep_novelty(index, workspace.novelty, encoder=embedder.fingerprint)
    result = {"rows": rows, "uri": config.uri, "encoder": embedder.fingerprint}
    show(result, lambda: display.properties("Index", result), as_json=as_json)


def embedded(corpus: Path, embedder: Embedder) -> Iterator[tuple[Architecture, Embedding]]:
    """Every architecture of a corpus with its vector of shape (dim,); shows how far it is.

    Raises:
        CorpusError: Names what is missing or damaged.
    """
    total = sum(entry.rows for entry in Manifest.read(corpus).shards)
    with progress("embedding", total) as advance:
        for _, items in iterate_shards(corpus):
            yield from zip(items, embedder.embed([item.graph for item in items]), strict=True)
            advance(len(items))


def info(choice: IndexChoice, *, as_json: bool) -> None:
    """Show what the index holds."""
    config = choice.config().index
    with ArchitectureIndex(config) as index:
        result = {"rows": index.count(), "encoder": index.encoder, "uri": config.uri}
    show(result, lambda: display.properties("Index", result), as_json=as_json)
