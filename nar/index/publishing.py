"""How collections come and go: one is filled, the alias names it, the old one goes or is kept."""

from secrets import token_hex

from nar.base.errors import IndexUnavailableError
from nar.index.bulk import check_names, check_same
from nar.index.collection import (
    SCHEMA_VERSION,
    Collection,
    check_schema,
    create_collection,
    find_collection,
)
from nar.index.finishing import is_built_late
from nar.index.marks import SUPERSEDED, begun, mark
from nar.index.milvus import Milvus
from nar.index.orphans import collect, is_dropped
from nar.index.settings import IndexConfig, IndexKind


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
    staging = find_collection(milvus, name)
    if staging and not is_made(staging):
        staging.drop()
        staging = None
    if staging is None:
        kind: IndexKind = "FLAT" if is_built_late(milvus, config.kind) else config.kind
        staging = create_collection(
            milvus, name, encoder=encoder, dim=dim, kind=kind, marks=begun(milvus, job)
        )
    check_same(staging, encoder, dim)
    return staging


def is_made(collection: Collection) -> bool:
    """Whether it has an index of its vectors: who was cut off between the two left none."""
    milvus = collection.milvus
    with milvus.reaching("look for the index"):
        return bool(milvus.client.list_indexes(collection.name, timeout=milvus.timeout_s))


def switch(milvus: Milvus, alias: str, built: Collection, *, keep_before: bool) -> None:
    """Make a verified collection the one that readers get; drop the one before, or keep it.

    A second alias leads to the one that is kept, and of those one is kept: the collection that it
    led to before is dropped. A publisher that is killed on the way leaves a collection that is
    marked; the next drops it.
    """
    before = find_collection(milvus, alias)
    if before is not None and before.name == built.name:
        before = None
    gone = before
    if before and keep_before:
        kept = alias_before(alias)
        gone = find_collection(milvus, kept)
        point_alias(milvus, kept, before.name)
    if gone and gone.name != built.name:
        mark(gone, {SUPERSEDED: built.name})
    point_alias(milvus, alias, built.name)
    if before and keep_before:
        before.release()
    if gone and gone.name != built.name:
        is_dropped(gone)
    collect(milvus)


def go_back(milvus: Milvus, alias: str) -> Collection:
    """Let readers get the collection that was kept; the one that they got is kept in its place.

    Returns:
        What readers get now.

    Raises:
        IndexUnavailableError: Nothing was kept.
        IndexMismatchError: Another version of NAR made it.
    """
    live, kept = (find_collection(milvus, each) for each in (alias, alias_before(alias)))
    if live is None or kept is None or live.name == kept.name:
        raise IndexUnavailableError(
            f"no collection is kept from before {alias!r} at {milvus.uri}: only one that a bulk "
            "load has replaced can be gone back to"
        )
    check_schema(kept)
    kept.load()
    point_alias(milvus, alias, kept.name)
    point_alias(milvus, alias_before(alias), live.name)
    live.release()
    return kept


def alias_before(alias: str) -> str:
    """The alias of the collection that was published before that of an alias."""
    return f"{alias}_before"


def point_alias(milvus: Milvus, alias: str, name: str) -> None:
    """Let an alias name a collection, from one moment to the next."""
    with milvus.reaching("switch the alias"):
        known = milvus.client.has_collection(alias, timeout=milvus.timeout_s)
        switch = milvus.client.alter_alias if known else milvus.client.create_alias
        switch(name, alias, timeout=milvus.timeout_s)
