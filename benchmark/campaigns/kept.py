"""What is damaged: the atlas with its checkpoint and corpus, and the store that a server fills."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shutil import copyfile, copytree
from threading import Event
from typing import Final

from nar.answers.atlas import Atlas, read_atlas, shipped_atlas
from nar.answers.atlas_store import open_atlas
from nar.index.architecture_index import ArchitectureIndex
from nar.index.following import Follower
from nar.index.settings import IndexConfig

# What tells people something, and no program.
PROSE: Final = {".md"}


def files_of(directory: Path) -> Sequence[Path]:
    """Every file that a program reads and that holds anything."""
    return [
        path
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.stat().st_size and path.suffix not in PROSE
    ]


def keep_atlas(directory: Path) -> None:
    """A copy of the shipped atlas: vectors, novelty, checkpoint and the cards of its corpus."""
    shipped = shipped_atlas()
    copytree(shipped.directory, directory / "atlas")
    copytree(shipped.corpus, directory / "corpus")


def keep_store(directory: Path) -> None:
    """The atlas stored in Milvus Lite."""
    open_atlas(shipped_atlas(), _config(directory), Event()).close()


def content_of(directory: Path) -> str:
    """Digest of all that an atlas holds."""
    content = read_atlas(Atlas(directory / "atlas", directory / "corpus"))
    told = sha256(content.embedder.load().fingerprint.encode())
    for row in content.rows:
        told.update(row.digest().encode())
    told.update(content.novelty.distances.tobytes() if content.novelty else b"none")
    return told.hexdigest()


def rows_of(directory: Path) -> str:
    """Digest of all rows that a server would answer from, read as a server reads them."""
    config = _config(directory)
    follower = Follower(config, None, Event())
    with ArchitectureIndex(config) as index:
        follower.look(index)
    assert follower.rows, "more rows than a server holds"
    digests = sorted(row.digest() for row in follower.rows.each_row())
    return sha256("".join(digests).encode()).hexdigest()


def _config(directory: Path) -> IndexConfig:
    return IndexConfig(uri=str(directory / "index.db"))


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that is damaged.

    Attributes:
        keep: Puts what is intact into a directory.
        read: Reads such a directory; gives the digest of all that is answered from it.
        copy: Copies a file. What is only read may be linked.
    """

    keep: Callable[[Path], object]
    read: Callable[[Path], str]
    copy: Callable[[str, str], object]


KEPT: Final = {
    "atlas": Kept(keep_atlas, content_of, os.link),
    "store": Kept(keep_store, rows_of, copyfile),
}
