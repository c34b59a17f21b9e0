"""Rows into and out of one collection, in batches; when these return, all readers see it.

What Milvus acknowledges outlives the process that wrote it: Milvus Lite has handed each batch to
the operating system, in a log that it reads when it is opened again, and a Milvus server has it in
its message queue. Against the loss of power Lite promises nothing, a server what its queue does.
"""

from collections.abc import Sequence

from nar.index.checks import check_rows
from nar.index.collection import Collection
from nar.index.rows import IndexRow


def upsert_rows(live: Collection, rows: Sequence[IndexRow], batch_rows: int) -> None:
    """Write rows; a row of the same id is replaced.

    Raises:
        InvalidInputError: Names the row and field at fault; nothing is written.
    """
    check_rows(rows, live.dim)
    for start in range(0, len(rows), batch_rows):
        live.upsert(rows[start : start + batch_rows])
    _settle(live)


def delete_rows(live: Collection, ids: Sequence[str], batch_rows: int) -> int:
    """Delete rows by ids that were checked.

    Returns:
        How many there were.
    """
    present = sorted(live.present(ids))
    for start in range(0, len(present), batch_rows):
        live.delete(present[start : start + batch_rows])
    _settle(live)
    return len(present)


def _settle(live: Collection) -> None:
    """Wait until readers see what was written, and let those of other processes look."""
    live.count(settled=True)
    if not live.milvus.is_embedded:
        live.mark_written()
