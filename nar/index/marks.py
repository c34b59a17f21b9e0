"""What is noted of a collection in Milvus itself, so that others can tell whether it is needed."""

import logging
import time
from collections.abc import Mapping
from secrets import token_hex
from typing import Final

from nar.index.collection import Collection
from nar.index.milvus import Milvus, RefusedError

log = logging.getLogger(__name__)

# The job of a build, if it has a name; the connection that began it; when it last showed life, in
# seconds since 1970; and the collection that was published in its place, or nothing.
JOB: Final = "nar.job"
BUILDER: Final = "nar.builder"
WRITTEN: Final = "nar.written"
# Another text after every write of single rows: their number may be as before.
CHANGED: Final = "nar.changed"
SUPERSEDED: Final = "nar.superseded"
# Digest of the corpus whose rows it has, no more and no fewer; nothing where that is not known.
CORPUS: Final = "nar.corpus"
# A server of Milvus before 2.3.6 keeps over a restart what was noted before its last note (issue
# 30144 of milvus-io/milvus): what is noted twice is kept.
_NOTES: Final = 2


def begun(milvus: Milvus, job: str | None) -> dict[str, str]:
    """The marks of a build that begins now."""
    return {JOB: job or "", BUILDER: milvus.session, **_alive()}


def show_life(collection: Collection) -> None:
    """Note that somebody still fills it, whatever was published in its place before."""
    mark(collection, _alive())


def show_change(collection: Collection) -> None:
    """Let readers in other processes see that rows were written."""
    mark(collection, {CHANGED: token_hex(8)})


def show_difference(collection: Collection) -> None:
    """Note that it is about to have other rows than a corpus, if it has had those of one."""
    if collection.marks.get(CORPUS):
        mark(collection, {CORPUS: ""})


def mark(collection: Collection, marks: Mapping[str, str]) -> None:
    """Note something of a collection, to last; where Milvus takes no notes, work goes on."""
    milvus = collection.milvus
    try:
        for _ in range(1 if milvus.embedded else _NOTES):
            with milvus.reaching("mark the collection"):
                milvus.client.alter_collection_properties(
                    collection.name, dict(marks), timeout=milvus.timeout_s
                )
    except RefusedError as error:
        log.warning("nobody can tell later whether this is needed: %s", error)


def _alive() -> dict[str, str]:
    return {WRITTEN: f"{time.time():.0f}", SUPERSEDED: ""}
