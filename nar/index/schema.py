"""The columns of a collection, as Milvus is told of them."""

from typing import Any

from pymilvus import DataType, MilvusClient

from nar.index.rows import COUNTS, FINGERPRINTS, TEXT_BYTES


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
