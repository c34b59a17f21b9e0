"""Renewing: a corpus written anew in today's columns, without being another corpus.

Inference fingerprints are made from graphs, by rules that change more often than graphs are
captured. Labels, graphs and their order stay, and with them whatever was made from the corpus:
vectors and rankings ask for the identity of a shard, which a renewed one keeps.
"""

from pathlib import Path

from nar.base.errors import CorpusError
from nar.corpus.location import Location
from nar.corpus.manifest import Manifest, ShardEntry
from nar.corpus.reading import iterate_shards
from nar.corpus.shards import write_shard


def renew(source: Location, target: Path) -> Manifest:
    """Write the shards of a corpus in today's columns.

    Args:
        source: Directory of a finished corpus.
        target: An empty directory, or none.

    Returns:
        The manifest of the renewed corpus.

    Raises:
        CorpusError: The corpus is damaged, or something lies at the target.
    """
    before = Manifest.read(source)
    if target.exists() and any(target.iterdir()):
        raise CorpusError(f"{target} is not empty; name another directory")
    target.mkdir(parents=True, exist_ok=True)
    shards = tuple(
        _renewed(entry, write_shard(target / entry.file, items))
        for entry, items in iterate_shards(source)
    )
    renewed = before.model_copy(update={"shards": shards})
    renewed.write(target)
    return renewed


def _renewed(before: ShardEntry, now: ShardEntry) -> ShardEntry:
    """The entry of a shard that was written anew; with the bytes of the first it is the first."""
    is_first = now.sha256 == before.identity
    return now.model_copy(update={"renewed": "" if is_first else before.identity})
