"""What a Milvus server does before it answers as it should: it reads rows, and builds an index."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from nar.base.errors import IndexUnavailableError
from nar.base.waiting import retried, wait_until
from nar.index import IndexKind
from nar.index.collection import Collection
from nar.index.dialect import vector_index
from nar.index.milvus import PATIENCE_S, Milvus, MilvusRefusedError, MilvusTimeoutError

log = logging.getLogger(__name__)
T = TypeVar("T")

# So long no row may come into the index: a segment of half a million takes minutes.
STUCK_S: Final = 1_800.0
# A server took 15 s to merge 176,640 rows of 512 numbers, and looks every ten what has ended.
MERGED_S: Final = 120.0
# Chosen: a job that takes minutes does not wait for a look, and a server answers one in 1 ms.
_LOOK_S: Final = 0.5


def load_rows(collection: Collection, patience_s: float = PATIENCE_S) -> None:
    """Load a collection, and return when its rows can be read.

    Args:
        collection: Of a server that may not be ready yet.
        patience_s: How long to wait for the load.

    Raises:
        MilvusRefusedError: It refuses for longer than bulk jobs wait.
        MilvusTimeoutError: It has not answered for as long.
    """
    _once_ready(collection, partial(collection.load, patience_s))
    await_rows(collection)


def await_rows(collection: Collection) -> None:
    """Return when the rows of a loaded collection can be read; errors as of `load_rows`."""
    _once_ready(collection, partial(collection.count, settled=True))


def _once_ready(collection: Collection, ask: Callable[[], T]) -> T:
    """The answer, once there is one.

    A server that was begun again, or hung for long, says that it is there before its query node has
    taken its collections up again, and while it still asks for the node that it had before. Until
    then it refuses, or lets the call wait. It also refuses to tell of its segments when it drops
    one meanwhile. What Milvus Lite refuses, it cannot do later either.
    """
    is_server = not collection.milvus.lite

    def may_pass(error: Exception) -> bool:
        return isinstance(error, MilvusTimeoutError) or (
            is_server and isinstance(error, MilvusRefusedError)
        )

    return retried(ask, may_pass, limit_s=PATIENCE_S, pause_s=_LOOK_S)


def is_built_late(milvus: Milvus, kind: IndexKind) -> bool:
    """Whether such an index is built by `build_index` alone.

    A server builds an index of each small segment that it seals while rows come, merges segments,
    and builds it of the larger ones anew, when readers may ask it already. So rows come under an
    index that costs nothing, FLAT, and into a collection that is not loaded.
    """
    return kind != "FLAT" and not milvus.lite


def awaits_index(collection: Collection, kind: IndexKind) -> bool:
    """Whether it has rows under another index, until `build_index`."""
    return is_built_late(collection.milvus, kind) and collection.kind() != kind


def build_index(collection: Collection, kind: IndexKind, show_life: Callable[[], None]) -> None:
    """Give a collection of sealed rows its index, and load it; return when searches go by it.

    Until then the answers of a server are coarse: of 30,000 networks four hits in five were right
    ones. It is loaded anew, because a server that holds a collection looks for a finished index now
    and then only.

    Args:
        collection: One that no reader gets yet.
        kind: Of the index.
        show_life: Called while it lasts.

    Raises:
        IndexUnavailableError: Nothing was built for `STUCK_S`.
    """
    if not is_built_late(collection.milvus, kind):
        return
    if awaits_index(collection, kind):
        _merge_all(collection, show_life)
        collection.release()
        _replace_index(collection, kind)
    _await_index(collection, show_life)
    collection.release()
    load_rows(collection, STUCK_S)


def sealed_segments(collection: Collection) -> set[int]:
    """The ids of the segments in which a server keeps its flushed rows."""
    return _once_ready(collection, partial(_listed_segments, collection))


def _listed_segments(collection: Collection) -> set[int]:
    milvus = collection.milvus
    with milvus.reaching("look at the segments"):
        segments = milvus.client.list_persistent_segments(collection.name, timeout=milvus.timeout_s)
    return {segment.segment_id for segment in segments}


def _merge_all(collection: Collection, show_life: Callable[[], None]) -> None:
    """Let a server merge its small segments into few large ones, until there is nothing to merge.

    Otherwise it merges them after publication, and builds their index again while readers ask. A
    server leaves out of a round what it is merging by itself at that moment: when that has ended,
    another round follows.
    """
    _await_index(collection, show_life)  # rows under no index are not merged
    while len(segments := sealed_segments(collection)) > 1:
        left_out = segments - _merge(collection, show_life)
        is_merged = bool(left_out) and _are_merged(collection, left_out, show_life)
        _await_index(collection, show_life)
        if not is_merged:
            return


def _are_merged(collection: Collection, segments: set[int], show_life: Callable[[], None]) -> bool:
    """Whether a server merges these segments by itself within `MERGED_S`."""
    is_merged = wait_until(
        lambda: not segments & sealed_segments(collection),
        limit_s=MERGED_S,
        pause_s=_LOOK_S,
        meanwhile=show_life,
    )
    if not is_merged:
        log.warning(
            "Milvus leaves %d segments of %s as they are; if it merges them later, searches "
            "are slower meanwhile",
            len(segments),
            collection.name,
        )
    return is_merged


def _merge(collection: Collection, show_life: Callable[[], None]) -> set[int]:
    """The ids of the segments that were merged, each with others or alone."""
    milvus = collection.milvus
    with milvus.reaching("merge segments"):
        job = milvus.client.compact(collection.name, timeout=milvus.timeout_s)

    def unfinished() -> int:
        with milvus.reaching("look at the merging of segments"):
            state = milvus.client.get_compaction_state(job, timeout=milvus.timeout_s)
        return int(state != "Completed")

    _await_none(unfinished, "merging of segments unfinished", "data node", collection, show_life)
    with milvus.reaching("look at what was merged"):
        merged = milvus.client.get_compaction_plans(job, timeout=milvus.timeout_s)
    return {segment for plan in merged.plans for segment in plan.sources}


def _replace_index(collection: Collection, kind: IndexKind) -> None:
    """Drop the index and make another; cut off in between, the build begins anew."""
    milvus, name = collection.milvus, collection.name
    with milvus.reaching("change the index"):
        milvus.client.drop_index(name, "embedding", timeout=PATIENCE_S)
        milvus.client.create_index(name, vector_index(kind), timeout=PATIENCE_S, sync=False)


def _await_index(collection: Collection, show_life: Callable[[], None]) -> None:
    left = collection.unindexed
    _await_none(left, "rows not in the index", "index node", collection, show_life)


def _await_none(
    count: Callable[[], int],
    what: str,
    where: str,
    collection: Collection,
    show_life: Callable[[], None],
) -> None:
    """Return when nothing is left to do; patience begins anew whenever less is."""
    left = count()

    def is_less() -> bool:
        nonlocal left
        before, left = left, min(left, count())
        return left < before

    while left:
        if not wait_until(is_less, limit_s=STUCK_S, pause_s=_LOOK_S, meanwhile=show_life):
            raise IndexUnavailableError(
                f"Milvus has not got on with {collection.name} for {STUCK_S:g} s, {left} {what}; "
                f"look at its {where}, then run this again"
            )
