"""A child process of low priority: it gets one task, and ends when its parent ends.

parent                            child
Child(module, task) ----------->  task_of_parent(), and when to end
answer() <----------------------  answer_parent(answer), one line of JSON
close() ---------"close"------->  ends in order
is killed -------end of file--->  ends at once
"""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_CLOSE: Final = "close"
# Chosen: half of the 19 that the system counts to, so that the process that answers calls comes
# first.
_NICENESS: Final = 10
# Chosen: how often the parent looks whether it shall end, a delay that nobody notices.
_LOOK_S: Final = 0.1
# Chosen: how long a child may take to end in order, before it is killed.
_CLOSING_S: Final = 3.0
# Chosen: address space of the process. Most of it is what torch and its libraries map.
_MAX_MAPPED_BYTES: Final = 12 * 1024**3
# Of the memory that the server and this process have together. Measured with the shipped atlas: the
# server and its index take 0.8 of the 3 GiB of its container, and 0.2 are what torch takes here.
_MEMORY_SHARE: Final = 0.5
# Chosen: a bound that holds even where the server is gone, which itself waits for 100 s.
_MAX_CPU_S: Final = 120
# Chosen: for each file that is written. A graph is far smaller, and no upload may fill the disk.
_MAX_WRITTEN_BYTES: Final = 512 * 1024**2


class Child:
    """A child process, as its parent sees it.

    Args:
        module: The module that the child runs, as ``python -m`` does.
        task: What the child shall do. It is sent as JSON through a pipe, because every user of the
            machine may read a command line.
    """

    def __init__(self, module: str, task: Mapping[str, object]) -> None:
        # Without buffers: text that a dead child did not read would raise at every close again.
        self._process = subprocess.Popen(
            [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._send(json.dumps(task))

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def answer(self, ending: threading.Event) -> dict[str, Any] | None:
        """The child's answer; None if it died without one. It is ended once the event is set."""
        assert self._process.stdout
        while not select.select([self._process.stdout], [], [], _LOOK_S)[0]:
            if ending.is_set():
                self._end()
        line = self._process.stdout.readline()
        answer: dict[str, Any] | None = json.loads(line) if line else None
        return answer

    def close(self) -> None:
        """Let the child end in order, and kill it if it does not."""
        self._end()
        assert self._process.stdout
        self._process.stdout.close()

    def _end(self) -> None:
        assert self._process.stdin
        if not self._process.stdin.closed:
            self._send(_CLOSE)
            self._process.stdin.close()
        try:
            self._process.wait(_CLOSING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, line: str) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):  # it has ended by itself
            self._process.stdin.write(f"{line}\n".encode())


def task_of_parent(niceness: int = _NICENESS) -> tuple[dict[str, Any], threading.Event]:
    """The task of this child process, and an event that is set when it is to end in order.

    The child ignores the signals that a terminal and systemd send to the parent's children, too:
    the parent says when it ends.

    Args:
        niceness: How far the child stands back behind other processes; 0 if somebody waits for it.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(niceness)
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    ending = threading.Event()

    def listen() -> None:
        if sys.stdin.readline().strip() != _CLOSE:
            os._exit(1)
        ending.set()

    threading.Thread(target=listen, daemon=True).start()
    return task, ending


def answer_parent(answer: Mapping[str, object]) -> None:
    """Give the parent its answer, if it is still there."""
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), f"{json.dumps(answer)}\n".encode())


def bound_this_process() -> None:
    """Bound what a process takes that reads what strangers have made: memory, time, disk."""
    bound(resource.RLIMIT_AS, _MAX_MAPPED_BYTES)
    bound(resource.RLIMIT_DATA, int(_MEMORY_SHARE * memory_bytes()))
    bound(resource.RLIMIT_CPU, _MAX_CPU_S)
    bound(resource.RLIMIT_FSIZE, _MAX_WRITTEN_BYTES)


def bound(kind: int, most: int) -> None:
    """Limit a resource of this process, without raising the limit that it already has."""
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def memory_bytes(
    groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int:
    """The memory that this process may use: of the machine, or of its control groups, if less.

    Args:
        groups: Where control groups are mounted, of version 1 or 2.
        own: The file that names the groups of this process.
    """
    bounds = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for line in own.read_text().splitlines() if own.exists() else ():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            name = "memory.limit_in_bytes" if controllers else "memory.max"
            group = Path(path.lstrip("/"))
            # A group has no more than the groups around it; in a container the path may be hidden.
            for each in (group, *group.parents):
                bounds += _bounds_in(groups / controllers / each / name)
    return min(bounds)


def _bounds_in(file: Path) -> list[int]:
    text = file.read_text().strip() if file.exists() else "max"
    return [] if text == "max" else [int(text)]
