"""Parts: some rows of one shard of a corpus, as a text that a worker is asked for."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from nar.corpus.manifest import ShardEntry


def named_part(file: str, rows: Sequence[int]) -> str:
    """Name of rows of a shard, given in ascending order: their runs, each end left out.

    Example:
        >>> named_part("timm-00000.parquet", [0, 1, 2, 7])
        'timm-00000.parquet#0:3,7:8'
    """
    breaks = [0, *(at + 1 for at, (one, next_) in enumerate(pairwise(rows)) if next_ > one + 1)]
    runs = pairwise([*breaks, len(rows)])
    return f"{file}#{','.join(f'{rows[low]}:{rows[high - 1] + 1}' for low, high in runs)}"


def parsed_part(part: str) -> tuple[str, list[int]]:
    """File and rows of a part's name.

    Example:
        >>> parsed_part("timm-00000.parquet#0:3,7:8")
        ('timm-00000.parquet', [0, 1, 2, 7])
    """
    file, _, runs = part.rpartition("#")
    ends = (run.split(":") for run in runs.split(","))
    return file, [row for low, high in ends for row in range(int(low), int(high))]


def missing_parts(
    shards: Iterable[tuple[ShardEntry, Sequence[bool]]], part_rows: int
) -> Iterator[tuple[str, int]]:
    """Parts of what is missing, and how many rows each has.

    Args:
        shards: Of each row, whether it is there.
        part_rows: Rows of a part, at most.
    """
    for entry, are_there in shards:
        rows = [row for row, is_there in enumerate(are_there) if not is_there]
        for low in range(0, len(rows), part_rows):
            part = rows[low : low + part_rows]
            yield named_part(entry.file, part), len(part)
