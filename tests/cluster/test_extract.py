"""Extraction: the same files from any number of workers, and a row for whatever fails."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner
from waiting import wait_for

from cluster.extract import app, chosen, thinned
from cluster.extraction import extract
from nar.corpus import read_corpus
from nar.errors import ConfigError
from nar.workspace import Workspace

pytestmark = pytest.mark.ray


def digests(directory: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in directory.glob("shard-*")}


def names_in(directory: Path) -> list[str]:
    return [item.labels.name for item in read_corpus(directory)]


def test_a_corpus_holds_every_model_in_sorted_order(darts_extracted, darts_names):
    assert names_in(darts_extracted.directory) == sorted(darts_names)
    assert [entry.rows for entry in darts_extracted.manifest.shards] == [4, 4, 2]
    assert darts_extracted.manifest.sources["darts"].raw == 10
    assert "torch" in darts_extracted.manifest.packages


def test_two_workers_make_the_same_files_as_one(darts_extracted, darts_names, one_worker, tmp_path):
    sizes = one_worker.model_copy(update={"num_workers": 2, "max_in_flight": 1})
    report = extract(darts_names[::-1], Workspace(tmp_path), sizes)
    assert digests(report.directory) == digests(darts_extracted.directory)
    assert report.manifest.shards == darts_extracted.manifest.shards


def test_a_second_run_changes_nothing(darts_workspace, darts_names, one_worker):
    before = {path: path.stat().st_mtime_ns for path in darts_workspace.corpus.iterdir()}
    report = extract(darts_names, darts_workspace, one_worker)
    assert (report.kept, report.written) == (3, 0)
    assert {path: path.stat().st_mtime_ns for path in darts_workspace.corpus.iterdir()} == before


def test_a_missing_or_damaged_shard_alone_is_made_again(darts_workspace, darts_names, one_worker):
    whole = digests(darts_workspace.corpus)
    (darts_workspace.corpus / "shard-00000.parquet").unlink()
    (darts_workspace.corpus / "shard-00002.parquet").write_bytes(b"PAR1")
    report = extract(darts_names, darts_workspace, one_worker)
    assert (report.kept, report.written) == (1, 2)
    assert digests(darts_workspace.corpus) == whole


def test_models_that_fail_are_rows_and_their_neighbours_are_kept(
    darts_names, one_worker, bad_models, tmp_path
):
    bad = [f"{bad_models}:{name}" for name in ("dies", "hangs", "refuses")]
    sizes = one_worker.model_copy(update={"num_workers": 2, "limit_s": 5.0})
    names, place = [*darts_names, *bad], Workspace(tmp_path)
    report = extract(names, place, sizes)
    assert names_in(report.directory) == sorted(darts_names)
    reasons = {each.name.rpartition(":")[2]: each.reason for each in report.manifest.failures}
    assert reasons["dies"] == "its worker process died on each of 2 tries"
    assert reasons["hangs"] == "took longer than its limit of 5 s"
    assert "no such width" in reasons["refuses"]
    assert extract(names, place, sizes).manifest == report.manifest


def test_a_shard_of_failures_alone_is_an_empty_file(one_worker, bad_models, tmp_path):
    report = extract([f"{bad_models}:refuses"], Workspace(tmp_path), one_worker)
    assert read_corpus(report.directory) == []
    assert len(report.manifest.failures) == 1


def test_models_of_real_libraries_are_captured(one_worker, tmp_path):
    names = ["timm:resnet18", "timm:test_vit", "torchvision:alexnet", "timm:absent"]
    report = extract(names, Workspace(tmp_path), one_worker)
    assert names_in(report.directory) == ["timm:resnet18", "timm:test_vit", "torchvision:alexnet"]
    assert [failure.name for failure in report.manifest.failures] == ["timm:absent"]


def test_another_selection_needs_restart(darts_workspace, darts_names, one_worker):
    with pytest.raises(ConfigError, match="--restart"):
        extract(darts_names[:5], darts_workspace, one_worker)
    extract(darts_names[:5], darts_workspace, one_worker, restart=True)
    assert names_in(darts_workspace.corpus) == sorted(darts_names[:5])


def test_a_changed_model_file_needs_restart(one_worker, bad_models, tmp_path):
    names, place = [f"{bad_models}:refuses"], Workspace(tmp_path)
    extract(names, place, one_worker)
    bad_models.write_text(bad_models.read_text().replace("width", "depth"))
    with pytest.raises(ConfigError, match="--restart"):
        extract(names, place, one_worker)


def test_a_corpus_without_its_ledger_needs_restart(darts_workspace, darts_names, one_worker):
    shutil.rmtree(darts_workspace.root / "ledger")
    with pytest.raises(ConfigError, match="without its ledger"):
        extract(darts_names, darts_workspace, one_worker)


@pytest.mark.usefixtures("ray_cluster")
def test_the_command_prints_its_report_as_json(darts_workspace, darts_names, tmp_path):
    specs, sizes = tmp_path / "specs.txt", tmp_path / "sizes.yaml"
    specs.write_text("\n".join(["# ten networks", *darts_names, ""]))
    sizes.write_text("extract: {shard_size: 4}")
    places = ["--work", str(darts_workspace.root), "--cluster-config", str(sizes)]
    answer = CliRunner().invoke(app, ["--specs", str(specs), *places, "--json"])
    report = json.loads(answer.stdout)
    assert answer.exit_code == 0
    assert (report["shards_kept"], report["shards_written"]) == (3, 0)
    assert report["manifest"]["sources"]["darts"]["raw"] == 10


def test_nothing_asked_for_is_an_error():
    with pytest.raises(ConfigError, match="--select"):
        chosen([], [], [])


def test_a_list_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.txt"):
        chosen([], [], [tmp_path / "absent.txt"])


def test_a_limit_keeps_every_part_of_the_selection():
    assert thinned(list("aaaabbbbcc"), 5) == ["a", "a", "b", "b", "c"]
    assert thinned(["a", "b"], 5) == ["a", "b"]


@pytest.fixture
def job(tmp_path, darts_names, bad_models) -> Iterator["subprocess.Popen[str]"]:
    """A command that has finished two shards of three and hangs in a model of the first."""
    sizes = tmp_path / "sizes.yaml"
    sizes.write_text("extract: {num_workers: 1, shard_size: 4, max_in_flight: 1}")
    places = ["--work", str(tmp_path), "--cluster-config", str(sizes)]
    names = [*darts_names, f"{bad_models}:hangs"]
    with subprocess.Popen(
        [sys.executable, "-m", "cluster.extract", *names, *places],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        finished = tmp_path / "ledger" / "extract"
        wait_for(lambda: len(list(finished.glob("shard-*.json"))) == 2, or_ended=process)
        yield process
        process.kill()


def test_ctrl_c_leaves_finished_shards_and_no_traceback(job, tmp_path):
    os.killpg(job.pid, signal.SIGINT)
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert sorted(digests(tmp_path / "corpus")) == ["shard-00001.parquet", "shard-00002.parquet"]


@pytest.mark.usefixtures("ray_cluster")
def test_a_killed_job_goes_on_where_it_was(job, tmp_path, darts_names, one_worker, bad_models):
    job.kill()
    job.wait()
    names = [*darts_names, f"{bad_models}:hangs"]
    sizes = one_worker.model_copy(update={"limit_s": 2.0})
    resumed = extract(names, Workspace(tmp_path), sizes)
    assert (resumed.kept, resumed.written) == (2, 1)
    unbroken = extract(names, Workspace(tmp_path / "unbroken"), sizes)
    assert digests(resumed.directory) == digests(unbroken.directory)
