"""The columns of a shard: what each holds, and cards, graphs, weights and details to and from them.

One row an architecture; every column says in the file what it holds. Whole shards are converted at
a time: there is no Python object for each node or edge.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice, pairwise
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nar.base.errors import CorpusError, InvalidGraphError
from nar.graphs.architecture import Architecture, Labels
from nar.graphs.details import MASKS, NOT_READ, NUMBERS, Details
from nar.graphs.graph import ComputationalGraph
from nar.graphs.normal_form import NORMAL_FORM_VERSION, inference_fingerprint
from nar.graphs.ops import ATTRIBUTES
from nar.graphs.weights import Weights
from nar.labels.families import paper_block, paper_family

SCHEMA_VERSION = 2  # to be raised when shards of the old columns can no longer be read
VERSION_KEY = b"nar.corpus.schema"
ATTRIBUTES_KEY = b"nar.corpus.attributes"
NORMAL_FORM_KEY = b"nar.corpus.normal_form"
ATTRIBUTE_NAMES = ",".join(ATTRIBUTES).encode()
# This column can be made from the graph columns: a shard without it, or with the fingerprints of
# another version of the normal form, is read all the same.
INFERENCE = "inference"
# How many numbers describe a kind of node: the operator, then each attribute.
KIND_WIDTH = 1 + len(ATTRIBUTES)


def _field(name: str, kind: pa.DataType, description: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"description": description})


_CARD_FIELDS = (
    _field("name", pa.string(), "unique name, the spec that builds it"),
    _field("source", pa.string(), "the library or file that registers it"),
    _field("library", pa.string(), "distribution and version that was read"),
    _field("family", pa.string(), "fine class: defining module or model type, across libraries"),
    _field("block", pa.string(), "coarse class: cnn, attention or other"),
    _field("task", pa.string(), "what it is for"),
    _field("tier", pa.string(), "named, composed or swept"),
    _field("backbone", pa.string(), "family of a composed model's encoder, else empty"),
    _field("paper_family", pa.string(), "fine class the paper's rules read from the name"),
    _field("paper_block", pa.string(), "coarse class the paper's rules read from the name"),
    _field("parameters", pa.int64(), "learned scalars, tied ones once"),
    _field("flops", pa.int64(), "floating-point operations of the captured forward pass"),
    _field("node_count", pa.int32(), "operators"),
    _field("edge_count", pa.int32(), "values passed from one operator to another"),
    _field("topology", pa.binary(32), "sha256 of operators and wiring"),
    _field("exact", pa.binary(32), "sha256 of operators, wiring, attributes and parameters"),
    _field(INFERENCE, pa.binary(32), "sha256 of the normal form and its attributes"),
)
# A graph repeats few kinds of node, so each row names its kinds once and numbers them in the order
# of their first node; edges stand by ascending target, so targets need no column of their own.
_GRAPH_FIELDS = (
    _field(
        "kinds",
        pa.list_(pa.int32()),
        f"distinct kinds of node of the row, row-major: operator, {', '.join(ATTRIBUTES)}",
    ),
    _field("nodes", pa.list_(pa.uint32()), "kind of each node, canonical order"),
    _field("operands", pa.list_(pa.uint32()), "how many values each node reads"),
    _field("distances", pa.list_(pa.int32()), "reader minus maker of each value, by reader"),
)

# What capture saw beside a graph. Corpora that were captured before have none of these columns; a
# row of which nothing was seen has empty lists. Details are read where they are asked for:
# readers of graphs do not wait for them.
_TEXTS: Final = pa.list_(pa.string())
_WHOLE: Final = pa.list_(pa.int32())
# Chosen: more digits than a layer has are a hash or a time, and stay as they are.
_NUMBER: Final = re.compile(r"(?<!\d)(?:0|[1-9]\d{0,4})(?!\d)")

# Stands for a # that a path has itself, where # stands for a number.
_HASH: Final = "\x01"


WEIGHTS_FIELD: Final = _field(
    "weights", _TEXTS, "last two parts of the name, shape, and number of weights"
)
# A graph repeats few sizes, and few paths but for their numbers, so each row names them once.
DETAILS_FIELDS: Final = (
    _field("sizes", _WHOLE, f"distinct sizes of the row, row-major: {', '.join(NUMBERS)}"),
    _field("node_sizes", _WHOLE, "which of the sizes each node has, canonical order"),
    _field("paths", _TEXTS, "distinct paths of modules, # for a number"),
    _field("path_numbers", _WHOLE, "these numbers, less those of the path before"),
    _field("node_paths", _WHOLE, "path of each node: 1 for the next, 0 for the last, or back"),
    _field("inputs", _TEXTS, "name, kind and shape of each input"),
    _field("outputs", _TEXTS, "name, kind and shape of each result"),
    _field("unread", _TEXTS, "what could not be read"),
)
DETAILS: Final = tuple(field.name for field in DETAILS_FIELDS)
_WORDS: Final = ("inputs", "outputs", "unread")
# How Parquet writes the columns. Measured on 366 models of all sources: a tenth to a half less.
BY_WORD: Final = tuple(f"{name}.list.element" for name in (WEIGHTS_FIELD.name, *_WORDS))
BY_BYTE: Final = ("node_sizes.list.element", "path_numbers.list.element", "node_paths.list.element")

CARD_COLUMNS: tuple[str, ...] = tuple(field.name for field in _CARD_FIELDS)
GRAPH_COLUMNS: tuple[str, ...] = tuple(field.name for field in _GRAPH_FIELDS)
SCHEMA = pa.schema(
    [*_CARD_FIELDS, *_GRAPH_FIELDS],
    metadata={
        VERSION_KEY: str(SCHEMA_VERSION).encode(),
        ATTRIBUTES_KEY: ATTRIBUTE_NAMES,
        NORMAL_FORM_KEY: str(NORMAL_FORM_VERSION).encode(),
    },
)


_INT16 = np.iinfo(np.int16)
_UINT16 = np.iinfo(np.uint16)
_PREFIX = np.dtype("<u8")


def graph_columns(graphs: Sequence[ComputationalGraph]) -> dict[str, pa.Array]:
    """The graph columns of some rows.

    Raises:
        InvalidGraphError: The edges of a graph do not stand by ascending reader, as the canonical
            order has them, or end at no node: that could not be read back.
    """
    rows = [_lists(graph) for graph in graphs]
    return {
        name: _list_array([row[column] for row in rows], SCHEMA.field(name).type)
        for column, name in enumerate(("kinds", "nodes", "operands", "distances"))
    }


_Lists = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]


def _lists(graph: ComputationalGraph) -> _Lists:
    source, target = graph.edge_index
    if (target[1:] < target[:-1]).any():
        raise InvalidGraphError(
            "edge_index", "wanted edges by ascending reader; bring the graph to canonical order"
        )
    if target.size and (target[0] < 0 or target[-1] >= graph.nodes):
        raise InvalidGraphError(
            "edge_index",
            f"wanted readers 0 to {graph.nodes - 1}, came {target[0]} to {target[-1]}",
        )
    kinds = np.column_stack([graph.op_ids.astype(np.int32), graph.attributes.astype(np.int32)])
    whole = np.ascontiguousarray(kinds).view(np.dtype((np.void, 4 * KIND_WIDTH))).ravel()
    _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.argsort(order)
    operands = np.bincount(target, minlength=graph.nodes)
    return kinds[first[order]].ravel(), rank[inverse], operands, target - source


def _list_array(rows: Sequence[NDArray[np.integer]], kind: pa.ListType) -> pa.ListArray:
    offsets = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int32)
    numbers = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    return pa.ListArray.from_arrays(
        pa.array(offsets), pa.array(numbers).cast(kind.value_type), type=kind
    )


def graphs_of(table: pa.Table) -> list[ComputationalGraph]:
    """The graphs of some rows.

    Args:
        table: Has the graph columns and the sizes of cards.

    Raises:
        CorpusError: The lists of a row do not fit together.
    """
    if not len(table):
        return []
    kinds, nodes = _ragged(table, "kinds"), _ragged(table, "nodes")
    operands, distances = _ragged(table, "operands"), _ragged(table, "distances")
    node_counts = numbers_of(table.column("node_count"))
    _require("nodes", nodes.lengths == node_counts)
    _require("operands", operands.lengths == node_counts)
    _require("distances", distances.lengths == numbers_of(table.column("edge_count")))
    op_ids, attributes = _nodes(kinds, nodes)
    edge_index = _edges(operands, distances)
    parameters, flops = table.column("parameters").to_pylist(), table.column("flops").to_pylist()
    node_cuts, edge_cuts = pairwise(nodes.offsets), pairwise(distances.offsets)
    return [
        ComputationalGraph(
            op_ids=op_ids[low:high],
            attributes=attributes[low:high],
            edge_index=np.ascontiguousarray(edge_index[:, start:stop]),
            parameters=total,
            flops=operations,
        )
        for total, operations, (low, high), (start, stop) in zip(
            parameters, flops, node_cuts, edge_cuts, strict=True
        )
    ]


def numbers_of(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """A column of numbers without empty places, not copied if it can be. Shape (rows,).

    Not ``to_numpy``: for that pyarrow imports pandas, which takes 0.2 s.
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    numbers: NDArray[Any] = np.from_dlpack(whole)
    return numbers


