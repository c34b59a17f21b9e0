"""Damage: every file of atlas, checkpoint and store, truncated and with bits flipped.

What is read afterwards is refused by an error that says so, or is what was there before: answers
that are wrong and do not say it are the one thing that must not be.
"""

import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from shutil import copyfile, copytree
from threading import Event
from typing import Final

from benchmark.campaigns.campaign import Options, Tally, main, option
from nar.answers.atlas import Atlas, read_atlas, shipped_atlas
from nar.answers.atlas_store import open_atlas
from nar.base.errors import NarError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.following import Follower
from nar.index.settings import IndexConfig

# What tells people something, and no program.
PROSE: Final = {".md"}
FLIPPED_BYTES: Final = 16
UNCHANGED: Final = "there were the same bytes"
SILENT: Final = "silently wrong"
UNFORESEEN: Final = "unforeseen"
WRONG: Final = (SILENT, UNFORESEEN)


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


@dataclass(frozen=True, kw_only=True)
class Damage(Options):
    """How much of what."""

    samples: int = option(5, "damages of each kind to each file")
    only: str = option("*", "files that are damaged, by a pattern of their names")
    of: str = option("atlas", "what is damaged", ("atlas", "store"))

    @property
    def variant(self) -> str:
        """What is damaged."""
        return self.of


def truncated(draw: random.Random, content: bytes) -> bytes:
    """The end is missing."""
    return content[: draw.randrange(len(content))]


def flipped(draw: random.Random, content: bytes) -> bytes:
    """One bit is another."""
    changed = bytearray(content)
    changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def overwritten(draw: random.Random, content: bytes) -> bytes:
    """Some bytes are zero, as after a lost block."""
    start = draw.randrange(len(content))
    return content[:start] + bytes(FLIPPED_BYTES) + content[start + FLIPPED_BYTES :]


KINDS: Final = (truncated, flipped, overwritten)


def damage(told: Damage) -> Iterator[Tally]:
    """Damage each file, a sample of offsets each, and read the whole every time."""
    kept, ends, faults = KEPT[told.of], Counter[str](), []
    with tempfile.TemporaryDirectory() as directory:
        intact = Path(directory) / "intact"
        kept.keep(intact)
        files = [each.relative_to(intact) for each in files_of(intact) if each.match(told.only)]
        before = kept.read(copytree(intact, Path(directory) / "before"))
        trials = list(product(range(told.samples), files, KINDS))
        for done, (sample, file, kind) in enumerate(trials, start=1):
            draw = random.Random(f"{told.seed}:{file}:{kind.__name__}:{sample}")
            end = _end_of(kept, intact, file, partial(kind, draw), before)
            ends[end.split(":")[0]] += 1
            if end.startswith(WRONG):
                faults.append(f"{file} {kind.__name__} (sample {sample}): {end}")
            yield Tally(done, len(trials), {"files": len(files), **ends}, tuple(faults))


def _end_of(
    kept: Kept, intact: Path, file: Path, change: Callable[[bytes], bytes], before: str
) -> str:
    """What comes of reading what is damaged."""
    content = (intact / file).read_bytes()
    changed = change(content)
    if changed == content:
        return UNCHANGED
    with tempfile.TemporaryDirectory(dir=intact.parent) as trial:
        copy = Path(trial) / "copy"
        copytree(intact, copy, copy_function=kept.copy)
        (copy / file).unlink()
        (copy / file).write_bytes(changed)
        try:
            return "as before" if kept.read(copy) == before else SILENT
        except NarError:
            return "refused"
        # Whatever else is raised is what this campaign looks for.
        except Exception as error:
            return f"{UNFORESEEN}: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main(Damage, damage)
