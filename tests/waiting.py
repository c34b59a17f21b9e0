"""Wait for a condition instead of a time, and for one's turn."""

import fcntl
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def wait_for(
    condition: Callable[[], bool],
    *,
    or_ended: "subprocess.Popen[str] | None" = None,
    limit_s: float = 240.0,
) -> None:
    """Return when the condition is true; fail after the limit, or when the process has ended."""
    end = time.monotonic() + limit_s
    while not condition():
        assert or_ended is None or or_ended.poll() is None, "the process has ended"
        assert time.monotonic() < end, "the condition did not come true"
        threading.Event().wait(0.05)


@contextmanager
def turn(kind: str) -> Iterator[None]:
    """Wait until no other process of this machine is within such a block."""
    with (Path(tempfile.gettempdir()) / f"nar-{kind}-start-{os.getuid()}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
