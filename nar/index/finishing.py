"""Waiting until a Milvus server searches by the index that it was asked to build."""

import time
from collections.abc import Callable
from typing import Final

from nar.errors import IndexUnavailableError
from nar.index.collection import Collection

# So long no row may come into the index: a segment of half a million takes minutes.
STUCK_S: Final = 1_800.0
_LOOK_S: Final = 0.5


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
