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

# Chosen: how long a server may build without one more row in its index. A segment of half a million
# rows takes minutes.
STUCK_S: Final = 1_800.0
# Measured: a server took 15 s to merge 176,640 rows of 512 numbers; it looks every 10 s for merges
# that have ended. Chosen: eight times as long.
MERGED_S: Final = 120.0
# Chosen: time between two looks. A job that takes minutes does not notice it, and a server answers
# a look in 1 ms.
_LOOK_S: Final = 0.5


def load_rows(collection: Collection, patience_s: float = PATIENCE_S) -> None:
    """Load a collection, and return when its rows can be read.

    Args:
        collection: Of a server that may not be ready yet.
        patience_s: How long to wait for the load.

    Raises:
        MilvusRefusedError: The server refuses for longer than bulk jobs wait.
        MilvusTimeoutError: The server has not answered for as long.
    """
    _once_ready(collection, partial(collection.load, patience_s))
    await_rows(collection)


def await_rows(collection: Collection) -> None:
    """Return when the rows of a loaded collection can be read; errors as of `load_rows`."""
    _once_ready(collection, partial(collection.count, settled=True))


def _once_ready(collection: Collection, ask: Callable[[], T]) -> T:
    """The answer of a server, once it is ready to give it.

    A server that was restarted, or hung for long, reports that it is ready before its query node
    has loaded its collections again, and while it still looks for its former query node. Until
    its query node is ready, it refuses calls or lets them wait. It also refuses to list its
    segments when it drops a segment meanwhile. A call that Milvus Lite refuses cannot succeed later
    either.
    """
    is_server = not collection.milvus.lite

    def may_pass(error: Exception) -> bool:
        return isinstance(error, MilvusTimeoutError) or (
            is_server and isinstance(error, MilvusRefusedError)
        )

    return retried(ask, may_pass, limit_s=PATIENCE_S, pause_s=_LOOK_S)


def is_built_late(milvus: Milvus, kind: IndexKind) -> bool:
    """Whether an index of this kind is built only by `build_index`, after all rows are written.

    While rows come, a server seals small segments and builds an index of each. Later it merges the
    segments and builds the index of each larger segment anew, when readers may ask it already. So
    rows are first written under an index that costs nothing, FLAT, into a collection that is not
    loaded.
    """
    return kind != "FLAT" and not milvus.lite


def awaits_index(collection: Collection, kind: IndexKind) -> bool:
    """Whether its rows stand under another kind of index, until `build_index` is called."""
    return is_built_late(collection.milvus, kind) and collection.kind() != kind


def build_index(collection: Collection, kind: IndexKind, show_life: Callable[[], None]) -> None:
    """Give a collection of sealed rows its index, and load it; return when searches use the index.

    Until then the answers of a server are coarse: among 30,000 networks, four hits in five were
    right. The collection is loaded anew, because a server looks only now and then for a finished
    index of a collection that is loaded.

    Args:
        collection: A collection that no reader gets yet.
        kind: The kind of index.
        show_life: Called while the work goes on.

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
    round leaves out the segments that the server is merging by itself at that moment; when that
    merge has ended, another round follows.
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
    """Drop the index and make another; a build that is killed in between begins anew."""
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
    """Return when nothing is left to do; the wait starts anew whenever less is left than before."""
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
