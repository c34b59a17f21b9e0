"""How every job begins: shared options, the connection to Ray, and the lock of what it changes.

A job runs on the cluster to which it was submitted, or on a private cluster of this machine. A job
that is submitted twice runs once: the second ends with an error that names the first. The kernel
releases the lock when the process of a job ends, however it ends.
"""

import fcntl
import json
import logging
import os
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TextIO

import ray
import typer
from ray._private.runtime_env.constants import RAY_JOB_CONFIG_JSON_ENV_VAR
from ray._private.utils import read_ray_address

from nar.base.console import NOTHING_CAPTURED, TOO_MANY_FAILED, reporting_errors_as, stderr
from nar.base.errors import ConfigError, IndexInUseError, IndexUnavailableError, NarError
from nar.base.workspace import Workspace
from nar.corpus import ShardChangedError

from .config import ClusterConfig
from .resources import NoRoomError, WorkerStartError

# Chosen: how long a cluster of this machine may take to accept a connection.
_ANSWERS_S: Final = 0.5
# Chosen: Ray gives a node 30 s to start, which a machine that has much else to do may need once.
_STARTS: Final = 2

Workers = Annotated[int | None, typer.Option(min=1, help="Worker processes; default: all CPUs.")]
Corpus = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|URI", help="Where the corpus lies, for every node; by default in --work."
    ),
]
ClusterFile = Annotated[
    Path | None, typer.Option("--cluster-config", help="Sizes; default: ./ray_config.yaml.")
]


