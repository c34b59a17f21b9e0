"""A small atlas: twenty DARTS networks, and an encoder that has learned nothing."""

from pathlib import Path

from corpora import corpus
from encoding import small_default

from nar.answers.atlas import Atlas
from nar.answers.atlas_making import pack
from nar.encoding.embed import save_checkpoint
from nar.own import capture_architecture
from nar.zoo.selections import select


def twenty_networks(root: Path) -> Path:
    """Write a corpus and a checkpoint below a directory, which comes back."""
    items = [capture_architecture(name).architecture for name in select("darts:20").names]
    corpus(root / "corpus", items)
    save_checkpoint(root / "checkpoint", small_default())
    return root


def packed(work: Path, target: Path) -> Atlas:
    """The atlas of what `twenty_networks` has written."""
    atlas, rows = pack(work, target)
    assert rows == 20
    return atlas
