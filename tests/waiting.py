"""Wait for a condition instead of a time."""

import subprocess
import threading
import time
from collections.abc import Callable


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
