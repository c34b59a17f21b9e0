"""The demo: what it shows of a server's metrics, and the whole way on a handful of models."""

from io import StringIO
from pathlib import Path

import pytest
import ray
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.table import Table

from cluster.demo import building, closing_words, mean_seconds, metrics_table, tour
from nar.serve.telemetry import Telemetry


def families_of(telemetry: Telemetry):
    text = generate_latest(telemetry.registry).decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def printed(table: Table) -> str:
    console = Console(file=StringIO(), width=100)
    console.print(table)
    return console.file.getvalue()


def used() -> Telemetry:
    telemetry = Telemetry()
    telemetry.call_ended("Search", "OK", 0.25)
    telemetry.stage_ran("encode", 0.010)
    telemetry.stage_ran("encode", 0.030)
    telemetry.index_rows.set(1_345)
    return telemetry


def test_means_are_of_the_series_that_saw_something():
    families = families_of(used())
    assert mean_seconds(families["nar_stage_duration_seconds"], "stage") == {"encode": 0.02}


def test_the_metrics_shown_are_those_that_moved():
    text = printed(metrics_table(families_of(used())))
    rows = [line.strip("│ ").split("│") for line in text.splitlines() if "│" in line]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["calls Search OK", "1"],
        ["time in encode, mean", "20.0 ms"],
        ["architectures in the index", "1,345"],
    ]


def test_every_step_of_building_works_in_the_same_directory():
    steps = building(["--select", "demo"], Path("work/demo"))
    assert [step.command[2] for step in steps] == [
        "cluster.extract",
        "cluster.pretrain",
        "cluster.embed",
    ]
    assert {step.command[-2:] for step in steps} == {("--work", "work/demo")}


def test_the_closing_words_say_where_everything_lies():
    text = closing_words(Path("work/demo"))
    assert "work/demo/corpus" in text
    assert "nar search" in text


@pytest.mark.slow
@pytest.mark.ray
def test_the_whole_way_on_a_handful_of_models(ray_cluster, tmp_path, capfd, monkeypatch):
    # Not a cluster for each command: `test_extract.py` and `test_session.py` have such commands.
    monkeypatch.setenv("RAY_ADDRESS", ray.get_runtime_context().gcs_address)
    names = ["timm:resnet18", "timm:resnet34", "timm:resnet50", "timm:vit_tiny_patch16_224"]
    tour(names, "timm:resnet26", tmp_path)
    lines = capfd.readouterr().out.splitlines()
    assert any("relatives of timm:resnet26, which is not in the corpus" in line for line in lines)
    assert any("resnet50" in line and "timm" in line for line in lines)
    assert any("calls Search OK" in line for line in lines)
    assert any("architectures in the index" in line and " 4 " in line for line in lines)
