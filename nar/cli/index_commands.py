"""What the commands of `nar index` do: make the index of a workspace here, or show it."""

from nar.cli import display
from nar.cli.setting import Setting, show
from nar.console import progress
from nar.corpus import read_corpus
from nar.encoding.checkpoint import load_checkpoint
from nar.encoding.embed import Embedder
from nar.index.architecture_index import ArchitectureIndex
from nar.index.rows import index_row
from nar.novelty import calibrate_index, write_novelty


def build(setting: Setting, *, as_json: bool) -> None:
    """Embed the corpus of a workspace and publish it as the index."""
    config = setting.config().index
    embedder = Embedder(load_checkpoint(setting.place.checkpoint))
    items = read_corpus(setting.place.corpus)
    with (
        ArchitectureIndex(config) as index,
        index.build(embedder.fingerprint, embedder.dim) as bulk,
        progress("embedding", len(items)) as advance,
    ):
        for start in range(0, len(items), config.batch_rows):
            batch = items[start : start + config.batch_rows]
            vectors = embedder.embed([item.graph for item in batch])
            bulk.upsert([index_row(*pair) for pair in zip(batch, vectors, strict=True)])
            advance(len(batch))
        rows = bulk.publish()
        novelty = calibrate_index(index)
    if novelty is not None:
        write_novelty(setting.place.novelty, novelty, encoder=embedder.fingerprint)
    result = {"rows": rows, "uri": config.uri, "encoder": embedder.fingerprint}
    show(result, lambda: display.properties("Index", result), as_json=as_json)


def info(setting: Setting, *, as_json: bool) -> None:
    """Show what the index holds."""
    config = setting.config().index
    with ArchitectureIndex(config) as index:
        result = {"rows": index.count(), "encoder": index.encoder, "uri": config.uri}
    show(result, lambda: display.properties("Index", result), as_json=as_json)
