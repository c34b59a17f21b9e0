"""The one local Ray cluster that every cluster test shares."""

from collections.abc import Iterator

import pytest

from cluster.config import ClusterConfig
from cluster.session import connect


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    """A private cluster of this machine's size, started on first use, stopped at the end."""
    with connect(ClusterConfig()):
        yield
