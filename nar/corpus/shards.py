"""One shard: a Parquet file of architectures, written whole or not at all, read back checked."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.corpus import columns as layout
from nar.corpus.columns import (
    BY_BYTE,
    BY_WORD,
    DETAILS,
    DETAILS_FIELDS,
    WEIGHTS_FIELD,
    Card,
    details_columns,
    details_in,
    graphs_of,
    weights_column,
    weights_in,
)
from nar.corpus.location import Location
from nar.corpus.manifest import ShardEntry
from nar.graphs.architecture import Architecture, coarse_block

T = TypeVar("T")

_WORDS = ("source", "library", "family", "block", "task", "tier", "backbone")
_PAPER_WORDS = ("paper_family", "paper_block")
_NORMAL_FORM = layout.SCHEMA.metadata[layout.NORMAL_FORM_KEY]
# One page for each column: related rows repeat each other, and compression sees one page at a time.
_WHOLE = 1 << 30
SMALLEST: Final = 19  # the strongest ordinary level of zstd
FAST: Final = 1  # the fastest ordinary level of zstd
_NOTE_KEY: Final = b"nar.note"


def write_shard(
    path: Path, architectures: Sequence[Architecture], *, level: int = SMALLEST, note: str = ""
) -> ShardEntry:
    """Write one shard atomically, to the disk; the same rows give the same bytes.

    Args:
        path: Where the file is written.
        architectures: Its rows, in their order.
        level: Level of zstd: `FAST` for a shard that is read once, `SMALLEST` for one to keep.
        note: A text that the file has beside its rows, for `read_note`.

    Returns:
        The shard's entry in the manifest.

    Raises:
        InvalidGraphError: A graph is not in canonical order.
    """
    table = _table(architectures)
    if note:
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), _NOTE_KEY: note})
    write_whole(path, lambda part: _write_table(table, part, level), survives=True)
    digest = sha256(path.read_bytes()).hexdigest()
    sources = {item.labels.source for item in architectures}
    source = sources.pop() if len(sources) == 1 else ""
    return ShardEntry(file=path.name, rows=len(architectures), sha256=digest, source=source)


def _write_table(table: pa.Table, path: Path, level: int) -> None:
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=level,
        use_dictionary=[*_WORDS, *_PAPER_WORDS, *BY_WORD],
        use_byte_stream_split=[
            *(f"{name}.list.element" for name in layout.GRAPH_COLUMNS),
            *BY_BYTE,
        ],
        row_group_size=_WHOLE,
        data_page_size=_WHOLE,
        max_rows_per_page=_WHOLE,
        write_statistics=False,
        write_page_checksum=True,
    )


def _table(architectures: Sequence[Architecture]) -> pa.Table:
    rows = [layout.card_row(layout.card_of(item)) for item in architectures]
    columns = {
        name: pa.array([row[name] for row in rows], layout.SCHEMA.field(name).type)
        for name in layout.CARD_COLUMNS
    }
    graphs = layout.graph_columns([item.graph for item in architectures])
    table = pa.table({**columns, **graphs}, schema=layout.SCHEMA)
    if any(item.labels.own for item in architectures):
        own = pa.array([item.labels.own for item in architectures], pa.string())
        table = table.append_column(layout.OWN_FIELD, own)
    if any(item.weights for item in architectures):
        weights = weights_column([item.weights for item in architectures])
        table = table.append_column(WEIGHTS_FIELD, weights)
    if any(item.details for item in architectures):
        columns_of = details_columns([item.details for item in architectures])
        for field, column in zip(DETAILS_FIELDS, columns_of, strict=True):
            table = table.append_column(field, column)
    return table


def read_shard(path: Path) -> list[Architecture]:
    """Read one shard back, with all that it holds.

    Raises:
        CorpusError: Names a shard that is missing, damaged, or of another schema version.
    """
    return parsed(path, shard_bytes(path), architectures_of, with_details=True)


def read_note(path: Path) -> str:
    """The note of a shard; empty where it was written without one.

    Raises:
        CorpusError: There is no such file, or its end is damaged.
    """
    with _naming(path):
        metadata = pq.read_schema(path).metadata or {}
    return str(metadata.get(_NOTE_KEY, b"").decode())


class ShardChangedError(CorpusError):
    """A shard is not the file that the manifest names: it is damaged, or of another corpus."""


class ShardReader:
    """A shard of which a few rows are wanted at a time: only their graphs are made.

    Args:
        path: Where the shard lies.
        wanted: Its sha256 by the manifest.

    Raises:
        CorpusError: Names a shard that is missing, damaged, or of another schema version.
    """

    def __init__(self, path: Location, wanted: str) -> None:
        self._path = path
        self._table = parsed(path, shard_bytes(path, wanted), lambda table: table)

    def rows(self, rows: Sequence[int]) -> list[Architecture]:
        """Architectures by the numbers of their rows, which ascend.

        Raises:
            CorpusError: As above.
        """
        with _naming(self._path):
            return rows_of(self._table, rows)


def read_cards(path: Path) -> list[Card]:
    """Read what one shard says of its architectures, without their graphs.

    Raises:
        CorpusError: Names a shard that is missing, damaged, or of another schema version.
    """
    return parsed(path, shard_bytes(path), layout.cards_of, columns=layout.CARD_COLUMNS)


def shard_bytes(path: Location, wanted: str | None = None) -> bytes:
    """The bytes of a shard.

    Args:
        path: Where the shard lies.
        wanted: Their sha256 by the manifest; None for a shard of no manifest.

    Raises:
        CorpusError: There is no such file.
        ShardChangedError: It has another sha256.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise CorpusError(f"shard {path} is missing; extract it again") from error
    except OSError as error:
        raise CorpusError(
            f"shard {path} cannot be read ({error.strerror or error}); extract it again"
        ) from error
    if wanted is not None and sha256(content).hexdigest() != wanted:
        raise ShardChangedError(
            f"shard {path} is damaged (its digest differs); extract it again, or wait until the "
            "job that writes it has ended"
        )
    return content


