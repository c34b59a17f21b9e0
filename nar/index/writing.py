"""Rows into and out of one collection, in batches; when these return, all readers see it.

What is written outlives then the process that wrote it, and a loss of power. Milvus Lite hands each
batch to the operating system, in a log that it reads when it is opened again; the disk is waited
for here. A Milvus server has it in its message queue, and promises what that does.
"""

from collections.abc import Sequence

from nar.index.checks import check_rows
from nar.index.collection import Collection
from nar.index.marks import show_change, show_difference
from nar.index.rows import IndexRow


def upsert_rows(live: Collection, rows: Sequence[IndexRow], batch_rows: int) -> None:
    """Write rows; a row of the same id is replaced.

    Raises:
        InvalidInputError: Names the row and field at fault; nothing is written.
    """
    check_rows(rows, live.dim)
    show_difference(live)
    for start in range(0, len(rows), batch_rows):
        live.upsert(rows[start : start + batch_rows])
    _settle(live)


def delete_rows(live: Collection, ids: Sequence[str], batch_rows: int) -> int:
    """Delete rows by ids that were checked.

    Returns:
        How many there were.
    """
    present = sorted(live.present(ids))
    show_difference(live)
    for start in range(0, len(present), batch_rows):
        live.delete(present[start : start + batch_rows])
    _settle(live)
    return len(present)


def _settle(live: Collection) -> None:
    """Wait until it lasts and readers see it; let readers in other processes look."""
    live.count(settled=True)
    if live.milvus.embedded:
        live.milvus.embedded.sync()
    else:
        show_change(live)
