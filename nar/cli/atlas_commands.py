"""What is done with an atlas: pack one, or unpack it into an index that a server can open."""

import os
from hashlib import sha256
from pathlib import Path
from shutil import copytree

import numpy as np

from nar.atlas import ENCODER, VECTORS, Atlas, read_atlas, write_vectors
from nar.config import IndexConfig
from nar.console import progress, stderr
from nar.corpus import iterate_shards
from nar.corpus.manifest import Manifest
from nar.encoding.checkpoint import load_checkpoint
from nar.encoding.embed import Embedder
from nar.index.architecture_index import ArchitectureIndex
from nar.novelty import calibrate
from nar.workspace import Workspace


def pack(work: Path, target: Path) -> int:
    """Embed the corpus of a workspace with its checkpoint, and keep encoder and vectors.

    Returns:
        How many architectures there are.
    """
    place = Workspace(work)
    embedder = Embedder(load_checkpoint(place.checkpoint))
    vectors, designs = [], []
    rows = sum(entry.rows for entry in Manifest.read(place.corpus).shards)
    with progress("embedding", rows) as advance:
        for _, shard in iterate_shards(place.corpus):
            vectors.append(embedder.embed([item.graph for item in shard]))
            designs += [item.topology for item in shard]
            advance(len(shard))
    every = np.concatenate(vectors)
    copytree(place.checkpoint, target / ENCODER, dirs_exist_ok=True)
    write_vectors(Atlas(target, place.corpus), every, calibrate(every, designs))
    return len(designs)


def unpacked(atlas: Atlas) -> Path:
    """The atlas as an embedded index, in the user's cache; made on the first call.

    Returns:
        Path of the index.
    """
    directory = (
        cache_directory() / sha256((atlas.directory / VECTORS).read_bytes()).hexdigest()[:16]
    )
    uri, done = directory / "index.db", directory / "complete"
    if not done.exists():
        directory.mkdir(parents=True, exist_ok=True)
        _load(atlas, IndexConfig(uri=str(uri)))
        done.touch()
    return uri


def _load(atlas: Atlas, config: IndexConfig) -> None:
    stderr.print(f"unpacking the atlas into {config.uri}, once", style="dim")
    content = read_atlas(atlas)
    rows, embedder = content.rows, Embedder(content.encoder)
    with (
        ArchitectureIndex(config) as index,
        index.build(embedder.fingerprint, embedder.dim) as bulk,
        progress("indexing", len(rows)) as advance,
    ):
        for start in range(0, len(rows), config.batch_rows):
            batch = rows[start : start + config.batch_rows]
            bulk.upsert(batch)
            advance(len(batch))
        bulk.publish()


def cache_directory() -> Path:
    """Where NAR may keep what it can make again: ``$XDG_CACHE_HOME/nar`` or ``~/.cache/nar``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "nar"
