"""How an atlas is made: a corpus is embedded and packed, and laid out on a map."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import numpy as np

from nar.answers.atlas import ENCODER, Atlas, keep_atlas_novelty, read_atlas, write_vectors
from nar.answers.map import coordinates, write_map
from nar.answers.novelty import calibrate
from nar.answers.uses import corpus_uses, write_uses
from nar.base.console import progress
from nar.base.workspace import Workspace
from nar.corpus import Corpus
from nar.corpus.manifest import Manifest
from nar.encoding.embed import Embedder, load_checkpoint
from nar.graphs.architecture import Architecture
from nar.index.rows import Embedding


def embedded(corpus: Path, embedder: Embedder) -> Iterator[tuple[Architecture, Embedding]]:
    """Every architecture of a corpus with its vector of shape (dim,); shows how far it is.

    Raises:
        CorpusError: Names what is missing or damaged.
    """
    total = sum(entry.rows for entry in Manifest.read(corpus).shards)
    with progress("embedding", total) as advance:
        for _, items in Corpus(corpus).shards():
            yield from zip(items, embedder.embed([item.graph for item in items]), strict=True)
            advance(len(items))


def pack(work: Path, target: Path) -> tuple[Atlas, int]:
    """Embed the corpus of a workspace with its checkpoint, and keep encoder and vectors.

    Returns:
        The atlas, and how many architectures there are.
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
    keep_atlas_novelty(atlas, calibrate(every, designs), encoder=embedder.fingerprint)
    return atlas, len(designs)


def lay_out(atlas: Atlas) -> int:
    """Add to an atlas what the page shows: a map, and which architectures contain which motif.

    Returns:
        How many architectures there are.
    """
    vectors = np.stack([row.embedding for row in read_atlas(atlas).rows])
    write_uses(atlas, corpus_uses(atlas.corpus))
    write_map(atlas, coordinates(vectors))
    return len(vectors)
