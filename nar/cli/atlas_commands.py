"""What `nar atlas` does: it packs one, and draws its map."""

from pathlib import Path
from shutil import copytree

import numpy as np

from nar.answers.atlas import ENCODER, Atlas, keep_atlas_novelty, read_atlas, write_vectors
from nar.answers.map import coordinates, write_map
from nar.answers.novelty import calibrate
from nar.answers.uses import corpus_uses, write_uses
from nar.base.workspace import Workspace
from nar.cli.index_commands import embedded
from nar.encoding.checkpoint import load_checkpoint
from nar.encoding.embed import Embedder


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


def draw(atlas: Atlas) -> int:
    """Lay an atlas out on a map, and note who contains which motif: what the page shows.

    Returns:
        How many architectures there are.
    """
    vectors = np.stack([row.embedding for row in read_atlas(atlas).rows])
    write_uses(atlas, corpus_uses(atlas.corpus))
    write_map(atlas, coordinates(vectors))
    return len(vectors)
