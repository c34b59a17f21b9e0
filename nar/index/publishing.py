"""How collections come and go: one is filled, the alias names it, the one before is dropped."""

from secrets import token_hex

from nar.config import IndexConfig
from nar.index.bulk import check_names, check_same
from nar.index.collection import (
    SCHEMA_VERSION,
    Collection,
    create_collection,
    find_collection,
)
from nar.index.marks import SUPERSEDED, begun, mark
from nar.index.milvus import Milvus
from nar.index.orphans import collect, is_dropped


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
        milvus, name, encoder=encoder, dim=dim, kind=config.kind, marks=begun(milvus, job)
    )
    check_same(staging, encoder, dim)
    return staging


def switch(milvus: Milvus, alias: str, built: Collection) -> None:
    """Make a verified collection the one that readers get, and drop the one before.

    A publisher that is killed on the way leaves a collection that is marked; the next drops it.
    """
    before = find_collection(milvus, alias)
    is_other = before is not None and before.name != built.name
    if before and is_other:
        mark(before, {SUPERSEDED: built.name})
    point_alias(milvus, alias, built.name)
    if before and is_other:
        is_dropped(before)
    collect(milvus)


def point_alias(milvus: Milvus, alias: str, name: str) -> None:
    """Let an alias name a collection, from one moment to the next."""
    with milvus.reaching("switch the alias"):
        known = milvus.client.has_collection(alias, timeout=milvus.timeout_s)
        switch = milvus.client.alter_alias if known else milvus.client.create_alias
        switch(name, alias, timeout=milvus.timeout_s)
