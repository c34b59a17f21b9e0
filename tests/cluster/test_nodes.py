"""Bulk jobs across several nodes of this machine: what one node leaves, whoever comes and goes.

Half-way one node is killed, and another is added, or none.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import ray
from encoding import RECIPE, small_default
from nodes import ROOT, Nodes, running_nodes
from waiting import wait_for

from benchmark.campaigns.bulk import corpus_digest, index_digest
from nar.base.workspace import Workspace
from nar.encoding.embed import fingerprint, load_checkpoint, save_checkpoint
from nar.zoo.sources.darts.genotypes import genotype_at

pytestmark = pytest.mark.ray

# Slow models, so that there is a half-way.
MODELS = ROOT / "benchmark/campaigns/faulty_models.py"
SPECS = [f"{MODELS}:slow_{number}" for number in (1, 2, 3, 4)]
SPECS += [f"darts:{genotype_at(number * 10**14)}" for number in range(12)]
SIZES = """
extract: {num_workers: 2, max_in_flight: 1, shard_size: 4, batch_size: 1}
embed: {num_workers: 2, part_rows: 1}
pretrain: {num_workers: 2, max_failures: 4}
"""
EPOCHS = 20
# A job that takes so long waits for something that does not come.
HANGS_S = 600.0
Digest = Callable[[Workspace], str]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with running_nodes(2) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> Path:
    """Files that every job reads: sizes, specs, and a recipe whose stages have many epochs."""
    directory = tmp_path_factory.mktemp("settings")
    (directory / "sizes.yaml").write_text(SIZES)
    (directory / "one.yaml").write_text(SIZES.replace("num_workers: 2", "num_workers: 1"))
    (directory / "specs.txt").write_text("\n".join(SPECS))
    recipe = RECIPE.model_dump()
    recipe["graph"]["epochs"] = EPOCHS
    (directory / "nar.yaml").write_text(json.dumps({"pretraining": recipe}))
    return directory


def commands(settings: Path) -> dict[str, tuple[str, ...]]:
    return {
        "extract": ("cluster.extract", "--specs", str(settings / "specs.txt")),
        "draw": ("cluster.draw", "--count", "60"),
        "pretrain": ("cluster.pretrain", "--config", str(settings / "nar.yaml")),
        "embed": ("cluster.embed",),
    }


DIGESTS: dict[str, Digest] = {
    "extract": corpus_digest,
    "draw": corpus_digest,
    "pretrain": lambda workspace: fingerprint(load_checkpoint(workspace.checkpoint)),
    "embed": index_digest,
}
WORKERS = {
    "extract": "ray::CaptureWorker",
    "draw": "ray::DrawWorker",
    "pretrain": "ray::RayTrainWorker",
    "embed": "ray::EmbedWorker",
}
# What says that a job is on its way, below its workspace.
BEGUN = {
    "extract": "ledger/extract/journal/*.parquet",
    "draw": "ledger/draw/*.json",
    "pretrain": "pretraining/*/checkpoint_*/state.json",
    "embed": "index.db/collections/*",
}


def started(
    job: str, workspace: Workspace, settings: Path, sizes: str, environment: dict[str, str]
) -> "subprocess.Popen[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    options = ("--work", str(workspace.root), "--cluster-config", str(settings / sizes))
    return subprocess.Popen(
        [sys.executable, "-m", *commands(settings)[job], *options],
        cwd=ROOT,
        env={**kept, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(process: "subprocess.Popen[str]") -> None:
    try:
        said, _ = process.communicate(timeout=HANGS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, said


@dataclass(frozen=True)
class Alone:
    """What a single node leaves, with one worker; of pretraining with two.

    Attributes:
        root: Where.
        settings: Files that every job reads.
        address: Of the node.
    """

    root: Path
    settings: Path
    address: str

    @cache  # noqa: B019 - of a module
    def left(self, job: str) -> tuple[Workspace, str]:
        """The workspace of a job, and the digest of what is in it."""
        workspace = self.ready(self.root / job, job)
        sizes = "sizes.yaml" if job == "pretrain" else "one.yaml"
        # The token of the cluster is in the environment of the process that started it.
        token = {name: each for name, each in os.environ.items() if name.startswith("RAY_AUTH_")}
        environment = {"RAY_ADDRESS": self.address, **token}
        finished(started(job, workspace, self.settings, sizes, environment))
        return workspace, DIGESTS[job](workspace)

    def ready(self, root: Path, job: str) -> Workspace:
        """A workspace in which a job can begin."""
        workspace = Workspace(root)
        root.mkdir(parents=True)
        if job in {"pretrain", "embed"}:
            workspace.corpus.symlink_to(self.left("extract")[0].corpus)
        if job == "embed":
            save_checkpoint(workspace.checkpoint, small_default())
        return workspace


@pytest.fixture(scope="module")
def alone(settings, ray_cluster, tmp_path_factory) -> Alone:
    # The cluster that the other tests share is one node: no other is started for each job.
    address = ray.get_runtime_context().gcs_address
    return Alone(tmp_path_factory.mktemp("alone"), settings, address)


# The others take minutes; `make faults` has them.
@pytest.mark.parametrize(
    "job",
    [job if job == "extract" else pytest.param(job, marks=pytest.mark.faults) for job in DIGESTS],
)
@pytest.mark.parametrize("comes", [True, False], ids=["another_comes", "none_comes"])
def test_a_node_that_goes_changes_nothing(job, comes, nodes, alone, settings, tmp_path):
    if job == "pretrain" and not comes:
        pytest.skip("two ranks have no place on the node that is left")
    wanted = alone.left(job)[1]
    workspace = alone.ready(tmp_path / job, job)
    process = started(job, workspace, settings, "sizes.yaml", nodes.environment)

    def is_working() -> bool:
        has_begun = any(workspace.root.glob(BEGUN[job]))
        return has_begun and bool(nodes.processes(WORKERS[job]))

    wait_for(lambda: is_working() or process.poll() is not None)
    assert process.poll() is None, process.communicate()[0]
    nodes.remove(nodes.workers[0])
    if comes:
        nodes.add()
    try:
        finished(process)
    finally:
        if not comes:
            nodes.add()  # for the tests after this one
    assert DIGESTS[job](workspace) == wanted


def test_a_worker_that_no_node_can_hold_is_refused_with_what_they_have(nodes, tmp_path):
    sizes = tmp_path / "sizes.yaml"
    sizes.write_text("extract: {cpus: 3}")
    options = ("--work", str(tmp_path / "work"), "--cluster-config", str(sizes))
    ended = subprocess.run(
        [sys.executable, "-m", "cluster.extract", SPECS[-1], *options],
        cwd=ROOT,
        env={**os.environ, **nodes.environment},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2
    assert "error no room for 1 worker of CPU=3; the cluster has " in ended.stderr
    assert "1 node of CPU=0, GPU=0, memory=" in ended.stderr


def test_workers_keep_to_the_nodes_with_their_labels(nodes, tmp_path):
    sizes = "extract: {num_workers: 1, labels: {kind: cutting}}"
    (tmp_path / "sizes.yaml").write_text(sizes)
    command = (sys.executable, "-m", "cluster.extract", *SPECS[:4])
    options = ("--work", str(tmp_path / "work"), "--cluster-config", str(tmp_path / "sizes.yaml"))
    told = {"cwd": ROOT, "env": {**os.environ, **nodes.environment}, "text": True}
    refused = subprocess.run([*command, *options], **told, capture_output=True)
    assert "labelled kind=cutting" in refused.stderr
    node = nodes.add(labels={"kind": "cutting"})
    process = subprocess.Popen(
        [*command, *options], **told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    wait_for(lambda: bool(nodes.processes("ray::CaptureWorker")), or_ended=process)
    working = {each.pid for each in nodes.processes("ray::CaptureWorker")}
    assert working <= {each.pid for each in node.below}
    finished(process)
    nodes.remove(node)


@pytest.mark.parametrize(
    "is_killed", [pytest.param(False, marks=pytest.mark.faults), True], ids=["stays", "killed"]
)
def test_some_nodes_cut_and_others_encode(nodes, alone, tmp_path, is_killed):
    sizes = (
        "embed: {num_workers: 1, part_rows: 1, labels: {kind: cuts}, "
        "encoders: {num_workers: 1, labels: {kind: encodes}}}"
    )
    (tmp_path / "sizes.yaml").write_text(sizes)
    workspace = alone.ready(tmp_path / "work", "embed")
    cutting, encoding = (nodes.add(labels={"kind": kind}) for kind in ("cuts", "encodes"))
    job = started("embed", workspace, tmp_path, "sizes.yaml", nodes.environment)
    wait_for(lambda: bool([*workspace.root.glob(BEGUN["embed"])]), or_ended=job)
    for title, node in (("ray::EmbedWorker", cutting), ("ray::EncodeWorker", encoding)):
        wait_for(lambda title=title: bool(nodes.processes(title)), or_ended=job)
        working = {each.pid for each in nodes.processes(title)}
        assert working <= {each.pid for each in node.below}
    if is_killed:
        nodes.remove(encoding)
        encoding = nodes.add(labels={"kind": "encodes"})
    finished(job)
    assert index_digest(workspace) == alone.left("embed")[1]
    for node in (cutting, encoding):
        nodes.remove(node)
