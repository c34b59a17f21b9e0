"""The corpus: captured architectures as Parquet shards with a manifest beside them.

One row an architecture. A shard is written whole or not at all, the manifest knows the digest of
each, and what was captured reads back identically.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nar.architecture import Architecture, Labels
from nar.errors import CorpusError
from nar.graph import ComputationalGraph
from nar.manifest import Manifest, ShardEntry
from nar.ops import ATTRIBUTES

SCHEMA_VERSION = 1
_VERSION_KEY = b"nar.corpus.schema"
_OPERATORS_KEY = b"nar.corpus.attributes"


def _field(name: str, kind: pa.DataType, description: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"description": description})


SCHEMA = pa.schema(
    [
        _field("name", pa.string(), "unique name, the spec that builds it"),
        _field("source", pa.string(), "who registers it"),
        _field("library", pa.string(), "distribution and version that was read"),
        _field("family", pa.string(), "fine class: defining module or model type"),
        _field("block", pa.string(), "coarse class: cnn, attention or other"),
        _field("task", pa.string(), "what it is for"),
        _field("parameters", pa.int64(), "learned scalars, tied ones once"),
        _field("flops", pa.int64(), "floating-point operations of the captured forward pass"),
        _field("topology", pa.string(), "sha256 of operators and wiring"),
        _field("exact", pa.string(), "sha256 of operators, wiring, attributes and parameters"),
        _field("op_ids", pa.list_(pa.uint16()), "operator of each node, canonical order"),
        _field("attributes", pa.list_(pa.int16()), f"row-major, a node: {', '.join(ATTRIBUTES)}"),
        _field("sources", pa.list_(pa.int32()), "node that makes the value, an edge"),
        _field("targets", pa.list_(pa.int32()), "node that reads it, an edge"),
    ],
    metadata={
        _VERSION_KEY: str(SCHEMA_VERSION).encode(),
        _OPERATORS_KEY: ",".join(ATTRIBUTES).encode(),
    },
)


def write_shard(path: Path, architectures: Sequence[Architecture]) -> ShardEntry:
    """Write one shard atomically; the same rows give the same bytes.

    Returns:
        What the manifest has to know of it.
    """
    rows = [_row(item) for item in architectures]
    part = path.with_name(path.name + ".part")
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), part, compression="zstd")
    digest = sha256(part.read_bytes()).hexdigest()
    part.replace(path)
    return ShardEntry(file=path.name, rows=len(rows), sha256=digest)


def read_shard(path: Path) -> list[Architecture]:
    """Read one shard back.

    Raises:
        CorpusError: Names a shard that is missing, damaged, or of another schema version.
    """
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise CorpusError(f"shard {path} cannot be read ({error}); extract it again") from error
    metadata = table.schema.metadata or {}
    version = metadata.get(_VERSION_KEY, b"none").decode()
    if version != str(SCHEMA_VERSION):
        raise CorpusError(
            f"shard {path} has schema version {version}, wanted {SCHEMA_VERSION}; extract it again"
        )
    return _architectures(table)


def read_corpus(directory: Path) -> list[Architecture]:
    """All architectures of a finished corpus, in the order of its shards.

    Raises:
        CorpusError: Names what is missing or damaged.
    """
    return [item for _, shard in iterate_shards(directory) for item in shard]


def iterate_shards(directory: Path) -> Iterator[tuple[ShardEntry, list[Architecture]]]:
    """Each shard of a finished corpus after its digest was checked."""
    for entry in Manifest.read(directory).shards:
        path = directory / entry.file
        if not path.is_file():
            raise CorpusError(f"shard {path} is missing; extract it again")
        if sha256(path.read_bytes()).hexdigest() != entry.sha256:
            raise CorpusError(f"shard {path} is damaged (its digest differs); extract it again")
        yield entry, read_shard(path)


def _row(item: Architecture) -> dict[str, object]:
    labels, graph = item.labels, item.graph
    return {
        "name": labels.name,
        "source": labels.source,
        "library": labels.library,
        "family": labels.family,
        "block": item.block,
        "task": labels.task,
        "parameters": graph.parameters,
        "flops": graph.flops,
        "topology": item.topology,
        "exact": item.exact,
        "op_ids": graph.op_ids,
        "attributes": graph.attributes.ravel(),
        "sources": graph.edge_index[0],
        "targets": graph.edge_index[1],
    }


def _architectures(table: pa.Table) -> list[Architecture]:
    arrays = (_arrays(table, name) for name in ("op_ids", "attributes", "sources", "targets"))
    scalars = table.select([field.name for field in SCHEMA if not pa.types.is_list(field.type)])
    return [
        _architecture(row, *columns)
        for row, *columns in zip(scalars.to_pylist(), *arrays, strict=True)
    ]


def _arrays(table: pa.Table, name: str) -> list[NDArray[np.generic]]:
    """The lists of a column as arrays, without a Python object for each number."""
    column = table.column(name).combine_chunks()
    values, offsets = column.values.to_numpy(), column.offsets.to_numpy()
    return [values[low:high] for low, high in pairwise(offsets)]


def _architecture(
    row: dict[str, Any],
    op_ids: NDArray[np.uint16],
    attributes: NDArray[np.int16],
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
) -> Architecture:
    labels = Labels(*(row[name] for name in ("name", "source", "library", "family", "task")))
    graph = ComputationalGraph(
        op_ids=op_ids,
        attributes=attributes.reshape(-1, len(ATTRIBUTES)),
        edge_index=np.stack([sources, targets]),
        parameters=row["parameters"],
        flops=row["flops"],
    )
    return Architecture(labels, row["block"], graph, row["topology"], row["exact"])
