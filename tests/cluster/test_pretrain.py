"""Pretraining under Ray Train: what one process gives, to the bit, even when its worker dies."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import psutil
import pytest
import torch
from corpora import corpus
from encoding import DEFAULT_RECIPE, RECIPE, three_families
from ray.train import WorkerGroupError
from s3_server import upload
from typer.testing import CliRunner
from waiting import wait_for

from cluster.config import PretrainConfig
from cluster.pretrain import app, last_losses, summary
from cluster.pretraining import (
    RUNS,
    PretrainReport,
    cause,
    pretrain_on_cluster,
    run_name,
    scaling,
)
from nar.base.errors import ConfigError, CorpusError
from nar.base.workspace import Workspace
from nar.config import NarConfig
from nar.corpus import located, read_corpus
from nar.corpus.manifest import Manifest
from nar.encoding.embed import Embedder, fingerprint, load_checkpoint
from nar.encoding.training import EpochReport, pretrain
from nar.graphs.architecture import Labels, architecture

CONFIG = NarConfig(pretraining=RECIPE)
FAMILIES = ("resnet", "bert", "swin")
REPOSITORY = Path(__file__).parents[2]
EPOCHS = 20  # enough for a kill in between


def write_corpus(directory: Path) -> Manifest:
    rows = [
        architecture(Labels(f"file:{n}", "file", "-", FAMILIES[n // 3], "-"), graph)
        for n, graph in enumerate(three_families())
    ]
    return Manifest.read(corpus(directory, rows))


@pytest.fixture
def workspace(tmp_path):
    write_corpus(tmp_path / "corpus")
    return Workspace(tmp_path)


def in_this_process(workspace: Workspace, config: NarConfig = CONFIG) -> str:
    """Fingerprint of the encoder that the library alone makes of a corpus."""
    rows = read_corpus(workspace.corpus)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    encoder = pretrain(rows, config.motifs, config.pretraining)
    torch.set_num_threads(threads)
    return fingerprint(encoder)


def command(workspace: Workspace, config: NarConfig) -> dict[str, object]:
    """What the command answers a program."""
    settings = written(workspace, config)
    options = ["--work", str(workspace.root), "--config", str(settings), "--json"]
    return json.loads(CliRunner().invoke(app, options, catch_exceptions=False).stdout)


def written(workspace: Workspace, config: NarConfig) -> Path:
    """The file that says the same to the command."""
    settings = workspace.root / "nar.yaml"
    settings.write_text(json.dumps({"pretraining": config.pretraining.model_dump()}))
    return settings


def states(workspace: Workspace) -> list[Path]:
    """The epochs of any run that are safe."""
    return [*workspace.root.glob(f"{RUNS}/*/checkpoint_*/state.json")]


def training_processes() -> list[int]:
    """The workers of Ray Train below this process."""
    below = psutil.Process().children(recursive=True)
    return [process.pid for process in below if "RayTrainWorker" in process.name()]


@pytest.mark.ray
def test_neither_an_object_store_nor_a_killed_worker_changes_the_result(
    workspace, ray_cluster, s3_uri
):
    graph = DEFAULT_RECIPE.graph.model_copy(update={"epochs": EPOCHS})
    longer = DEFAULT_RECIPE.model_copy(update={"graph": graph})
    config = NarConfig(pretraining=longer)
    wanted = in_this_process(workspace, config)
    stored = s3_uri.format("pretrain/corpus")
    upload(workspace.corpus, stored)
    rmtree(workspace.corpus)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(
            pretrain_on_cluster, workspace, config, PretrainConfig(), corpus=located(stored)
        )
        wait_for(lambda: run.done() or bool(states(workspace)), limit_s=500)
        killed = training_processes()
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        report = run.result()
    assert killed
    assert report.epochs[-1].epoch == EPOCHS
    assert report.fingerprint == wanted


@pytest.mark.ray
@pytest.mark.faults
@pytest.mark.parametrize("is_damaged", [False, True], ids=["whole", "damaged"])
def test_a_killed_driver_goes_on_from_the_newest_state_that_is_whole(workspace, is_damaged):
    graph = RECIPE.graph.model_copy(update={"epochs": EPOCHS})
    config = NarConfig(pretraining=RECIPE.model_copy(update={"graph": graph}))
    settings = written(workspace, config)
    options = ["--work", str(workspace.root), "--config", str(settings), "--json"]
    start = [sys.executable, "-m", "cluster.pretrain", *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    silent = subprocess.DEVNULL
    with subprocess.Popen(
        start, cwd=REPOSITORY, env=kept, start_new_session=True, stdout=silent, stderr=silent
    ) as process:
        wait_for(lambda: len(kept_by_ray(workspace)) > 1 or process.poll() is not None)
        assert process.poll() is None, "it ended before it was killed"
        below = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGKILL)
    # Its cluster goes with it, and takes a moment in which it may train on.
    psutil.wait_procs(below, timeout=300)
    if is_damaged:
        newest = kept_by_ray(workspace)[-1] / "state.safetensors"
        content = bytearray(newest.read_bytes())
        content[-1] ^= 1
        newest.write_bytes(content)
    again = subprocess.run(start, cwd=REPOSITORY, env=kept, capture_output=True, check=True)
    assert json.loads(again.stdout)["fingerprint"] == in_this_process(workspace, config)


def kept_by_ray(workspace: Workspace) -> list[Path]:
    """The states that Ray Train knows of; it would go on from the last."""
    found = workspace.root.glob(f"{RUNS}/*/checkpoint_manager_snapshot.json")
    told = [(path.parent, json.loads(path.read_text())) for path in found]
    return sorted(
        root / result["checkpoint_dir_name"]
        for root, content in told
        for result in content["checkpoint_results"]
    )


@pytest.fixture(scope="module")
def learned(ray_cluster, tmp_path_factory) -> tuple[Workspace, PretrainReport]:
    """A workspace in which two workers have learned, and their report."""
    workspace = Workspace(tmp_path_factory.mktemp("learned"))
    write_corpus(workspace.corpus)
    return workspace, pretrain_on_cluster(workspace, CONFIG, PretrainConfig(num_workers=2))


# Of one recipe: `tests/encoding/test_together.py` has ranks of both learn what one learns.
@pytest.mark.ray
def test_two_workers_share_every_batch(learned):
    workspace, report = learned
    assert len(report.epochs) == RECIPE.motif.epochs + RECIPE.graph.epochs
    embedder = Embedder(load_checkpoint(workspace.checkpoint))
    assert embedder.fingerprint == report.fingerprint
    assert embedder.embed(three_families()).shape == (9, embedder.dim)


@pytest.mark.ray
def test_a_second_run_learns_nothing_and_gives_the_same(learned):
    workspace, report = learned
    rmtree(workspace.checkpoint)
    again = command(workspace, CONFIG)
    assert again["losses"] == {}
    assert again["fingerprint"] == report.fingerprint


def test_the_errors_of_a_worker_arrive_as_what_they_are():
    ours = ConfigError("take a learning_rate below 1")
    assert cause(WorkerGroupError("-", {0: RuntimeError("peer left"), 1: ours})) is ours


def test_other_failures_say_what_happened():
    error = cause(WorkerGroupError("rank 0:\nthe worker died", {0: RuntimeError("-")}))
    assert str(error) == "pretraining failed: the worker died; run it again to go on"


@pytest.mark.ray
def test_more_workers_than_cpus_share_them(ray_cluster):
    wanted = scaling(PretrainConfig(num_workers=64, gpus=0))
    assert wanted.resources_per_worker["CPU"] < 1
    with pytest.raises(ConfigError, match=r"64 workers for \d+ GPUs"):
        scaling(PretrainConfig(num_workers=64, gpus=1))


def test_a_missing_corpus_is_said_before_anything_starts(tmp_path):
    with pytest.raises(CorpusError, match=r"cluster\.extract"):
        pretrain_on_cluster(Workspace(tmp_path), CONFIG, PretrainConfig())


def test_too_small_a_corpus_is_said_before_anything_starts(workspace):
    with pytest.raises(ConfigError, match="each of 6 workers, came"):
        pretrain_on_cluster(workspace, CONFIG, PretrainConfig(num_workers=6))


def test_a_run_is_named_by_corpus_and_recipe(tmp_path):
    manifest = write_corpus(tmp_path / "corpus")
    other = manifest.model_copy(update={"shards": ()})
    names = {run_name(manifest, CONFIG), run_name(other, CONFIG), run_name(manifest, NarConfig())}
    assert len(names) == 3


REPORT = PretrainReport(
    directory=Path("work/checkpoint"),
    fingerprint="0123456789abcdef",
    architectures=1300,
    epochs=(
        EpochReport("motifs", 1, 1, 4.5),
        EpochReport("graphs", 1, 2, 3.5),
        EpochReport("graphs", 2, 2, 2.25),
    ),
    seconds=12.3,
)


def test_the_report_names_the_last_loss_of_each_stage():
    assert last_losses(REPORT) == {"motifs": 4.5, "graphs": 2.25}
    assert summary(REPORT) == (
        "encoder 0123456789ab from 1,300 architectures in 12 s (3 epochs, loss motifs 4.500, "
        "graphs 2.250), in work/checkpoint"
    )


def test_a_run_with_nothing_left_says_so():
    assert "(nothing left to train)" in summary(replace(REPORT, epochs=()))