def prefixes_of(fingerprints: pa.ChunkedArray) -> NDArray[np.uint64]:
    """The first eight bytes of each fingerprint, for counting fingerprints. Shape (rows,).

    The chance that any two of a million different fingerprints share them is 3 in 10^8.
    """
    content = b"".join(fingerprints.to_pylist())
    return np.frombuffer(content, dtype=_PREFIX).reshape(-1, 32 // _PREFIX.itemsize)[:, 0].copy()


@dataclass(frozen=True, slots=True)
class _Ragged:
    """The lists of a column.

    Attributes:
        values: All lists one after the other, int64.
        offsets: Shape (rows + 1,), where each begins.
        lengths: Shape (rows,).
    """

    values: NDArray[np.int64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]


def _ragged(table: pa.Table, name: str) -> _Ragged:
    column = table.column(name).combine_chunks()
    offsets = numbers_of(column.offsets).astype(np.int64)
    values = column.values.slice(offsets[0], offsets[-1] - offsets[0])
    if column.null_count or values.null_count:
        raise CorpusError(f"its column {name} has empty places")
    return _Ragged(numbers_of(values).astype(np.int64), offsets - offsets[0], np.diff(offsets))


def _nodes(kinds: _Ragged, nodes: _Ragged) -> tuple[NDArray[np.uint16], NDArray[np.int16]]:
    """Operator (nodes,) and attributes (nodes, attributes) of all rows one after the other."""
    _require("kinds", kinds.lengths % KIND_WIDTH == 0)
    per_row = kinds.lengths // KIND_WIDTH
    _require("nodes", nodes.values < np.repeat(per_row, nodes.lengths))
    rows = kinds.values.reshape(-1, KIND_WIDTH)
    operators, attributes = rows[:, 0], rows[:, 1:]
    _require("kinds", (operators >= 0) & (operators <= _UINT16.max))
    _require("kinds", (attributes >= _INT16.min) & (attributes <= _INT16.max))
    which = nodes.values + np.repeat(kinds.offsets[:-1] // KIND_WIDTH, nodes.lengths)
    return operators.astype(np.uint16)[which], attributes.astype(np.int16)[which]


def _edges(operands: _Ragged, distances: _Ragged) -> NDArray[np.int32]:
    """Shape (2, edges), the edges of all rows one after the other, numbered within their rows."""
    before = np.concatenate([[0], np.cumsum(operands.values)])
    _require("operands", before[operands.offsets] == distances.offsets)
    node = np.arange(len(operands.values)) - np.repeat(operands.offsets[:-1], operands.lengths)
    target = np.repeat(node, operands.values)
    source = target - distances.values
    size = np.repeat(operands.lengths, distances.lengths)
    _require("distances", (source >= 0) & (source < size))
    return np.stack([source, target]).astype(np.int32)


def _require(column: str, holds: NDArray[np.bool_]) -> None:
    if not holds.all():
        raise CorpusError(f"its column {column} does not fit the others")


# Labels of a user's own: a column that only shards have in which some row has such labels.
OWN = "own"
OWN_FIELD = _field(OWN, pa.string(), "labels of the user's own, as JSON")
_LABELS = tuple(field.name for field in fields(Labels) if field.name != OWN)
_FINGERPRINTS = ("topology", "exact", INFERENCE)
# Field of a card -> column, for the fields that are stored as they are.
_COLUMNS = {
    **{name: name for name in ("block", "paper_family", "paper_block", "parameters", "flops")},
    "nodes": "node_count",
    "edges": "edge_count",
}
_STORED_COLUMNS = tuple(name for name in CARD_COLUMNS if name != INFERENCE)
# The labels of a row, in the order of the fields of `Labels`.
_labels_in = itemgetter(*_LABELS)


@dataclass(frozen=True, slots=True)
class Card:
    """One row of a corpus without its graph.

    Attributes:
        labels: Name and labels.
        block: Coarse class: ``attention``, ``cnn`` or ``other``.
        paper_family: Fine class that the paper's rules read from the name.
        paper_block: Coarse class that the paper's rules read from the name.
        parameters: Learned scalars, tied ones once.
        flops: Floating-point operations of the captured forward pass.
        nodes: Operators.
        edges: Values passed.
        topology: Topology fingerprint, sha256 hex.
        exact: Exact fingerprint, sha256 hex.
        inference: Inference fingerprint, sha256 hex.
    """

    labels: Labels
    block: str
    paper_family: str
    paper_block: str
    parameters: int
    flops: int
    nodes: int
    edges: int
    topology: str
    exact: str
    inference: str


def card_of(item: Architecture) -> Card:
    """The card of an architecture."""
    name, graph = item.labels.name, item.graph
    return Card(
        labels=item.labels,
        block=item.block,
        paper_family=paper_family(name),
        paper_block=paper_block(name),
        parameters=graph.parameters,
        flops=graph.flops,
        nodes=graph.nodes,
        edges=graph.edges,
        topology=item.topology,
        exact=item.exact,
        inference=item.inference,
    )


def card_row(card: Card) -> dict[str, object]:
    """What a card says, column by column."""
    return {
        **{name: getattr(card.labels, name) for name in _LABELS},
        **{column: getattr(card, name) for name, column in _COLUMNS.items()},
        **{name: bytes.fromhex(getattr(card, name)) for name in _FINGERPRINTS},
    }


def cards_of(table: pa.Table) -> list[Card]:
    """The cards of a table that has the card columns.

    If it lacks the inference fingerprints it must have the graph columns, from which they are made.
    """
    has_inference = INFERENCE in table.column_names
    columns = CARD_COLUMNS if has_inference else _STORED_COLUMNS
    own = (OWN,) if OWN in table.column_names else ()
    cards = [
        Card(
            labels=Labels(*(*_labels_in(row), row.get(OWN, ""))),
            block=row["block"],
            paper_family=row["paper_family"],
            paper_block=row["paper_block"],
            parameters=row["parameters"],
            flops=row["flops"],
            nodes=row["node_count"],
            edges=row["edge_count"],
            topology=row["topology"].hex(),
            exact=row["exact"].hex(),
            inference=row.get(INFERENCE, b"").hex(),
        )
        for row in table.select([*columns, *own]).to_pylist()
    ]
    if has_inference:
        return cards
    pairs = zip(cards, graphs_of(table), strict=True)
    return [replace(card, inference=inference_fingerprint(graph)) for card, graph in pairs]


def card_table(table: pa.Table, columns: Sequence[str] = CARD_COLUMNS) -> pa.Table:
    """Some of the card columns of a table, as `cards_of` reads them."""
    if INFERENCE not in columns or INFERENCE in table.column_names:
        return table.select(columns)
    prints = [bytes.fromhex(card.inference) for card in cards_of(table)]
    column = pa.array(prints, pa.binary(32))
    return table.append_column(INFERENCE, column).select(columns)


def weights_column(items: Sequence[Weights | None]) -> pa.Array:
    """The column of weights; a row without weights has none in its list."""
    return pa.array([each.lines() if each else [] for each in items], WEIGHTS_FIELD.type)


def weights_in(table: pa.Table) -> list[Weights | None]:
    """The weights of each row of a table, which may lack the column.

    Raises:
        CorpusError: The column holds something else.
    """
    if WEIGHTS_FIELD.name not in table.column_names:
        return [None] * len(table)
    try:
        rows = table.column(WEIGHTS_FIELD.name).to_pylist()
        return [Weights.of_lines(lines) if lines else None for lines in rows]
    except ValueError as error:
        raise CorpusError(
            f"its column {WEIGHTS_FIELD.name} does not hold weights: {error}"
        ) from error


def details_columns(items: Sequence[Details | None]) -> list[pa.Array]:
    """The columns of `DETAILS_FIELDS`; a row without details has empty lists."""
    rows = [_row(each) if each else ((),) * len(DETAILS_FIELDS) for each in items]
    return [
        pa.array([row[place] for row in rows], field.type)
        for place, field in enumerate(DETAILS_FIELDS)
    ]


def _row(details: Details) -> tuple[Any, ...]:
    sizes, node_sizes = _distinct(details.numbers)
    # The newest path before each node: 0 is that path, 1 the next new one.
    newest = np.maximum.accumulate(np.concatenate([[NOT_READ], details.places]))[:-1]
    return (
        sizes.ravel(),
        node_sizes,
        [_NUMBER.sub("#", path.replace("#", _HASH)) for path in details.paths],
        list(_differences(details.paths)),
        details.places - newest,
        details.inputs,
        details.outputs,
        details.unread,
    )


def _distinct(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The distinct rows in the order in which they are met, and which of them each row is."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    _, first, inverse = np.unique(whole.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    return rows[first[order]], np.argsort(order)[inverse]


def _differences(paths: Iterable[str]) -> Iterator[int]:
    """The numbers of paths, each less the number in its place in the path before that had one."""
    before: defaultdict[int, int] = defaultdict(int)
    for path in paths:
        for place, digits in enumerate(_NUMBER.findall(path)):
            yield int(digits) - before[place]
            before[place] = int(digits)


def _paths(templates: Iterable[str], differences: Sequence[int]) -> Iterator[str]:
    before: defaultdict[int, int] = defaultdict(int)
    left = iter(differences)
    for template in templates:
        whole, *rest = template.split("#")
        for place, (part, difference) in enumerate(zip(rest, islice(left, len(rest)), strict=True)):
            before[place] += difference
            whole += f"{before[place]}{part}"
        yield whole.replace(_HASH, "#")


def details_in(table: pa.Table) -> list[Details | None]:
    """The details of each row of a table, None where it has none; it may lack the columns.

    Args:
        table: Has the columns of cards.

    Raises:
        CorpusError: The columns do not fit together.
    """
    if not set(DETAILS) <= set(table.column_names):
        return [None] * len(table)
    columns = zip(*(table.column(name).to_pylist() for name in DETAILS), strict=True)
    counts = table.column("node_count").to_pylist()
    try:
        return [_details(row, count) for row, count in zip(columns, counts, strict=True)]
    except (ValueError, IndexError, OverflowError) as error:
        raise CorpusError(f"its columns of details do not fit together: {error}") from error


def _details(row: Sequence[Any], count: int) -> Details | None:
    sizes, node_sizes, templates, differences, node_paths, *texts = row
    if not node_sizes:
        return None
    table = np.array(sizes, dtype=np.int32).reshape(-1, len(NUMBERS))
    which = np.array(node_sizes)
    _require_of_row("sizes", bool((table >= NOT_READ).all()))
    _require_of_row("sizes", bool((table[:, NUMBERS.index("mask")] < len(MASKS)).all()))
    _require_of_row("node_sizes", len(which) == len(node_paths) == count and which.min() >= 0)
    paths, places = tuple(_paths(templates, differences)), list(_places(node_paths))
    _require_of_row("node_paths", min(places) >= NOT_READ and max(places) < len(paths))
    return Details(
        table[which], paths, np.array(places, dtype=np.int32), *(tuple(text) for text in texts)
    )


def _places(steps: Iterable[int]) -> Iterator[int]:
    newest = NOT_READ
    for step in steps:
        yield newest + step
        newest = max(newest, newest + step)


def _require_of_row(column: str, holds: bool) -> None:
    if not holds:
        raise ValueError(f"column {column}")
