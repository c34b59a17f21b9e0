"""Extraction: the same files from any number of workers, and a reason for whatever fails."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
import ray
from typer.testing import CliRunner
from waiting import wait_for

from cluster import provenance, shards
from cluster.config import ExtractConfig
from cluster.extract import app, chosen, thinned
from cluster.extraction import FAILURES, ExtractJob, ExtractReport, extract
from nar.base.asking import Asking
from nar.base.console import NOTHING_CAPTURED, TOO_MANY_FAILED
from nar.base.errors import ConfigError
from nar.base.workspace import Workspace
from nar.corpus import read_cards, read_corpus

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


def digests(directory: Path) -> dict[str, str]:
    files = directory.glob("*.parquet")
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}


def names_in(directory: Path) -> list[str]:
    return [item.labels.name for item in read_corpus(directory)]


def reasons(report: ExtractReport) -> dict[str, str]:
    return {each.name.rpartition(":")[2]: each.reason for each in report.manifest.failures}


def test_a_corpus_holds_every_model_in_sorted_order(darts_extracted, darts_names):
    assert names_in(darts_extracted.directory) == sorted(darts_names)
    assert [entry.rows for entry in darts_extracted.manifest.shards] == [4, 4, 2]
    assert darts_extracted.manifest.shards[0].file == "darts-00000.parquet"
    assert darts_extracted.manifest.sources["darts"].raw == 10
    assert "torch" in darts_extracted.manifest.packages


def test_the_report_says_where_the_time_went(darts_extracted):
    steps = darts_extracted.steps["darts"]
    counts = darts_extracted.manifest.sources["darts"]
    assert steps["graph"] > 0
    assert sum(steps.values()) == pytest.approx(counts.seconds, abs=0.1)
    assert counts.models_per_s > 0


def test_two_workers_make_the_same_files_as_one(darts_extracted, darts_names, one_worker, tmp_path):
    sizes = one_worker.model_copy(
        update={"num_workers": 2, "max_in_flight": 1, "items_per_process": 4, "batch_size": 2}
    )
    report = extract(ExtractJob(darts_names[::-1], {}), Workspace(tmp_path), sizes)
    assert digests(report.directory) == digests(darts_extracted.directory)
    assert report.manifest.shards == darts_extracted.manifest.shards


def test_a_second_run_changes_nothing(darts_workspace, darts_names, one_worker):
    before = {path: path.stat().st_mtime_ns for path in darts_workspace.corpus.iterdir()}
    report = extract(ExtractJob(darts_names, {}), darts_workspace, one_worker)
    assert (report.kept, report.captured, report.published.written) == (10, 0, 0)
    assert {path: path.stat().st_mtime_ns for path in darts_workspace.corpus.iterdir()} == before


def test_a_missing_or_damaged_shard_is_made_again_without_a_capture(
    darts_workspace, darts_names, one_worker
):
    whole = digests(darts_workspace.corpus)
    (darts_workspace.corpus / "darts-00000.parquet").unlink()
    (darts_workspace.corpus / "darts-00002.parquet").write_bytes(b"PAR1")
    report = extract(ExtractJob(darts_names, {}), darts_workspace, one_worker)
    assert (report.captured, report.published.written) == (0, 2)
    assert digests(darts_workspace.corpus) == whole


def test_a_damaged_batch_of_the_journal_is_captured_again(darts_workspace, darts_names, one_worker):
    whole = digests(darts_workspace.corpus)
    batch = max((darts_workspace.root / "ledger/extract/journal").glob("*.parquet"))
    batch.write_bytes(b"PAR1")
    report = extract(ExtractJob(darts_names, {}), darts_workspace, one_worker)
    assert report.captured > 0
    assert digests(darts_workspace.corpus) == whole


def test_another_selection_captures_only_what_is_new(darts_workspace, darts_names, one_worker):
    whole = digests(darts_workspace.corpus)
    few = extract(ExtractJob(darts_names[:2], {}), darts_workspace, one_worker)
    assert (few.captured, few.kept) == (0, 2)
    assert names_in(darts_workspace.corpus) == sorted(darts_names[:2])
    assert few.published.removed == ("darts-00001.parquet", "darts-00002.parquet")
    assert few.published.dropped == tuple(sorted(darts_names[2:]))
    again = extract(ExtractJob([*darts_names, "timm:test_vit"], {}), darts_workspace, one_worker)
    assert (again.captured, again.kept) == (1, 10)
    assert whole.items() <= digests(darts_workspace.corpus).items()


def test_changed_tables_of_labels_need_no_capture(
    darts_workspace, darts_names, one_worker, monkeypatch
):
    whole = digests(darts_workspace.corpus)
    for module in (provenance, shards):
        monkeypatch.setattr(module, "labels_identity", lambda: "another table")
    report = extract(ExtractJob(darts_names, {}), darts_workspace, one_worker)
    assert (report.captured, report.published.written) == (0, 3)
    assert digests(darts_workspace.corpus) == whole


READING = """
import json
from pathlib import Path
import torch
def factory():
    sizes = json.loads((Path(__file__).parent / "sizes.json").read_text())
    return torch.nn.Linear(8, sizes["width"]), torch.zeros(1, 8)
