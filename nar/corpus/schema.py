"""The columns of a shard. One row an architecture; every column says in the file what it holds."""

import pyarrow as pa

from nar.graphs.normal_form import NORMAL_FORM_VERSION
from nar.graphs.ops import ATTRIBUTES

SCHEMA_VERSION = 2
VERSION_KEY = b"nar.corpus.schema"
ATTRIBUTES_KEY = b"nar.corpus.attributes"
NORMAL_FORM_KEY = b"nar.corpus.normal_form"
ATTRIBUTE_NAMES = ",".join(ATTRIBUTES).encode()
# The column that is made from the graphs of others: shards without it, or with that of another
# version of the normal form, are read all the same.
INFERENCE = "inference"
# Numbers of one kind: the operator, then each attribute.
KIND_WIDTH = 1 + len(ATTRIBUTES)


def _field(name: str, kind: pa.DataType, description: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"description": description})


_CARD_FIELDS = (
    _field("name", pa.string(), "unique name, the spec that builds it"),
    _field("source", pa.string(), "who registers it"),
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
