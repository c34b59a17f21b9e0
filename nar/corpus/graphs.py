"""Graphs of a corpus by name, for who asks again and again: a few are kept in memory."""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from threading import Lock
from typing import Final

from nar.corpus.location import Location
from nar.corpus.manifest import Manifest
from nar.corpus.reading import read_named
from nar.graphs.architecture import Architecture

# A node takes some 50 bytes with its edges.
KEPT_NODES: Final = 200_000


class CorpusGraphs:
    """Reads architectures of a finished corpus; safe to share between threads.

    One shard is read at a time, whoever asks.

    Args:
        directory: Of the corpus.
        kept_nodes: Nodes of the graphs that are kept, all together.

    Raises:
        CorpusError: There is no corpus.
    """

    def __init__(self, directory: Location, kept_nodes: int = KEPT_NODES) -> None:
        Manifest.read(directory)
        self._directory = directory
        self._kept_nodes = kept_nodes
        self._kept: OrderedDict[str, Architecture] = OrderedDict()
        self._turn = Lock()

    def read(self, names: Sequence[str], sources: Collection[str]) -> dict[str, Architecture]:
        """Architectures by name; one that the corpus lacks is left out.

        Args:
            names: Of the architectures.
            sources: Who registers them: shards of others are not read.

        Raises:
            CorpusError: Names what is missing or damaged.
        """
        with self._turn:
            absent = [name for name in names if name not in self._kept]
            read = read_named(self._directory, absent, sources) if absent else {}
            known = {name: self._kept[name] for name in names if name in self._kept} | read
            self._keep(known)
            return known

    def _keep(self, items: dict[str, Architecture]) -> None:
        """Keep what was asked for last, as far as there is room."""
        for name, item in items.items():
            self._kept[name] = item
            self._kept.move_to_end(name)
        nodes = sum(item.nodes for item in self._kept.values())
        while nodes > self._kept_nodes:
            _, oldest = self._kept.popitem(last=False)
            nodes -= oldest.nodes
