"""Where a job runs: the cluster it was submitted to, or a private one on this machine."""

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import ray

from cluster.config import ClusterConfig


@contextmanager
def connect(config: ClusterConfig) -> Iterator[None]:
    """Run the body against a Ray cluster.

    A process that is connected already stays as it is. With ``RAY_ADDRESS`` set, as in every
    submitted job, that cluster is used. Otherwise one is started here, private to this process,
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

    Its ports are open on every interface, and Ray would write the token into the home directory,
    which may be read-only.
    """
    if not os.environ.keys() & {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"}:
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
