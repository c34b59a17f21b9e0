"""What a worker asks for, from sizes and what the cluster has."""

import subprocess
import sys

import pytest

from cluster import resources
from cluster.config import PoolConfig, PretrainConfig
from cluster.resources import Reservation, pool_size, resized, worker_share


@pytest.fixture
def totals(monkeypatch) -> dict[str, float]:
    """What the cluster has; a test writes it."""
    has = {"CPU": 8.0, "memory": 100.0}
    monkeypatch.setattr(resources, "cluster_totals", lambda _, avoided=(): has)
    return has


@pytest.mark.parametrize(("gpus", "wanted"), [(0.0, 0.0), (4.0, 1.0)])
def test_auto_takes_a_gpu_where_there_is_one(totals, gpus, wanted):
    totals["GPU"] = gpus
    assert worker_share(PretrainConfig()).gpus == wanted


@pytest.mark.parametrize(
    ("share", "size"),
    [
        (Reservation(1, 0, None), 8),
        (Reservation(3, 0, None), 2),
        (Reservation(1, 1, None), 2),
        (Reservation(0.5, 0.5, None), 4),
        (Reservation(1, 0, 30), 3),
        (Reservation(16, 0, None), 1),
        (Reservation(0, 0, None), 1),
    ],
)
def test_auto_fills_the_scarcest_resource(totals, share, size):
    totals["GPU"] = 2.0
    assert pool_size(PoolConfig(), share)() == size


def test_a_number_of_workers_is_obeyed(totals):
    assert pool_size(PoolConfig(num_workers=5), Reservation(1, 0, None))() == 5


def test_a_pool_grows_and_shrinks_with_the_nodes_within_its_bounds(totals, monkeypatch):
    config = PoolConfig.model_validate({"num_workers": {"min": 2, "max": 12}})
    size = pool_size(config, Reservation(1, 0, None))
    seen = []
    for cpus in (8.0, 1.0, 64.0):
        totals["CPU"] = cpus
        seen.append(size())
    assert seen == [8, 2, 12]
    asked = []
    monkeypatch.setattr(resources, "request_resources", lambda bundles, **_: asked.append(bundles))
    with size.wanted():
        assert asked == [[{"CPU": 1}] * 12]
    assert asked[1:] == [[]]
    with pool_size(PoolConfig(num_workers=5), Reservation(1, 0, None)).wanted():
        assert len(asked) == 2


def test_options_reserve_memory_only_where_asked():
    assert "memory" not in Reservation(1, 0, None).options()
    assert Reservation(1, 0.5, 7).options() == {
        "num_cpus": 1,
        "num_gpus": 0.5,
        "memory": 7,
        "max_restarts": 0,
    }


def test_resized_leaves_the_size_unless_told():
    assert resized(PoolConfig(), None) == PoolConfig()
    assert resized(PoolConfig(), 3).num_workers == 3


@pytest.mark.slow
def test_memory_over_the_bound_is_refused_to_the_process():
    code = (
        "from cluster.resources import bound_memory; bound_memory(200_000_000);"
        "bytearray(100_000_000); bytearray(400_000_000)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stderr.rstrip().endswith("MemoryError")
