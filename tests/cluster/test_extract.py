"""Extraction: the same files from any number of workers, and a row for whatever fails."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner
from waiting import wait_for

from cluster.config import ExtractConfig
from cluster.extract import app, chosen, thinned
from cluster.extraction import ExtractReport, extract
from nar.corpus import read_corpus
from nar.errors import ConfigError
from nar.workspace import Workspace
from nar.zoo.darts import genotype_at

pytestmark = pytest.mark.ray

DARTS = [f"darts:{genotype_at(number * 10**15)}" for number in range(10)]
SIZES = ExtractConfig(num_workers=2, shard_size=4, limit_s=20.0)

BAD_MODELS = """
import os, threading

def dies():
    os._exit(1)

def hangs():
    threading.Event().wait()

def refuses():
    raise ValueError("no such width")
"""


@pytest.fixture
def bad_models(tmp_path) -> Path:
    path = tmp_path / "bad.py"
    path.write_text(BAD_MODELS)
    return path


def digests(directory: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in directory.glob("shard-*")}


def run(names: list[str], root: Path, **settings: float) -> ExtractReport:
    return extract(names, Workspace(root), SIZES.model_copy(update=settings))


@pytest.mark.usefixtures("ray_cluster")
class TestExtract:
    def test_a_corpus_holds_every_model_in_sorted_order(self, tmp_path):
        report = run(DARTS[::-1], tmp_path)
        assert [item.labels.name for item in read_corpus(report.directory)] == sorted(DARTS)
        assert [entry.rows for entry in report.manifest.shards] == [4, 4, 2]
        assert report.manifest.sources["darts"].raw == 10
        assert "torch" in report.manifest.packages

    def test_one_worker_and_two_make_the_same_files(self, tmp_path):
        one = run(DARTS, tmp_path / "one", num_workers=1, max_in_flight=1)
        two = run(DARTS, tmp_path / "two", num_workers=2)
        assert digests(one.directory) == digests(two.directory)
        assert one.manifest.shards == two.manifest.shards

    def test_a_second_run_changes_nothing(self, tmp_path):
        first = run(DARTS, tmp_path)
        before = {path: path.stat().st_mtime_ns for path in first.directory.iterdir()}
        second = run(DARTS, tmp_path)
        assert (second.kept, second.written) == (3, 0)
        assert {path: path.stat().st_mtime_ns for path in first.directory.iterdir()} == before

    def test_a_missing_or_damaged_shard_alone_is_made_again(self, tmp_path):
        first = run(DARTS, tmp_path)
        whole = digests(first.directory)
        (first.directory / "shard-00000.parquet").unlink()
        (first.directory / "shard-00002.parquet").write_bytes(b"PAR1")
        second = run(DARTS, tmp_path)
        assert (second.kept, second.written) == (1, 2)
        assert digests(second.directory) == whole

    def test_models_that_fail_are_rows_and_their_neighbours_are_kept(self, tmp_path, bad_models):
        bad = [f"{bad_models}:{name}" for name in ("dies", "hangs", "refuses")]
        report = run([*DARTS, *bad], tmp_path, limit_s=5.0)
        assert [item.labels.name for item in read_corpus(report.directory)] == sorted(DARTS)
        reasons = {each.name.rpartition(":")[2]: each.reason for each in report.manifest.failures}
        assert reasons["dies"] == "its worker process died on each of 2 tries"
        assert reasons["hangs"] == "took longer than its limit of 5 s"
        assert "no such width" in reasons["refuses"]
        assert run([*DARTS, *bad], tmp_path).manifest == report.manifest

    def test_a_shard_of_failures_alone_is_an_empty_file(self, tmp_path, bad_models):
        report = run([f"{bad_models}:refuses"], tmp_path)
        assert read_corpus(report.directory) == []
        assert len(report.manifest.failures) == 1

    def test_another_selection_needs_restart(self, tmp_path):
        run(DARTS, tmp_path)
        with pytest.raises(ConfigError, match="--restart"):
            run(DARTS[:5], tmp_path)
        report = extract(DARTS[:5], Workspace(tmp_path), SIZES, restart=True)
        assert [item.labels.name for item in read_corpus(report.directory)] == sorted(DARTS[:5])

    def test_a_changed_model_file_needs_restart(self, tmp_path, bad_models):
        names = [f"{bad_models}:refuses"]
        run(names, tmp_path)
        bad_models.write_text(BAD_MODELS.replace("width", "depth"))
        with pytest.raises(ConfigError, match="--restart"):
            run(names, tmp_path)

    def test_the_command_prints_its_report_as_json(self, tmp_path):
        specs = tmp_path / "specs.txt"
        specs.write_text("\n".join(["# three networks", *DARTS[:3], ""]))
        arguments = ["--specs", str(specs), "--work", str(tmp_path / "work"), "--json"]
        answer = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert answer.exit_code == 0
        assert json.loads(answer.stdout)["manifest"]["sources"]["darts"]["raw"] == 3


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
def job(tmp_path, bad_models) -> Iterator["subprocess.Popen[str]"]:
    """A command that has finished two shards of three and hangs in a model of the first."""
    sizes = tmp_path / "sizes.yaml"
    sizes.write_text("extract: {num_workers: 1, shard_size: 4, max_in_flight: 1}")
    places = ["--work", str(tmp_path), "--cluster-config", str(sizes)]
    command = [sys.executable, "-m", "cluster.extract", *DARTS, f"{bad_models}:hangs", *places]
    pipes = {"stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], **pipes) as process:
        wait_for(
            lambda: len(list(tmp_path.glob("ledger/extract/shard-*.json"))) == 2, or_ended=process
        )
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
def test_a_killed_job_goes_on_where_it_was(job, tmp_path, bad_models):
    job.kill()
    job.wait()
    names = [*DARTS, f"{bad_models}:hangs"]
    resumed = run(names, tmp_path, limit_s=2.0)
    assert (resumed.kept, resumed.written) == (2, 1)
    unbroken = run(names, tmp_path / "unbroken", limit_s=2.0)
    assert digests(resumed.directory) == digests(unbroken.directory)
