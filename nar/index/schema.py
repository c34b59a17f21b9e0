"""The columns of a collection and the index of its vectors, as Milvus is told of them."""

from typing import Any, Final

from pymilvus import DataType, MilvusClient
from pymilvus.milvus_client import IndexParams

from nar.index import IndexKind
from nar.index.rows import COUNTS, FINGERPRINTS, TEXT_BYTES

# They find 0.96 to 0.99 of the ten nearest of 30,000 to a million networks: results/scale.md.
HNSW: Final = {"M": 16, "efConstruction": 200}
_BUILD: Final[dict[IndexKind, dict[str, int]]] = {"FLAT": {}, "HNSW": HNSW}


def column_schema(dim: int) -> Any:  # noqa: ANN401 -- pymilvus has no types
    """Every column of a row, its digest and a vector of this length."""
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=32)
    for name, limit in TEXT_BYTES.items():
        schema.add_field(name, DataType.VARCHAR, max_length=limit)
    for name in COUNTS:
        schema.add_field(name, DataType.INT64)
    for name in FINGERPRINTS:
        schema.add_field(name, DataType.VARCHAR, max_length=64)
    schema.add_field("digest", DataType.VARCHAR, max_length=32)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=dim)
    return schema


def vector_index(kind: IndexKind) -> IndexParams:
    """What Milvus is told of an index of this kind."""
    indexes = MilvusClient.prepare_index_params()
    indexes.add_index("embedding", index_type=kind, metric_type="COSINE", params=_BUILD[kind])
    return indexes