@contextmanager
def connect(config: ClusterConfig) -> Iterator[None]:
    """Run the body against a Ray cluster.

    A process that is already connected stays connected. With ``RAY_ADDRESS`` set, as in every
    submitted job, that cluster is used. Otherwise a private cluster of this process is started,
    and stopped at the end.

    Args:
        config: Environment of the workers, and the object store's size of a local cluster.
    """
    if ray.is_initialized():
        yield
        return
    if "RAY_ADDRESS" in os.environ:
        where: dict[str, Any] = {}
        mend = "is that cluster up, with this version of Ray, and is RAY_AUTH_TOKEN its token?"
    else:
        _authenticate_local_cluster()
        _say_other_cluster()
        store = config.object_store_bytes
        where = {"address": "local", "include_dashboard": False, "object_store_memory": store}
        mend = "free the machine and run again, or set RAY_ADDRESS to a cluster that runs"
    environment = {"env_vars": _own_variables(config.env_vars)}
    for left in reversed(range(_STARTS if where else 1)):
        try:
            ray.init(
                **where, runtime_env=environment, log_to_driver=False, logging_level=logging.ERROR
            )
            break
        except Exception as error:  # Ray raises a bare Exception where a node does not start
            if left:
                continue
            at = os.environ.get("RAY_ADDRESS", "this machine")
            reason = str(error).strip().partition("\n")[0]
            raise NoClusterError(f"no cluster at {at} ({reason}): {mend}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _own_variables(wanted: Mapping[str, str]) -> dict[str, str]:
    """Variables for the workers, without those that the submitted job sets itself.

    Ray refuses a variable that both set; what was said of this one job counts.
    """
    job = json.loads(os.environ.get(RAY_JOB_CONFIG_JSON_ENV_VAR, "{}"))
    said = (job.get("runtime_env") or {}).get("env_vars") or {}
    return {name: value for name, value in wanted.items() if name not in said}


def _say_other_cluster() -> None:
    """Log that a job does not use a cluster that runs on this machine."""
    address = read_ray_address()
    host, _, port = (address or "").rpartition(":")
    if not port.isdigit():
        return
    with suppress(OSError), socket.create_connection((host, int(port)), timeout=_ANSWERS_S):
        stderr.print(
            f"Ray runs at {address} already; this job starts a second cluster on the same cores. "
            f"Set RAY_ADDRESS={address} to use the first",
            soft_wrap=True,
        )


def _authenticate_local_cluster() -> None:
    """Give the private cluster a token of its own, kept in this process and its children.

    The ports of the cluster are open on every interface, so it needs a token; Ray would write the
    token into the home directory, which may be read-only.
    """
    if not os.environ.keys() & {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"}:
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


Changed = Literal["corpus", "checkpoint", "index"]


class JobRunsError(NarError):
    """Another job changes the same part of a workspace."""


class NoClusterError(NarError):
    """Ray does not start here, or no cluster answers."""


class ExitCode(IntEnum):
    """How a job ended, for its scheduler; 0 is that all is done, 1 is any other error."""

    CONFIGURATION = 2
    # Of extraction alone: no model was captured.
    NOTHING = NOTHING_CAPTURED
    SOME_FAILED = TOO_MANY_FAILED
    OTHER_JOB = 5
    RUN_AGAIN = 6


# The first class that fits counts.
_CODES: Final[Mapping[type[NarError], int]] = {
    ConfigError: ExitCode.CONFIGURATION,
    NoRoomError: ExitCode.CONFIGURATION,
    JobRunsError: ExitCode.OTHER_JOB,
    IndexInUseError: ExitCode.OTHER_JOB,
    IndexUnavailableError: ExitCode.RUN_AGAIN,
    ShardChangedError: ExitCode.RUN_AGAIN,
    WorkerStartError: ExitCode.RUN_AGAIN,
    NoClusterError: ExitCode.RUN_AGAIN,
}
reporting_job_errors = reporting_errors_as(_CODES)


def end(*, failures: int) -> None:
    """End a job whose report was shown.

    Args:
        failures: How many of its rows or models failed.

    Raises:
        typer.Exit: Some did.
    """
    if failures:
        raise typer.Exit(ExitCode.SOME_FAILED)


@contextmanager
def alone(workspace: Workspace, changed: Changed) -> Iterator[None]:
    """Run the body as the only job that changes this part of a workspace.

    Args:
        workspace: A workspace on storage whose locks hold between nodes, as the locks of NFS 4 do.
        changed: The part.

    Raises:
        JobRunsError: Another job is changing it; the error names that job.
        ConfigError: The storage has no locks.
    """
    with _lock_of(workspace, changed) as lock:
        if not _takes(lock, fcntl.LOCK_EX):
            raise _other_job(lock, changed, workspace)
        lock.truncate(0)
        _sign(lock, "changes")
        yield


@contextmanager
def unchanged(workspace: Workspace, read: Changed) -> Iterator[None]:
    """Run the body while no job changes this part of a workspace; others may read it, too.

    Args:
        workspace: A workspace, as of `alone`.
        read: The part.

    Raises:
        JobRunsError: A job is changing it; the error names that job.
        ConfigError: The storage has no locks.
    """
    with _lock_of(workspace, read) as lock:
        if _takes(lock, fcntl.LOCK_EX):
            lock.truncate(0)
        if not _takes(lock, fcntl.LOCK_SH):
            raise _other_job(lock, read, workspace)
        _sign(lock, "reads")
        yield


def reading(workspace: Workspace, corpus: str | None) -> AbstractContextManager[None]:
    """Hold the corpus that a job reads against change, if it is that of the workspace.

    Args:
        workspace: The workspace of the job.
        corpus: Where the corpus lies; None for that of the workspace.
    """
    return nullcontext() if corpus else unchanged(workspace, "corpus")


@contextmanager
def _lock_of(workspace: Workspace, part: Changed) -> Iterator[TextIO]:
    directory = workspace.root / "ledger"
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / f"{part}.lock").open("a+") as lock:
        try:
            yield lock
        except _NoLocksError as error:
            raise ConfigError(
                f"{workspace.root} lies on storage without locks ({error}), where two "
                "jobs could spoil each other's files; take a --work on storage that has them"
            ) from error


class _NoLocksError(Exception):
    """Storage has no locks."""


def _takes(lock: TextIO, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise _NoLocksError(error.strerror) from error
    return True


def _sign(lock: TextIO, deed: str) -> None:
    lock.write(f"process {os.getpid()} on {socket.gethostname()} {deed} it\n")
    lock.flush()


def _other_job(lock: TextIO, part: Changed, workspace: Workspace) -> JobRunsError:
    lock.seek(0)
    names = ", ".join(lock.read().split("\n")[:-1]) or "a job that is not named changes it"
    return JobRunsError(
        f"another job is at the {part} of {workspace.root}: {names}; wait for it, or stop it"
    )
