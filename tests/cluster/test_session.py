"""Where a job runs: here, in a cluster of its own, whatever the home directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import ray

from cluster.config import ClusterConfig
from cluster.session import connect

pytestmark = pytest.mark.ray

JOB = """
import os, ray
from cluster.config import ClusterConfig
from cluster.session import connect

with connect(ClusterConfig(env_vars={"OMP_NUM_THREADS": "3"})):
    threads = ray.remote(num_cpus=0)(lambda: os.environ["OMP_NUM_THREADS"])
    print("threads", ray.get(threads.remote()), "connected", ray.is_initialized())
print("connected", ray.is_initialized())
"""


def test_a_job_starts_and_stops_its_own_cluster_quietly(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", JOB],
        env={**kept, "HOME": str(tmp_path)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout == "threads 3 connected True\nconnected False\n"
    assert run.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_a_connected_process_stays_connected(ray_cluster):
    with connect(ClusterConfig()):
        assert ray.is_initialized()
    assert ray.is_initialized()
