"""Waiting for a Milvus server: until it reads rows, and searches by the index that it builds."""

import time
from collections.abc import Callable
from typing import Final

from nar.errors import IndexUnavailableError
from nar.index.collection import Collection
from nar.index.milvus import PATIENCE_S, RefusedError, TimedOutError

# So long no row may come into the index: a segment of half a million takes minutes.
STUCK_S: Final = 1_800.0
_LOOK_S: Final = 0.5


def await_rows(collection: Collection) -> None:
    """Return when its rows can be read.

    A server that was begun again, or hung for long, says that it is there before its query node has
    taken its collections up again, and refuses to read until then, or lets the call wait.

    Raises:
        RefusedError: It refuses for longer than bulk jobs wait.
        TimedOutError: It has not answered for as long.
    """
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            collection.count(settled=True)
        except (RefusedError, TimedOutError):
            if time.monotonic() > end:
                raise
            time.sleep(_LOOK_S)
        else:
            return


def await_index(collection: Collection, show_life: Callable[[], None]) -> None:
    """Return when searches go by the index, which a server builds after rows are sealed.

    Until then its answers are coarse: of 30,000 networks four hits in five were right ones. The
    collection is loaded anew, because a server that holds it looks for a finished index now and
    then only.

    Args:
        collection: One that no reader gets yet.
        show_life: Called while it lasts.

    Raises:
        IndexUnavailableError: Nothing was built for `STUCK_S`.
    """
    if collection.milvus.embedded or collection.is_exact():
        return
    least, since = collection.unindexed(), time.monotonic()
    while left := collection.unindexed():
        if left < least:
            least, since = left, time.monotonic()
        if time.monotonic() > since + STUCK_S:
            raise IndexUnavailableError(
                f"Milvus has built nothing of the index of {collection.name} for {STUCK_S:g} s, "
                f"{left} rows are not in it; look at its index node, then run this again"
            )
        show_life()
        time.sleep(_LOOK_S)
    collection.release()
    collection.load(STUCK_S)
