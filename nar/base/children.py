"""A child process of low priority: it gets one task, and ends when its parent ends.

parent                            child
Child(module, task) ----------->  task_of_parent(), and when to end
answer() <----------------------  answer_parent(answer), one line of JSON
close() ---------"close"------->  ends in order
is killed -------end of file--->  ends at once
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

_CLOSE: Final = "close"
# Chosen: half of the 19 that the system counts to, so that the process that answers calls comes
# first.
_NICENESS: Final = 10
# Chosen: how often the parent looks whether it shall end, a delay that nobody notices.
_LOOK_S: Final = 0.1
# Chosen: how long a child may take to end in order, before it is killed.
_CLOSING_S: Final = 3.0


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
