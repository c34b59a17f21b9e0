"""The data sets of the benchmark: real architectures by frozen ids, NAS networks by distance.

Beside the real ones stand models that only ask: known ones that were written otherwise, edited or
cut into parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from benchmark.editing.attempts import model_names as changed_names
from benchmark.editing.shares import shares_of
from benchmark.tasks import frozen
from benchmark.tasks.asking import ASKING
from nar.base.errors import CorpusError, InvalidInputError
from nar.base.workspace import package_path
from nar.corpus import Card, Corpus, card_of, shipped_corpus, write_shard
from nar.corpus.shards import read_shard
from nar.graphs.architecture import Architecture, architecture
from nar.graphs.graph import ComputationalGraph
from nar.zoo.sources.darts.dataset import DISTANCES, members_at
from nar.zoo.sources.darts.models import DARTS, member_name
from nar.zoo.sources.darts.network import darts_network

REAL: Final = "real"
NAS: Final = {f"nas-{distance}": distance for distance in DISTANCES}
# Files of what only asks.
ASKING_FILES: Final = ("rewrites.parquet", "changed.parquet")
DATASETS: Final = (REAL, *NAS)


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """Architectures in a fixed order.

    Attributes:
        name: One of `DATASETS`.
        cards: What is known of each.
        graphs: Of each, in the same order.
    """

    name: str
    cards: tuple[Card, ...]
    graphs: tuple[ComputationalGraph, ...]


def load_dataset(name: str, cache_directory: Path) -> DataSet:
    """Read or make a data set, once in a process.

    Args:
        name: One of `DATASETS`.
        cache_directory: Keeps the NAS graphs, which take minutes to make.

    Raises:
        InvalidInputError: There is no such data set.
        CorpusError: The shipped corpus lacks a frozen id.
    """
    if name == REAL:
        return _real()
    if name not in NAS:
        raise InvalidInputError("data", f"wanted one of {', '.join(DATASETS)}, came {name!r}")
    return _nas(name, cache_directory / f"{name}.parquet")


# The real ones are the same wherever NAS graphs are kept: they are read once, not once a directory.
@cache
def _real() -> DataSet:
    names = frozen.read().column("name").to_pylist()
    wanted = set(names)
    items = {
        item.labels.name: item
        for _, shard in Corpus(shipped_corpus()).shards()
        for item in shard
        if item.labels.name in wanted
    }
    missing = [name for name in names if name not in items]
    if missing:
        raise CorpusError(
            f"the corpus lacks {len(missing)} frozen ids, {missing[0]} among them; "
            "draw them anew with `python -m benchmark freeze`"
        )
    asking = [
        item
        for file in ASKING_FILES
        for item in read_shard(package_path("data", file, package="benchmark"))
        if item.labels.source in ASKING
    ]
    parts = shares_of(items[name] for name in changed_names() if name in items)
    return _dataset(REAL, [*(items[name] for name in names), *asking, *parts])


def _dataset(name: str, items: Sequence[Architecture]) -> DataSet:
    return DataSet(name, tuple(map(card_of, items)), tuple(item.graph for item in items))


@cache
def _nas(name: str, path: Path) -> DataSet:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        items = []
        for member in members_at(NAS[name]):
            spec = DARTS.resolve(member_name(member))
            items.append(architecture(spec.labels, darts_network(member.genotype)))
        write_shard(path, items)
    return _dataset(name, sorted(read_shard(path), key=lambda item: item.labels.name))
