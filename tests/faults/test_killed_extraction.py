"""Extraction under fire: killed at random moments, its corpus is that of an unbroken run."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from nar.zoo.sources.darts.genotypes import genotype_at

pytestmark = [pytest.mark.faults, pytest.mark.ray, pytest.mark.timeout(3600)]

REPOSITORY = Path(__file__).parents[2]
MODELS = REPOSITORY / "benchmark/campaigns/faulty_models.py"
GOOD = ("net_1", "net_2", "net_3", "net_4")
BAD = {
    "refuses": "models.py:59: ValueError: no such width",
    "exits": "models.py:63: SystemExit: 3",
    "sleeps": "took longer than its limit of 30 s (2 tries)",
    "eats": "needed more memory than its limit of 4 GB (2 tries)",
    "segfaults": "its worker process died (2 tries)",
    "is_killed": "its worker process died (2 tries)",
}
SEEDS = range(int(os.environ.get("NAR_FAULT_SEEDS", "3")))
KILLS = 6
SIZES = """
extract:
  num_workers: 2
  max_in_flight: 2
  limit_s: 30
  memory_limit_bytes: 4_000_000_000
  items_per_process: 7
  shard_size: 8
  batch_size: 3
  batch_s: 0.5
"""


@dataclass(frozen=True)
class Campaign:
    """A command on one selection, in any workspace."""

    sizes: Path
    specs: Path

    def start(self, work: Path, *options: str) -> "subprocess.Popen[str]":
        fixed = ("--work", str(work), "--cluster-config", str(self.sizes))
        command = (sys.executable, "-m", "cluster.extract", "--specs", str(self.specs), *fixed)
        return subprocess.Popen(
            [*command, *options, "--json"],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def finish(self, work: Path, *options: str) -> None:
        with self.start(work, *options) as process:
            _, errors = process.communicate()
        assert process.returncode == 0, errors


@pytest.fixture(scope="module")
def campaign(tmp_path_factory) -> Campaign:
    directory = tmp_path_factory.mktemp("campaign")
    darts = [f"darts:{genotype_at(number * 10**14)}" for number in range(30)]
    files = [f"{MODELS}:{factory}" for factory in (*GOOD, *BAD)]
    (directory / "specs.txt").write_text("\n".join([*darts, *files]))
    (directory / "sizes.yaml").write_text(SIZES)
    return Campaign(directory / "sizes.yaml", directory / "specs.txt")


@pytest.fixture(scope="module")
def unbroken(campaign, tmp_path_factory) -> Path:
    """The workspace of a run that nobody disturbed."""
    work = tmp_path_factory.mktemp("unbroken")
    campaign.finish(work)
    return work


def files_of(work: Path) -> dict[str, str]:
    files = sorted((work / "corpus").glob("*.parquet"))
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}


def manifest_of(work: Path) -> dict[str, object]:
    """The manifest without what a clock decides."""
    manifest = json.loads((work / "corpus" / "manifest.json").read_text())
    del manifest["seconds"]
    for counts in manifest["sources"].values():
        del counts["seconds"], counts["models_per_s"]
    return manifest


def children(process: int) -> Iterator[int]:
    """Every process below one, from the kernel's tables."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process:
            yield int(path.parent.name)
            yield from children(int(path.parent.name))


def workers_of(process: int) -> list[int]:
    workers = []
    for child in children(process):
        try:
            title = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::CaptureWorker"):
            workers.append(child)
    return workers


def test_every_bad_model_has_its_reason(unbroken):
    failures = json.loads((unbroken / "corpus" / "manifest.json").read_text())["failures"]
    assert {each["name"].rpartition(":")[2]: each["reason"] for each in failures} == BAD


@pytest.mark.parametrize("seed", SEEDS)
def test_a_driver_killed_at_random_moments_makes_the_same_corpus(
    campaign, unbroken, tmp_path, seed
):
    moments = random.Random(seed)
    for _ in range(KILLS):
        with campaign.start(tmp_path) as process:
            time.sleep(moments.uniform(0.5, 25))
            os.killpg(process.pid, signal.SIGKILL)
    campaign.finish(tmp_path)
    assert files_of(tmp_path) == files_of(unbroken)
    assert manifest_of(tmp_path) == manifest_of(unbroken)


@pytest.mark.parametrize("seed", SEEDS)
def test_workers_killed_at_random_moments_cost_no_model(campaign, unbroken, tmp_path, seed):
    moments = random.Random(seed)
    with campaign.start(tmp_path) as process:
        for _ in range(KILLS):
            time.sleep(moments.uniform(1, 10))
            for worker in workers_of(process.pid)[:1]:
                os.kill(worker, signal.SIGKILL)
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    # A good model that was struck on both of its tries is among the failures, and comes back.
    campaign.finish(tmp_path, "--retry-failed")
    assert files_of(tmp_path) == files_of(unbroken)
    assert manifest_of(tmp_path) == manifest_of(unbroken)
