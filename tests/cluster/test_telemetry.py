"""Figures of jobs for Prometheus; `test_job_submit.py` reads them where Prometheus does."""

from types import SimpleNamespace

import pytest
import ray
from prometheus_client.parser import text_string_to_metric_families

from cluster.telemetry import KEPT, MetricLabels, job_telemetry
from nar.base.errors import ConfigError


def test_a_job_that_succeeds_leaves_its_metrics_and_one_that_fails_leaves_those_before(tmp_path):
    file = tmp_path / "metrics" / "nar_job_extract.prom"
    with pytest.raises(ValueError, match="no"), job_telemetry("extract", tmp_path):
        raise ValueError("no")
    assert not file.exists()
    with job_telemetry("extract", tmp_path) as telemetry:
        telemetry.records.update({"captured": 3, "failed": 2})
        telemetry.failures.update({"timeout": 2})
    families = {each.name: each for each in text_string_to_metric_families(file.read_text())}
    assert tuple(families) == KEPT
    rows = {each.labels["outcome"]: each.value for each in families["nar_job_rows"].samples}
    assert rows == {"captured": 3, "failed": 2}
    [failed] = families["nar_job_failures"].samples
    assert (failed.labels, failed.value) == ({"name": "extract", "kind": "timeout"}, 2)
    before = file.read_text()
    with pytest.raises(ValueError, match="no"), job_telemetry("extract", tmp_path):
        raise ValueError("no")
    assert file.read_text() == before


@pytest.mark.ray
def test_figures_that_are_gone_do_not_undo_a_job(ray_cluster, monkeypatch, caplog):
    monkeypatch.setenv("RAY_ADDRESS", "of a cluster that others see")
    with job_telemetry("draw") as telemetry:
        ray.kill(telemetry.actor)
    assert "the success of draw is not shown" in caplog.text


class Shown:
    """What the actor was told, called like an actor."""

    def __init__(self):
        self.told = []

    def __getattr__(self, name):
        return SimpleNamespace(remote=lambda *values: self.told.append((name, *values)))


def test_a_run_that_fails_is_counted_by_its_error_and_workspace(tmp_path, monkeypatch):
    actor = Shown()
    monkeypatch.setenv("RAY_ADDRESS", "of a cluster that others see")
    monkeypatch.setattr("cluster.telemetry._actor", lambda: actor)
    monkeypatch.setattr("cluster.telemetry.ray.get", lambda *_, **__: None)
    with pytest.raises(ConfigError), job_telemetry("embed", tmp_path):
        raise ConfigError("no such encoder")
    assert actor.told == [("fail", MetricLabels("embed", str(tmp_path)), "ConfigError")]
