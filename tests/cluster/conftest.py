"""The one local Ray cluster that every cluster test shares, and one corpus made on it."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from waiting import turn

from cluster.config import ClusterConfig, ExtractConfig
from cluster.extraction import ExtractJob, ExtractReport, extract
from cluster.session import connect
from nar.base.workspace import Workspace
from nar.zoo.sources.darts.genotypes import genotype_at

DARTS = tuple(f"darts:{genotype_at(number * 10**15)}" for number in range(10))
ONE_WORKER = ExtractConfig(num_workers=1, shard_size=4)


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    """A private cluster of this machine's size, started on first use, stopped at the end."""
    with ExitStack() as stack:
        # Three that start together beside other tests take longer than Ray waits.
        with turn("ray"):
            stack.enter_context(connect(ClusterConfig()))
        yield


@pytest.fixture(scope="session")
def darts_names() -> tuple[str, ...]:
    """Ten networks of the DARTS space: three shards of four."""
    return DARTS


@pytest.fixture(scope="session")
def one_worker() -> ExtractConfig:
    """Sizes of the extraction behind `darts_extracted`."""
    return ONE_WORKER


@pytest.fixture(scope="session")
def darts_extracted(ray_cluster, tmp_path_factory) -> ExtractReport:
    """An extraction of them that went undisturbed. Not to be changed."""
    workspace = Workspace(tmp_path_factory.mktemp("darts"))
    return extract(ExtractJob(DARTS, {}), workspace, ONE_WORKER)


@pytest.fixture
def darts_workspace(darts_extracted, tmp_path) -> Workspace:
    """A copy of its workspace, to be changed."""
    shutil.copytree(darts_extracted.directory.parent, tmp_path / "work")
    return Workspace(tmp_path / "work")


@pytest.fixture
def bad_models(tmp_path) -> Path:
    """A user's file with a model for each way to fail."""
    path = tmp_path / "bad.py"
    path.write_text(
        "import os, sys, threading\n"
        "import numpy\n"
        "def dies(): os._exit(1)\n"
        "def hangs(): threading.Event().wait()\n"
        # Not touched, so that it takes no time: memory that is asked for counts, used or not.
        "def eats(): return [numpy.empty(2**26, numpy.uint8) for _ in range(2**20)]\n"
        "def exits(): sys.exit(3)\n"
        "def refuses(): raise ValueError('no such width')\n"
    )
    return path