def parsed(
    path: Location,
    content: bytes,
    parse: Callable[[pa.Table], T],
    *,
    columns: Sequence[str] | None = None,
    with_details: bool = False,
) -> T:
    """What ``parse`` makes of some columns of a shard.

    Args:
        path: Where the shard lies, for errors.
        content: Its bytes.
        parse: Reads the table; may raise whatever damage leads to.
        columns: The columns to read; all but details if None. If inference fingerprints are wanted
            and the shard has none of today's, all its other columns are read.
        with_details: Whether the columns of details are read, too, where it has them.

    Raises:
        CorpusError: The content is damaged, foreign, or of another schema version.
    """
    with _naming(path):
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        _check_schema(file.schema_arrow)
        wanted = _wanted(file.schema_arrow, columns, with_details=with_details)
        # Shards are small: threads take longer to begin than they read.
        table = file.read(columns=wanted, use_threads=False)
        for name in table.column_names:
            if table.column(name).null_count:
                raise CorpusError(f"its column {name} has empty places")
        return parse(table)


@contextmanager
def _naming(path: Location) -> Iterator[None]:
    """Turn the errors that a damaged shard leads to into a `CorpusError` that names the shard."""
    try:
        yield
    # If the checksums of Parquet miss some damage, a reader may raise any error of this list.
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        reason = str(error).partition("\n")[0]
        raise CorpusError(f"shard {path} cannot be read ({reason}); extract it again") from error
    except CorpusError as error:
        raise CorpusError(f"shard {path} cannot be read: {error}; extract it again") from error


def _wanted(schema: pa.Schema, columns: Sequence[str] | None, *, with_details: bool) -> list[str]:
    """The columns that are read of a shard."""
    is_needed = columns is None or layout.INFERENCE in columns
    if is_needed and not _has_inference(schema):
        columns = None
    left_out = set() if _has_inference(schema) else {layout.INFERENCE}
    left_out |= set() if with_details else set(DETAILS)
    names = [*(columns or schema.names)]
    # Labels of the user's own belong to a card.
    if {*layout.CARD_COLUMNS} <= {*names} and layout.OWN in {*schema.names} - {*names}:
        names.append(layout.OWN)
    return [name for name in names if name not in left_out]


def _has_inference(schema: pa.Schema) -> bool:
    """Whether a shard has inference fingerprints of today's version of the normal form."""
    return bool((schema.metadata or {}).get(layout.NORMAL_FORM_KEY) == _NORMAL_FORM)


def _check_schema(came: pa.Schema) -> None:
    metadata = came.metadata or {}
    version = metadata.get(layout.VERSION_KEY, b"none").decode(errors="replace")
    if version != str(layout.SCHEMA_VERSION):
        raise CorpusError(f"it has schema version {version}, wanted {layout.SCHEMA_VERSION}")
    if metadata.get(layout.ATTRIBUTES_KEY) != layout.ATTRIBUTE_NAMES:
        raise CorpusError("it has other node attributes than this version of NAR")
    for field in layout.SCHEMA:
        if field.name == layout.INFERENCE and not _has_inference(came):
            continue
        if field.name not in came.names:
            raise CorpusError(f"it has no column {field.name}")
        if came.field(field.name).type != field.type:
            kind = came.field(field.name).type
            raise CorpusError(f"its column {field.name} is {kind}, wanted {field.type}")


def architectures_of(table: pa.Table) -> list[Architecture]:
    """The architectures of a table with all columns.

    Their blocks are made from their graphs, by today's operators: a stored block may be outdated.
    """
    return [
        Architecture(
            card.labels,
            coarse_block(graph),
            graph,
            card.topology,
            card.exact,
            card.inference,
            weights,
            details,
        )
        for card, graph, weights, details in zip(
            layout.cards_of(table),
            graphs_of(table),
            weights_in(table),
            details_in(table),
            strict=True,
        )
    ]


def rows_of(table: pa.Table, rows: Sequence[int]) -> list[Architecture]:
    """The architectures of some rows, by their numbers, which ascend; at least one."""
    # Slices of rows that lie side by side. Not `take`: pyarrow imports pandas to make an array of a
    # list.
    runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    slices = [table.slice(int(run[0]), len(run)) for run in runs]
    return architectures_of(pa.concat_tables(slices))
