"""How collections come and go: one is filled, the alias names it, the one before is dropped."""

from secrets import token_hex

from nar.config import IndexConfig
from nar.index.bulk import check_names, check_same
from nar.index.collection import (
    SCHEMA_VERSION,
    Collection,
    create_collection,
    find_collection,
    point_alias,
)
from nar.index.milvus import Milvus


def staging_collection(
    milvus: Milvus, config: IndexConfig, *, encoder: str, dim: int, job: str | None
) -> Collection:
    """The collection that a build fills: that of its job, or else a new one.

    Raises:
        InvalidQueryError: No build can be called so.
        IndexMismatchError: The job was begun for other vectors.
    """
    check_names(encoder, job)
    name = f"arch_{encoder[:16]}_v{SCHEMA_VERSION}_{job or token_hex(6)}"
    staging = find_collection(milvus, name) or create_collection(
        milvus, name, encoder=encoder, dim=dim, kind=config.kind
    )
    check_same(staging, encoder, dim)
    return staging


def switch(milvus: Milvus, alias: str, built: Collection) -> None:
    """Make a verified collection the one that readers get, and drop the one before."""
    before = find_collection(milvus, alias)
    point_alias(milvus, alias, built.name)
    if before and before.name != built.name:
        before.drop()
