"""What NAR does with an atlas: it packs one, or unpacks it into an index for a server."""

import os
from hashlib import sha256
from pathlib import Path
from shutil import copytree

import numpy as np

from nar.atlas import ENCODER, VECTORS, Atlas, read_atlas, write_vectors
from nar.cli.index_commands import embedded
from nar.config import IndexConfig
from nar.console import progress, stderr
from nar.corpus.manifest import FILE_NAME
from nar.encoding.checkpoint import load_checkpoint
from nar.encoding.embed import Embedder
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import SCHEMA_VERSION
from nar.novelty import calibrate, write_novelty
from nar.workspace import Workspace


def pack(work: Path, target: Path) -> int:
    """Embed the corpus of a workspace with its checkpoint, and keep encoder and vectors.

    Returns:
        How many architectures there are.
    """
    workspace = Workspace(work)
    embedder = Embedder(load_checkpoint(workspace.checkpoint))
    vectors, designs = [], []
    for item, vector in embedded(workspace.corpus, embedder):
        vectors.append(vector)
        designs.append(item.topology)
    every = np.stack(vectors)
    copytree(workspace.checkpoint, target / ENCODER, dirs_exist_ok=True)
    atlas = Atlas(target, workspace.corpus)
    write_vectors(atlas, every)
    write_novelty(atlas.novelty, calibrate(every, designs), encoder=embedder.fingerprint)
    return len(designs)


def unpacked(atlas: Atlas) -> Path:
    """The atlas as an embedded index, in the user's cache; made on the first call.

    An index of other vectors, of a renewed corpus or of another schema version lies in another
    directory.

    Returns:
        Path of the index.
    """
    parts = (atlas.directory / VECTORS, atlas.corpus / FILE_NAME)
    digest = sha256(b"".join(path.read_bytes() for path in parts)).hexdigest()
    directory = cache_directory() / f"{digest[:16]}-v{SCHEMA_VERSION}"
    uri, done = directory / "index.db", directory / "complete"
    if not done.exists():
        directory.mkdir(parents=True, exist_ok=True)
        _load(atlas, IndexConfig(uri=str(uri)))
        done.touch()
    return uri


def _load(atlas: Atlas, config: IndexConfig) -> None:
    stderr.print(f"unpacking the atlas into {config.uri}, once", style="dim")
    content = read_atlas(atlas)
    embedder = Embedder(content.encoder)
    with (
        ArchitectureIndex(config) as index,
        index.build(embedder.fingerprint, embedder.dim) as bulk,
        progress("indexing", len(content.rows)) as advance,
    ):
        bulk.load(content.rows, advance)
        bulk.publish()


def cache_directory() -> Path:
    """Where NAR may keep what it can make again: ``$XDG_CACHE_HOME/nar`` or ``~/.cache/nar``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "nar"
