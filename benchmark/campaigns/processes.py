"""What a process uses, as the kernel tells it, and how that changes with time."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
MEBIBYTE: Final = 2**20


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process uses at a moment.

    Attributes:
        resident_mb: Memory, in MiB.
        descriptors: Open files and sockets.
        threads: Its threads.
    """

    resident_mb: float
    descriptors: int
    threads: int


def same_imports() -> dict[str, str]:
    """The environment of a process that has to find every module that this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def usage_of(pid: int) -> Usage:
    """What a process uses now.

    Raises:
        OSError: It is gone.
    """
    process = Path(f"/proc/{pid}")
    pages = int((process / "statm").read_text().split()[1])
    return Usage(
        resident_mb=pages * PAGE_BYTES / MEBIBYTE,
        descriptors=len(list((process / "fd").iterdir())),
        threads=len(list((process / "task").iterdir())),
    )


def peak_mb_of(pid: int) -> float:
    """The most memory that a process has held at a time so far, in MiB.

    Raises:
        OSError: It is gone.
    """
    status = (Path("/proc") / str(pid) / "status").read_text()
    (kibibytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kibibytes) * 1_024 / MEBIBYTE


def slope(at: Sequence[float], values: Sequence[float]) -> float:
    """By how much values rise for each unit of ``at``: the line of least squares.

    The first quarter is left out: caches fill.

    Example:
        >>> slope([0, 1, 2, 3, 4], [9, 1, 3, 5, 7])
        2.0
    """
    start = len(at) // 4
    if len(at) - start < 2:
        return 0.0
    return round(float(np.polyfit(at[start:], values[start:], 1)[0]), 3)
