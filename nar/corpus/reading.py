"""A whole corpus: where it lies, every shard checked, one name found without the others."""

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from nar.base.errors import CorpusError, UnknownArchitectureError
from nar.base.files import package_path
from nar.corpus.cards import Card, card_of, card_table, cards_of
from nar.corpus.location import Location
from nar.corpus.manifest import FILE_NAME, Manifest, ShardEntry
from nar.corpus.schema import CARD_COLUMNS, SCHEMA
from nar.corpus.shards import architectures_of, parsed, shard_bytes, taken
from nar.corpus.suggestions import close_names
from nar.graphs.architecture import Architecture

_MAKE_ONE = "make one with `python -m cluster.extract`"


def shipped_corpus() -> Path:
    """Directory of the corpus that came with the package.

    Raises:
        CorpusError: This installation has none.
    """
    directory = package_path("data", "corpus")
    if not (directory / FILE_NAME).is_file():
        raise CorpusError(f"this installation of NAR came without a corpus; {_MAKE_ONE}")
    return directory


def default_corpus(own: Path) -> Path:
    """The user's own corpus, else the one that came with the package.

    Args:
        own: Directory where the user's would lie.

    Raises:
        CorpusError: There is neither.
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
    return list(iterate_corpus(directory))


def iterate_corpus(directory: Location) -> Iterator[Architecture]:
    """The same one after the other, of which one shard at a time is in memory."""
    for _, shard in iterate_shards(directory):
        yield from shard


def iterate_shards(directory: Location) -> Iterator[tuple[ShardEntry, list[Architecture]]]:
    """Each shard of a finished corpus after its digest was checked."""
    for entry in Manifest.read(directory).shards:
        path, content = checked(directory, entry)
        yield entry, _all_rows(path, entry, parsed(path, content, architectures_of))


def iterate_cards(directory: Location) -> Iterator[Card]:
    """The card of every architecture of a finished corpus, in the order of its shards.

    Raises:
        CorpusError: Names what is missing or damaged.
    """
    for entry in Manifest.read(directory).shards:
        yield from shard_cards(directory, entry)


def shard_cards(directory: Location, entry: ShardEntry) -> list[Card]:
    """The cards of one shard of a corpus, after its digest was checked.

    Raises:
        CorpusError: It is missing or damaged.
    """
    return parsed(*checked(directory, entry), cards_of, columns=CARD_COLUMNS)


def read_card_columns(directory: Location, columns: Sequence[str] = CARD_COLUMNS) -> pa.Table:
    """The cards of a finished corpus as columns, in the order of its shards.

    Args:
        directory: Of the corpus.
        columns: Those that are wanted; others are not read.

    Raises:
        CorpusError: Names what is missing or damaged.
    """
    # Not `Schema.empty_table`: it imports pandas, which takes 0.2 s.
    nothing = pa.Table.from_batches([], pa.schema([SCHEMA.field(name) for name in columns]))
    return pa.concat_tables([nothing, *iterate_card_columns(directory, columns)])


def iterate_card_columns(directory: Location, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The same shard by shard, of which one at a time is in memory."""
    wanted = partial(card_table, columns=columns)
    for entry in Manifest.read(directory).shards:
        table = parsed(*checked(directory, entry), wanted, columns=columns)
        yield table.replace_schema_metadata()


def iterate_names(
    directory: Location, sources: Collection[str] | None = None
) -> Iterator[tuple[ShardEntry, list[str]]]:
    """The names in each shard of a finished corpus, in its order.

    Args:
        directory: Of the corpus.
        sources: Shards of others are not read; None for all.

    Raises:
        CorpusError: Names what is missing or damaged.
    """
    for entry in _shards(directory, sources):
        path, content = checked(directory, entry)
        yield entry, parsed(path, content, _names, columns=["name"]).to_pylist()


def _shards(directory: Location, sources: Collection[str] | None) -> Iterator[ShardEntry]:
    """The shards that may hold architectures of some sources, or all."""
    for entry in Manifest.read(directory).shards:
        if sources is None or not entry.source or entry.source in sources:
            yield entry


def checked(directory: Location, entry: ShardEntry) -> tuple[Location, bytes]:
    """Path and bytes of a shard that is what the manifest says.

    Raises:
        CorpusError: The shard is missing, or other bytes than were written.
    """
    path = directory / entry.file
    content = shard_bytes(path)
    if sha256(content).hexdigest() != entry.sha256:
        raise CorpusError(f"shard {path} is damaged (its digest differs); extract it again")
    return path, content


