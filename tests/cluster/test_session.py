"""Where a job runs: here, in a cluster of its own, whatever the home directory."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import ray

from cluster import session
from cluster.config import ClusterConfig
from cluster.session import NoClusterError, connect

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
    )
    assert run.stdout == "threads 3 connected True\nconnected False\n"
    assert run.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_what_a_submitted_job_sets_wins(monkeypatch):
    said = {"runtime_env": {"env_vars": {"OMP_NUM_THREADS": "4"}}}
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", json.dumps(said))
    assert session._own_variables({"OMP_NUM_THREADS": "1", "A": "b"}) == {"A": "b"}
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR")
    assert session._own_variables({"OMP_NUM_THREADS": "1"}) == {"OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("address", [None, "127.0.0.1:1"])
def test_a_cluster_that_does_not_start_is_an_error_with_the_way_out(monkeypatch, address):
    tried = []

    def refuse(**where):
        tried.append(where)
        raise Exception("The current node timed out during startup.\nlong story")

    monkeypatch.setattr(session.ray, "is_initialized", lambda: False)
    monkeypatch.setattr(session.ray, "init", refuse)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if address:
        monkeypatch.setenv("RAY_ADDRESS", address)
    told = f"no cluster at {address or 'this machine'} .The current node timed out during startup"
    with pytest.raises(NoClusterError, match=told), connect(ClusterConfig()):
        pass
    # One that is somewhere else is asked once; one of our own is begun once more.
    assert len(tried) == (1 if address else 2)


def test_who_has_started_a_cluster_is_told_of_a_second(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setattr(session, "read_ray_address", lambda: address)
        session._say_other_cluster()
    assert f"Set RAY_ADDRESS={address} to use the first" in capsys.readouterr().err
    session._say_other_cluster()
    monkeypatch.setattr(session, "read_ray_address", lambda: None)
    session._say_other_cluster()
    assert capsys.readouterr().err == ""


def test_a_connected_process_stays_connected(ray_cluster):
    with connect(ClusterConfig()):
        assert ray.is_initialized()
    assert ray.is_initialized()
