"""A corpus written anew: packed into the fewest bytes, or renewed in today's columns."""

from collections import defaultdict
from pathlib import Path

from nar.base.errors import CorpusError
from nar.corpus.location import Location
from nar.corpus.manifest import FILE_NAME, Manifest, ShardEntry, count_corpus
from nar.corpus.reading import Corpus
from nar.corpus.shards import write_shard
from nar.graphs.architecture import Architecture

# Chosen: bounds the memory for reading one shard, which takes a few hundred bytes a node.
MAX_ROWS = 8_192


def pack(source: Location, target: Path, *, max_rows: int = MAX_ROWS) -> Manifest:
    """Write the architectures of a corpus into as few shards as their sources allow.

    A shard holds architectures of one source, sorted by family, backbone and name. The same
    architectures give the same bytes, however they were sharded before.

    All architectures are in memory at once, to be sorted: this is for a corpus that is shipped.

    Args:
        source: Directory of a finished corpus.
        target: Another directory; a corpus in it is replaced.
        max_rows: Architectures in one shard.

    Returns:
        The manifest of the new corpus, its sizes counted anew.

    Raises:
        CorpusError: The corpus is damaged, or source and target are one directory.
    """
    if isinstance(source, Path) and source.resolve() == target.resolve():
        raise CorpusError(f"{source} cannot be packed into itself; name another directory")
    before = Manifest.read(source)
    items = [item for _, shard in Corpus(source).shards(with_details=True) for item in shard]
    _clear(target)
    groups: defaultdict[str, list[Architecture]] = defaultdict(list)
    for item in sorted(items, key=_among_relatives):
        groups[item.labels.source].append(item)
    shards = tuple(
        write_shard(target / f"{name}-{start // max_rows:03d}.parquet", rows[start:][:max_rows])
        for name, rows in groups.items()
        for start in range(0, len(rows), max_rows)
    )
    seconds = {name: counts.seconds for name, counts in before.sources.items()}
    counted = count_corpus(items, before.failures, seconds)
    update = {"shards": shards, "sources": counted.sources, "totals": counted.totals}
    packed = before.model_copy(update=update)
    packed.write(target)
    return packed


def _among_relatives(item: Architecture) -> tuple[str, ...]:
    labels = item.labels
    return (labels.source, labels.family, labels.backbone, labels.name)


def _clear(target: Path) -> None:
    """Remove a corpus, its manifest first: what an interruption leaves is then no corpus."""
    target.mkdir(parents=True, exist_ok=True)
    for path in (target / FILE_NAME, *sorted(target.glob("*.parquet"))):
        path.unlink(missing_ok=True)


def renew(source: Location, target: Path) -> Manifest:
    """Write the shards of a corpus in today's columns; it stays the same corpus.

    Inference fingerprints are made from graphs, by rules that change more often than graphs are
    captured. Labels, graphs and their order stay. What was made from the corpus stays valid:
    vectors and rankings check the identity of a shard, which a renewed shard keeps.

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
        for entry, items in Corpus(source).shards(with_details=True)
    )
    renewed = before.model_copy(update={"shards": shards})
    renewed.write(target)
    return renewed


def _renewed(before: ShardEntry, now: ShardEntry) -> ShardEntry:
    """The entry of a shard that was written anew; if its bytes are the first file's, it is that."""
    is_first = now.sha256 == before.identity
    return now.model_copy(update={"renewed": "" if is_first else before.identity})