def _all_rows(path: Location, entry: ShardEntry, rows: list[Architecture]) -> list[Architecture]:
    if len(rows) != entry.rows:
        raise CorpusError(
            f"shard {path} has {len(rows)} rows, its manifest says {entry.rows}; extract it again"
        )
    return rows


@dataclass(frozen=True, slots=True)
class Found:
    """An architecture of a corpus, and what has the same fingerprints.

    Attributes:
        architecture: With its graph.
        card: What else the corpus says of it.
        same: Cards of the others with its topology, those with its exact fingerprint included.
    """

    architecture: Architecture
    card: Card
    same: tuple[Card, ...]


def find(directory: Location, name: str) -> Found:
    """One architecture by its name; no other graph is read.

    Raises:
        UnknownArchitectureError: The corpus has no such name; the nearest are given.
        CorpusError: Names what is missing or damaged.
    """
    shards = Manifest.read(directory).shards
    names: list[str] = []
    for entry in shards:
        path, content = checked(directory, entry)
        held = parsed(path, content, _names, columns=["name"]).to_pylist()
        if name in held:
            item, card = parsed(path, content, partial(_row, held.index(name)))
            # Read anew: to keep their bytes until here, all shards had to fit into memory.
            same = (
                card
                for each in shards
                for card in _of_topology(*checked(directory, each), item.topology)
            )
            others = tuple(card for card in same if card.labels.name != name)
            return Found(item, card, others)
        names += held
    raise _unknown(name, names)


def read_named(
    directory: Location, names: Sequence[str], sources: Collection[str]
) -> dict[str, Architecture]:
    """Some architectures, in the order of the names; one that the corpus lacks is left out.

    Args:
        directory: Of a finished corpus.
        names: Of the architectures.
        sources: Who registers them: shards of others are not read.

    Raises:
        CorpusError: Names what is missing or damaged.
    """
    wanted = frozenset(names)
    items = {
        item.labels.name: item
        for entry in _shards(directory, sources)
        for item in _read_named(*checked(directory, entry), wanted)
    }
    return {name: items[name] for name in names if name in items}


def read_backbones(
    directory: Location, names: Sequence[str], sources: Collection[str]
) -> dict[str, str]:
    """What some architectures stand on, empty for those that are not composed; no graph is read.

    Args:
        directory: Of a finished corpus.
        names: Of the architectures; one that the corpus lacks is left out.
        sources: Who registers them: shards of others are not read.

    Raises:
        CorpusError: Names what is missing or damaged.
    """
    wanted = frozenset(names)
    return {
        name: backbone
        for entry in _shards(directory, sources)
        for name, backbone in parsed(
            *checked(directory, entry), _named_backbones, columns=["name", "backbone"]
        )
        if name in wanted
    }


def _read_named(path: Location, content: bytes, wanted: Set[str]) -> list[Architecture]:
    """Architectures of a shard; where it has none of the names, no graph is read."""
    names = parsed(path, content, _names, columns=["name"]).to_pylist()
    rows = [row for row, name in enumerate(names) if name in wanted]
    return parsed(path, content, partial(_rows, rows)) if rows else []


def _rows(rows: Sequence[int], table: pa.Table) -> list[Architecture]:
    return architectures_of(taken(table, rows))


def _unknown(name: str, names: Sequence[str]) -> UnknownArchitectureError:
    near = close_names(name, names)
    hint = f"did you mean {', '.join(near)}?" if near else "`nar corpus list` names them all"
    return UnknownArchitectureError(f"{name}: not in the corpus; {hint}")


def _names(table: pa.Table) -> pa.ChunkedArray:
    return table.column("name")


def _named_backbones(table: pa.Table) -> Iterator[tuple[str, str]]:
    return zip(*(table.column(name).to_pylist() for name in ("name", "backbone")), strict=True)


def _row(row: int, table: pa.Table) -> tuple[Architecture, Card]:
    alone = table.slice(row, 1)
    [item] = architectures_of(alone)
    return item, card_of(item)


def _of_topology(path: Location, content: bytes, topology: str) -> list[Card]:
    # It makes hundreds of functions, in 0.1 s, and nothing else here needs one.
    import pyarrow.compute as pc

    wanted = pa.scalar(bytes.fromhex(topology), pa.binary(32))
    return parsed(
        path,
        content,
        lambda table: cards_of(table.filter(pc.equal(table.column("topology"), wanted))),
        columns=CARD_COLUMNS,
    )
