"""How every job begins: shared options, the connection to Ray, and the lock of what it changes.

A job runs on the cluster to which it was submitted, or on a private cluster of this machine. A job
that is submitted twice runs once: the second ends with an error that names the first. The kernel
releases the lock when the process of a job ends, however it ends.
"""

import fcntl
import logging
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import ray
import typer

from cluster.config import ClusterConfig
from nar.base.errors import ConfigError, NarError
from nar.base.workspace import Workspace

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
    environment = {"env_vars": config.env_vars}
    if "RAY_ADDRESS" in os.environ:
        ray.init(runtime_env=environment, log_to_driver=False, logging_level=logging.ERROR)
    else:
        _authenticate_local_cluster()
        ray.init(
            address="local",
            include_dashboard=False,
            object_store_memory=config.object_store_bytes,
            runtime_env=environment,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    try:
        yield
    finally:
        ray.shutdown()


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