"""


def test_a_model_is_captured_anew_when_a_file_changes_that_it_reads(one_worker, tmp_path):
    (tmp_path / "net.py").write_text(READING)
    (tmp_path / "sizes.json").write_text('{"width": 4}')
    spec, work = f"{tmp_path}/net.py:factory", tmp_path / "work"

    def captured() -> tuple[int, str]:
        report = extract(ExtractJob([spec], {}), Workspace(work), one_worker)
        [row] = read_corpus(report.directory)
        return report.captured, row.exact

    def why() -> dict[str, object]:
        options = ["--why", spec, "--work", str(work), "--json"]
        return json.loads(CliRunner().invoke(app, options, catch_exceptions=False).stdout)

    first = captured()
    assert (first[0], captured()) == (1, (0, first[1]))
    assert why()["now"] == "is kept: nothing has changed"
    assert why()["read besides"] == [f"{tmp_path}/sizes.json"]
    (tmp_path / "sizes.json").write_text('{"width": 6}')
    assert why()["now"] == f"would be captured anew: {tmp_path}/sizes.json changed"
    again = captured()
    assert again[0] == 1
    assert again[1] != first[1]
    assert why()["captured last because"] == f"{tmp_path}/sizes.json changed"


def test_broken_files_are_named_and_counted_as_files(one_worker, tmp_path):
    long = tmp_path / ("x" * 60)
    long.mkdir()
    broken = [str(long / f"model_with_a_long_name_{letter}.onnx") for letter in "abc"]
    for path in broken:
        Path(path).write_bytes(b"nothing")
    work = str(tmp_path / "work")
    answer = CliRunner().invoke(app, [*broken, "--work", work, "--workers", "1"])
    assert answer.exit_code == NOTHING_CAPTURED
    lines = answer.stdout.splitlines()
    assert [sum(path in line for line in lines) for path in broken] == [1, 1, 1]
    manifest = json.loads((tmp_path / "work/corpus/manifest.json").read_text())
    assert manifest["sources"].keys() == {"file"}
    said = (tmp_path / "work" / FAILURES).read_text().splitlines()
    assert [json.loads(line)["name"] for line in said] == broken
    assert json.loads(said[0])["file"] == "an ONNX model"


def test_a_zoo_is_captured_under_its_names_and_labels_change_without_a_capture(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(
        "import torch\ndef factory(n=2):\n    return torch.nn.Linear(8, n), torch.zeros(1, 8)\n"
    )

    def captured(family: str) -> tuple[int, list[tuple[str, str, str]]]:
        (tmp_path / "nar.zoo.yaml").write_text(
            "labels: {task: ocr}\nmodels:\n- {name: team/small, file: 'net.py:factory'}\n"
            f"- {{name: team/large, file: 'net.py:factory(4)', labels: {{family: {family}}}}}\n"
        )
        options = ["--work", "work", "--workers", "1", "--json"]
        answer = CliRunner().invoke(app, [str(tmp_path), *options], catch_exceptions=False)
        labels = [item.labels for item in read_corpus(Path("work/corpus"))]
        rows = [(each.name, each.family, each.task) for each in labels]
        return json.loads(answer.stdout)["captured"], rows

    small = ("team/small", "unknown", "ocr")
    assert captured("one") == (2, [("team/large", "one", "ocr"), small])
    assert captured("two") == (0, [("team/large", "two", "ocr"), small])


def test_too_many_failures_have_an_exit_code(darts_names, tmp_path):
    names = [darts_names[0], "darts:no genotype", "--work", str(tmp_path), "--workers", "1"]
    assert CliRunner().invoke(app, [*names, "--max-failures", "1"]).exit_code == 0
    assert CliRunner().invoke(app, [*names, "--max-failures", "0"]).exit_code == TOO_MANY_FAILED


@pytest.mark.slow
def test_what_was_captured_is_kept_while_another_model_hangs(darts_names, bad_models, tmp_path):
    names = [*darts_names[:3], f"{bad_models}:hangs"]
    command = [sys.executable, "-m", "cluster.extract", *names, "--work", str(tmp_path / "work")]
    journal = tmp_path / "work/ledger/extract/journal"

    def kept() -> int:
        return sum(len(read_cards(each)) for each in journal.glob("*.parquet"))

    told = {"cwd": Path(__file__).parents[2], "stderr": subprocess.DEVNULL}
    # Not a cluster of its own: that job is `test_ctrl_c_keeps_what_was_captured`.
    cluster = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    with subprocess.Popen([*command, "--workers", "1"], env=cluster, **told) as job:
        wait_for(lambda: kept() == 3, or_ended=job)
        job.send_signal(signal.SIGKILL)
    assert kept() == 3


def test_bad_models_have_reasons_and_their_neighbours_are_kept(
    darts_names, one_worker, bad_models, tmp_path
):
    deeds = ("dies", "hangs", "eats", "exits", "refuses")
    sizes = one_worker.model_copy(
        # One try each, since each loses a process; `test_actors.py` counts tries.
        update={"limit_s": 40.0, "memory_limit_bytes": 4_000_000_000, "max_attempts": 1}
    )
    wrong = "darts:no genotype"
    names = [*darts_names[:3], wrong, *darts_names[3:]]
    job = ExtractJob([*names, *(f"{bad_models}:{deed}" for deed in deeds)], {})
    report = extract(job, Workspace(tmp_path), sizes)
    assert names_in(report.directory) == sorted(darts_names)
    why = reasons(report)
    assert why["dies"] == "its worker process died (1 tries)"
    assert why["hangs"] == "took longer than its limit of 40 s (1 tries)"
    assert why["eats"] == "needed more memory than its limit of 4 GB (1 tries)"
    assert why["exits"] == "bad.py:6: SystemExit: 3"
    assert "no such width" in why["refuses"]
    assert "no genotype" in why
    assert report.kinds == {"died": 1, "timeout": 1, "memory": 1, "capture": 3}
    again = extract(job, Workspace(tmp_path), sizes)
    assert again.captured == 0
    assert again.manifest == report.manifest


def test_inputs_of_files_are_stated_and_are_part_of_what_is_kept(one_worker, tmp_path, darts_names):
    file = tmp_path / "five.py"
    file.write_text("from torch import nn\ndef five():\n    return nn.Conv2d(5, 8, 3)\n")
    names, workspace = [f"{file}:five", darts_names[0]], Workspace(tmp_path / "work")
    stated = ExtractJob(names, {}, asking=Asking(("1x4x9x9",)))
    assert list(reasons(extract(stated, workspace, one_worker))) == ["five"]
    stated = replace(stated, asking=Asking(("1x5x9x9",)))
    report = extract(stated, workspace, one_worker)
    assert (report.captured, report.kept, report.manifest.failures) == (1, 1, ())


def test_failed_models_are_tried_again_only_when_asked(one_worker, tmp_path):
    file, flag = tmp_path / "moody.py", tmp_path / "flag"
    file.write_text(
        "from pathlib import Path\nfrom torch import nn\n"
        f"def moody():\n    assert Path({str(flag)!r}).exists(), 'not today'\n"
        "    return nn.Conv2d(3, 8, 3)\n"
    )
    names, workspace = [f"{file}:moody"], Workspace(tmp_path / "work")
    assert reasons(extract(ExtractJob(names, {}), workspace, one_worker)) == {
        "moody": "moody.py:4: AssertionError: not today"
    }
    flag.touch()
    assert extract(ExtractJob(names, {}), workspace, one_worker).captured == 0
    assert read_corpus(workspace.corpus) == []
    report = extract(ExtractJob(names, {}, retry_failed=True), workspace, one_worker)
    assert (report.captured, report.manifest.failures) == (1, ())
    assert names_in(workspace.corpus) == names


def test_models_of_real_libraries_are_captured(one_worker, tmp_path):
    names = ["timm:resnet18", "timm:test_vit", "torchvision:alexnet", "timm:absent"]
    job = ExtractJob(names, {"nolib": "nolib is not installed"})
    report = extract(job, Workspace(tmp_path), one_worker)
    assert names_in(report.directory) == ["timm:resnet18", "timm:test_vit", "torchvision:alexnet"]
    assert [entry.file for entry in report.manifest.shards] == [
        "timm-00000.parquet",
        "torchvision-00000.parquet",
    ]
    assert [failure.name for failure in report.manifest.failures] == ["timm:absent"]
    assert [each.source for each in report.manifest.skipped] == ["nolib"]


def test_a_changed_model_file_is_captured_again(one_worker, bad_models, tmp_path):
    job, workspace = ExtractJob([f"{bad_models}:refuses"], {}), Workspace(tmp_path)
    extract(job, workspace, one_worker)
    bad_models.write_text(bad_models.read_text().replace("width", "depth"))
    assert "no such depth" in reasons(extract(job, workspace, one_worker))["refuses"]


def test_a_corpus_without_its_ledger_needs_restart(darts_workspace, darts_names, one_worker):
    shutil.rmtree(darts_workspace.root / "ledger")
    with pytest.raises(ConfigError, match="without its ledger"):
        extract(ExtractJob(darts_names, {}), darts_workspace, one_worker)
    job = ExtractJob(darts_names[:1], {}, restart=True)
    assert extract(job, darts_workspace, one_worker).captured == 1
    assert names_in(darts_workspace.corpus) == [darts_names[0]]


@pytest.mark.usefixtures("ray_cluster")
def test_the_command_prints_its_report_as_json(darts_workspace, darts_names, tmp_path):
    specs, sizes = tmp_path / "specs.txt", tmp_path / "sizes.yaml"
    specs.write_text("\n".join(["# ten networks", *darts_names, ""]))
    sizes.write_text("extract: {shard_size: 4}")
    options = ["--work", str(darts_workspace.root), "--cluster-config", str(sizes)]
    answer = CliRunner().invoke(app, ["--specs", str(specs), *options, "--json"])
    report = json.loads(answer.stdout)
    assert answer.exit_code == 0
    assert (report["captured"], report["kept"], report["shards_written"]) == (0, 10, 0)
    assert report["manifest"]["sources"]["darts"]["raw"] == 10
    for_people = CliRunner().invoke(app, ["--specs", str(specs), *options])
    assert "10 architectures captured, 0 models failed; 0 tried now, 10 kept" in for_people.stdout


def test_nothing_asked_for_is_an_error():
    with pytest.raises(ConfigError, match="--select"):
        chosen([], [], [])


def test_a_list_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.txt"):
        chosen([], [], [tmp_path / "absent.txt"])


def test_a_limit_keeps_every_part_of_the_selection():
    assert thinned(list("aaaabbbbcc"), 5) == ["a", "a", "b", "b", "c"]
    assert thinned(["a", "b"], 5) == ["a", "b"]


@contextmanager
def hanging_job(
    directory: Path, names: Sequence[str], **environment: str
) -> Iterator["subprocess.Popen[str]"]:
    """A command that has captured ten models in its journal and hangs in another."""
    sizes = directory / "sizes.yaml"
    sizes.write_text("extract: {num_workers: 1, shard_size: 4, max_in_flight: 1, batch_size: 4}")
    options = ["--work", str(directory), "--cluster-config", str(sizes)]
    with subprocess.Popen(
        [sys.executable, "-m", "cluster.extract", *names, *options],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        journal = directory / "ledger/extract/journal"
        wait_for(lambda: len(list(journal.glob("*.parquet"))) == 2, or_ended=process)
        yield process
        process.kill()


def test_ctrl_c_keeps_what_was_captured_and_shows_no_traceback(tmp_path, darts_names, bad_models):
    with hanging_job(tmp_path, [*darts_names, f"{bad_models}:hangs"]) as job:
        os.killpg(job.pid, signal.SIGINT)
        _, errors = job.communicate()
    assert job.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert len(list((tmp_path / "ledger/extract/journal").glob("*.parquet"))) >= 2
    assert digests(tmp_path / "corpus") == {}


def test_a_killed_job_goes_on_where_it_was(darts_extracted, tmp_path, darts_names, bad_models):
    names = [*darts_names, f"{bad_models}:hangs"]
    cluster = ray.get_runtime_context().gcs_address
    with hanging_job(tmp_path, names, RAY_ADDRESS=cluster) as job:
        job.kill()
        job.wait()
    sizes = ExtractConfig(num_workers=1, shard_size=4, limit_s=20.0, max_attempts=1)
    resumed = extract(ExtractJob(names, {}), Workspace(tmp_path), sizes)
    assert resumed.kept >= 8
    # Beside these there is a shard of the source whose only model failed.
    assert digests(darts_extracted.directory).items() <= digests(resumed.directory).items()
    assert names_in(resumed.directory) == sorted(darts_names)
    assert reasons(resumed) == {"hangs": "took longer than its limit of 20 s (1 tries)"}
