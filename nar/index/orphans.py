"""Collections that no alias leads to: what killed builds and publishers have left, and its end.

A collection is dead for certain if another was published in its place, or, in an embedded index,
which one process owns at a time, if it is a build without a name that another owner began. Of any
other nobody can tell but by its age: a build shows life while it writes.
"""

import logging
import time
from dataclasses import dataclass

from nar.base.errors import IndexUnavailableError
from nar.index.collection import Collection, find_collection
from nar.index.marks import BUILDER, JOB, SUPERSEDED, WRITTEN
from nar.index.milvus import Milvus, RefusedError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A collection of NAR that no alias leads to.

    Attributes:
        collection: Which.
        job: Name of the build that can be taken up again; empty where it cannot.
        is_dead: Whether nobody fills or reads it, for certain.
        idle_s: How long ago a build last showed life.
    """

    collection: Collection
    job: str
    is_dead: bool
    idle_s: float


def orphans(milvus: Milvus) -> list[Orphan]:
    """Every collection that no alias leads to, by name; a running build is one, too.

    Raises:
        IndexUnavailableError: Milvus does not answer.
    """
    with milvus.reaching("list the collections"):
        names = sorted(milvus.client.list_collections(timeout=milvus.timeout_s))
    described = [_described(milvus, name) for name in names]
    # Afterwards: what was published meanwhile is none.
    published = _named_by_aliases(milvus)
    return [_orphan(each) for each in described if each and each.name not in published]


def _named_by_aliases(milvus: Milvus) -> set[str]:
    """Names of the collections that some alias leads to."""
    # Milvus Lite does not tell them with the collection.
    with milvus.reaching("list the aliases"):
        aliases = milvus.client.list_aliases(timeout=milvus.timeout_s)["aliases"]
        descriptions = [
            milvus.client.describe_collection(alias, timeout=milvus.timeout_s) for alias in aliases
        ]
    return {description["collection_name"] for description in descriptions}


def _described(milvus: Milvus, name: str) -> Collection | None:
    """A collection of NAR; None for those of others, and for what has gone meanwhile."""
    try:
        return find_collection(milvus, name)
    except IndexUnavailableError as error:
        log.info("%s is left alone: %s", name, error)
        return None


def _orphan(collection: Collection) -> Orphan:
    marks, milvus = collection.marks, collection.milvus
    job = marks.get(JOB, "")
    is_abandoned = milvus.embedded is not None and BUILDER in marks and not job
    return Orphan(
        collection,
        job,
        bool(marks.get(SUPERSEDED)) or (is_abandoned and marks[BUILDER] != milvus.session),
        time.time() - float(marks.get(WRITTEN, 0)),
    )


def drop_orphans(milvus: Milvus, *, idle_s: float) -> list[Orphan]:
    """Drop what is dead for certain, and builds that have shown no life for so long.

    Args:
        milvus: Where.
        idle_s: A running build shows life every minute while it writes. Between two writes it may
            compute for longer.

    Returns:
        What was dropped.

    Raises:
        IndexUnavailableError: Milvus does not answer.
    """
    chosen = [each for each in orphans(milvus) if each.is_dead or each.idle_s >= idle_s]
    return [each for each in chosen if is_dropped(each.collection)]


def collect(milvus: Milvus) -> None:
    """Drop what is dead for certain, and go on where that fails: the next publisher tries again."""
    try:
        for each in orphans(milvus):
            if each.is_dead and is_dropped(each.collection):
                log.info("dropped %s, which nobody reads any more", each.collection.name)
    except IndexUnavailableError as error:
        log.warning("what killed publishers have left was not dropped: %s", error)


def is_dropped(collection: Collection) -> bool:
    """Drop a collection; whether it was there to drop, and not dropped by another meanwhile."""
    try:
        collection.drop()
    except RefusedError as error:
        log.info("%s was not dropped: %s", collection.name, error)
        return False
    return True
