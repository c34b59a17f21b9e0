"""The memory that servers are deployed with is enough for what was measured."""

import re
from pathlib import Path

import yaml

from benchmark.campaigns.heavy import deployed_mb

ROOT = Path(__file__).parents[1]
SERVER = (ROOT / "deploy/server.yaml").read_text()
BENCHMARKS = (ROOT / "results/benchmarks.md").read_text()
CAMPAIGNS = (ROOT / "results/reliability.md").read_text()
LIMIT = deployed_mb()


def test_what_is_asked_for_is_more_than_an_idle_server_holds():
    measured = [
        int(row) for row in re.findall(r"^\| `nar serve` \|.*\| (\d+) \|$", BENCHMARKS, re.M)
    ]
    (requested,) = re.findall(r"requests: \{.*memory: (\d)Gi\}", SERVER)
    assert 1024 * int(requested) > measured[0]
    assert 2 * 1024 * int(requested) <= LIMIT
    assert f"{measured[0]} MB resident" in SERVER


def test_the_limit_is_more_than_the_heaviest_calls_take():
    """Those of the campaign, beside a process of Milvus Lite, where that keeps the rows."""
    (heavy,) = re.findall(r"^\| heaviest legal calls .*\bresident_mb (\d+)", CAMPAIGNS, re.M)
    (lite,) = re.findall(r"keeps the rows, its process holds (\d+) MB more", BENCHMARKS)
    assert int(heavy) + int(lite) < LIMIT
    (said,) = re.findall(r"to less than (\d+) MB", SERVER)
    assert int(heavy) < int(said)
    assert f"{lite} MB more" in SERVER


def test_compose_has_the_same_limit():
    compose = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
    assert compose["services"]["server"]["mem_limit"] == f"{LIMIT // 1024}g"
