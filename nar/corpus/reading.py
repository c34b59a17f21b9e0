"""Reading a corpus: every shard is checked, and one name is found without the other graphs."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final

import pyarrow as pa

from nar.base.errors import CorpusError, UnknownArchitectureError
from nar.base.suggestions import close_names
from nar.base.workspace import job, package_path
from nar.corpus.columns import CARD_COLUMNS, SCHEMA, Card, card_of, card_table, cards_of
from nar.corpus.location import Location
from nar.corpus.manifest import FILE_NAME, Manifest, ShardEntry
from nar.corpus.shards import architectures_of, parsed, rows_of, shard_bytes
from nar.graphs.architecture import Architecture

# The texts of each column.
_to_lists: Callable[[pa.Table], Mapping[str, list[str]]] = pa.Table.to_pydict


def shipped_corpus() -> Path:
    """Directory of the corpus that came with the package.

    Raises:
        CorpusError: This installation has none.
    """
    directory = package_path("data", "corpus")
    if not (directory / FILE_NAME).is_file():
        raise CorpusError(
            f"this installation of NAR came without a corpus; make one with {job('extract')}"
        )
    return directory


def default_corpus(own: Path) -> Path:
    """The user's own corpus, else the corpus that came with the package.

    Args:
        own: Directory where the user's corpus would lie.

    Raises:
        CorpusError: There is no corpus at all.
    """
    if (own / FILE_NAME).is_file():
        return own
    try:
        return shipped_corpus()
    except CorpusError as error:
        raise CorpusError(f"no corpus at {own}, and {error}") from error


def read_corpus(directory: Location) -> list[Architecture]:
    """All architectures of a finished corpus, in the order of its shards.

    Raises:
        CorpusError: Names what is missing or damaged.
    """
    return list(Corpus(directory).architectures())


def read_named(
    directory: Location, names: Sequence[str], sources: Collection[str]
) -> dict[str, Architecture]:
    """Some architectures of a finished corpus by name: see `Corpus.graphs`."""
    return Corpus(directory).graphs(names, sources)


@dataclass(frozen=True, slots=True)
class Found:
    """An architecture of a corpus, and the architectures of the same design.

    Attributes:
        architecture: With its graph and its details.
        card: What else the corpus says of it.
        same: Cards of all other architectures with its topology, exact copies included.
    """

    architecture: Architecture
    card: Card
    same: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A finished corpus: every shard is checked against its digest in the manifest.

    Reading goes shard by shard, and one shard at a time is in memory. Every method raises
    `CorpusError`, which names what is missing or damaged.

    Attributes:
        location: Its directory.

    Example:
        >>> next(Corpus(shipped_corpus()).cards()).labels.name
        'asteroid:ConvTasNet/causal'
    """

    location: Location

    def manifest(self) -> Manifest:
        """The manifest of the corpus."""
        return Manifest.read(self.location)

    def shards(
        self, sources: Collection[str] | None = None, *, with_details: bool = False
    ) -> Iterator[tuple[ShardEntry, list[Architecture]]]:
        """Each shard with its architectures.

        Args:
            sources: Sources of which shards are read; None for all.
            with_details: Whether their details are read as well, which takes longer than the rest.
        """
        for entry in self._shards_of(sources):
            path, content = self._checked(entry)
            rows = parsed(path, content, architectures_of, with_details=with_details)
            yield entry, _all_rows(path, entry, rows)

    def architectures(self) -> Iterator[Architecture]:
        """Every architecture, in the order of the shards."""
        for _, shard in self.shards():
            yield from shard

    def graphs(
        self, names: Sequence[str], sources: Collection[str], *, with_details: bool = False
    ) -> dict[str, Architecture]:
        """Some architectures by name, in the order of the names; an absent one is left out.

        Args:
            names: Names of architectures.
            sources: Sources that register them: shards of other sources are not read.
            with_details: Whether their weights and details are read as well.
        """
        columns = None if with_details else SCHEMA.names
        wanted = frozenset(names)
        items: dict[str, Architecture] = {}
        for entry in self._shards_of(sources):
            path, content = self._checked(entry)
            shard_names = parsed(path, content, _to_lists, columns=["name"])["name"]
            rows = [row for row, name in enumerate(shard_names) if name in wanted]
            # A shard that has none of the names is not read further.
            if not rows:
                continue
            read = partial(rows_of, rows=rows)
            for item in parsed(path, content, read, columns=columns, with_details=with_details):
                items[item.labels.name] = item
        return {name: items[name] for name in names if name in items}

    def find(self, name: str) -> Found:
        """One architecture by its name; no other graph is read.

        Raises:
            UnknownArchitectureError: The corpus has no such name; the nearest are given.
        """
        shards = self.manifest().shards
        names: list[str] = []
        for entry in shards:
            path, content = self._checked(entry)
            shard_names = parsed(path, content, _to_lists, columns=["name"])["name"]
            if name in shard_names:
                row = partial(_row, shard_names.index(name))
                item, card = parsed(path, content, row, with_details=True)
                # Shards are read again: their bytes together may not fit into memory.
                same = (
                    card
                    for each in shards
                    for card in _of_topology(*self._checked(each), item.topology)
                )
                others = tuple(card for card in same if card.labels.name != name)
                return Found(item, card, others)
            names += shard_names
        raise _unknown(name, names)

    def cards(self) -> Iterator[Card]:
        """The card of every architecture, in the order of the shards."""
        for entry in self.manifest().shards:
            yield from self.shard_cards(entry)

    def shard_cards(self, entry: ShardEntry) -> list[Card]:
        """The cards of one shard."""
        return parsed(*self._checked(entry), cards_of, columns=CARD_COLUMNS)

    def columns(self, columns: Sequence[str] = CARD_COLUMNS) -> pa.Table:
        """All cards as columns, in the order of the shards.

        Args:
            columns: The wanted columns; others are not read.
        """
        # Not `Schema.empty_table`: it imports pandas, which takes 0.2 s.
        nothing = pa.Table.from_batches([], pa.schema(list(map(SCHEMA.field, columns))))
        return pa.concat_tables([nothing, *self.shard_columns(columns)])

    def shard_columns(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """All cards as columns, shard by shard."""
        wanted = partial(card_table, columns=columns)
        for entry in self.manifest().shards:
            table = parsed(*self._checked(entry), wanted, columns=columns)
            yield table.replace_schema_metadata()

    def names(
        self, sources: Collection[str] | None = None
    ) -> Iterator[tuple[ShardEntry, list[str]]]:
        """The names in each shard.

        Args:
            sources: Shards of other sources are not read; None for all sources.
        """
        for entry in self._shards_of(sources):
            path, content = self._checked(entry)
            yield entry, parsed(path, content, _to_lists, columns=["name"])["name"]

    def backbones(self, names: Sequence[str], sources: Collection[str]) -> dict[str, str]:
        """The backbones of some architectures, empty where not composed; reads no graph.

        Args:
            names: Names of architectures; a name that the corpus lacks is left out.
            sources: Sources that register them: shards of other sources are not read.
        """
        found: dict[str, str] = {}
        for entry in self._shards_of(sources):
            rows = parsed(*self._checked(entry), _to_lists, columns=["name", "backbone"])
            found |= zip(rows["name"], rows["backbone"], strict=True)
        return {name: found[name] for name in names if name in found}

    def _shards_of(self, sources: Collection[str] | None) -> Iterator[ShardEntry]:
        """The shards that may have architectures of some sources, or all."""
        for entry in self.manifest().shards:
            if sources is None or not entry.source or entry.source in sources:
                yield entry

    def _checked(self, entry: ShardEntry) -> tuple[Location, bytes]:
        """Path and bytes of a shard, checked against the manifest's digest."""
        path = self.location / entry.file
        return path, shard_bytes(path, entry.sha256)


# Chosen: some 10 MB, at some 50 bytes for a node with its edges.
KEPT_NODES: Final = 200_000


class CorpusGraphs:
    """Reads architectures of a finished corpus; safe to share between threads.

    Threads take turns: one shard is read at a time.

    Args:
        directory: Directory of the corpus.
        kept_nodes: Nodes of the graphs that are kept, all together.
        beside: Directory of a corpus that has what the first lacks; None for none.

    Raises:
        CorpusError: There is no corpus.
    """

    def __init__(
        self, directory: Location, kept_nodes: int = KEPT_NODES, *, beside: Location | None = None
    ) -> None:
        self._corpora = [Corpus(each) for each in (directory, beside) if each is not None]
        for each in self._corpora:
            each.manifest()
        self._kept_nodes = kept_nodes
        self._kept: OrderedDict[str, Architecture] = OrderedDict()
        self._turn = Lock()

    def graphs(self, names: Sequence[str], sources: Collection[str]) -> dict[str, Architecture]:
        """Architectures by name; a name that no corpus has is left out.

        Args:
            names: Names of architectures.
            sources: Sources that register them: shards of other sources are not read.

        Raises:
            CorpusError: Names what is missing or damaged.
        """
        with self._turn:
            known = {name: self._kept[name] for name in names if name in self._kept}
            for corpus in self._corpora:
                absent = [name for name in names if name not in known]
                known |= corpus.graphs(absent, sources) if absent else {}
            self._keep(known)
            return known

    def backbones(self, names: Sequence[str], sources: Collection[str]) -> dict[str, str]:
        """The backbones of some architectures: see `Corpus.backbones`."""
        found: dict[str, str] = {}
        for corpus in reversed(self._corpora):
            found |= corpus.backbones(names, sources)
        return found

    def _keep(self, items: dict[str, Architecture]) -> None:
        """Keep what was asked for last, as far as there is room."""
        for name, item in items.items():
            self._kept[name] = item
            self._kept.move_to_end(name)
        nodes = sum(item.nodes for item in self._kept.values())
        while nodes > self._kept_nodes:
            _, oldest = self._kept.popitem(last=False)
            nodes -= oldest.nodes


def _all_rows(path: Location, entry: ShardEntry, rows: list[Architecture]) -> list[Architecture]:
    if len(rows) != entry.rows:
        raise CorpusError(
            f"shard {path} has {len(rows)} rows, its manifest says {entry.rows}; extract it again"
        )
    return rows


def _unknown(name: str, names: Sequence[str]) -> UnknownArchitectureError:
    near = close_names(name, names)
    hint = f"did you mean {', '.join(near)}?" if near else "`nar corpus list` names them all"
    return UnknownArchitectureError(f"{name}: not in the corpus; {hint}")


def _row(row: int, table: pa.Table) -> tuple[Architecture, Card]:
    alone = table.slice(row, 1)
    [item] = architectures_of(alone)
    return item, card_of(item)


def _of_topology(path: Location, content: bytes, topology: str) -> list[Card]:
    # Imported here: the module makes hundreds of functions, in 0.1 s, and only this one needs it.
    import pyarrow.compute as pc

    wanted = pa.scalar(bytes.fromhex(topology), pa.binary(32))
    return parsed(
        path,
        content,
        lambda table: cards_of(table.filter(pc.equal(table.column("topology"), wanted))),
        columns=CARD_COLUMNS,
    )
