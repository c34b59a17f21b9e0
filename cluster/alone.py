"""One job at a time: whoever changes something of a workspace holds a lock of it.

A job that is submitted twice runs once: the second ends with an error that names the first. The
kernel gives the lock back when its process ends, however it ends.
"""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from nar.base.errors import ConfigError, NarError
from nar.base.workspace import Workspace

Changed = Literal["corpus", "checkpoint", "index"]


class JobRunsError(NarError):
    """Another job changes the same thing."""


@contextmanager
def alone(workspace: Workspace, changed: Changed) -> Iterator[None]:
    """Run the body as the only job that changes this part of a workspace.

    Args:
        workspace: On storage whose locks hold between nodes, as those of NFS 4 do.
        changed: Which part.

    Raises:
        JobRunsError: Another job is at it; says which.
        ConfigError: The storage has no locks.
    """
    directory = workspace.root / "ledger"
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / f"{changed}.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise JobRunsError(
                f"another job, {lock.read() or 'not named'}, changes the {changed} of "
                f"{workspace.root}; wait for it, or stop it"
            ) from error
        except OSError as error:
            raise ConfigError(
                f"{workspace.root} lies on storage without locks ({error.strerror}), where two "
                "jobs could spoil each other's files; take a --work on storage that has them"
            ) from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        yield
