"""Figures of jobs for Prometheus; `test_job_submit.py` reads them where Prometheus does."""

import pytest
import ray

from cluster.telemetry import job_telemetry


@pytest.mark.ray
def test_figures_that_are_gone_do_not_undo_a_job(ray_cluster, monkeypatch, caplog):
    monkeypatch.setenv("RAY_ADDRESS", "of a cluster that others see")
    with job_telemetry("draw") as telemetry:
        ray.kill(telemetry.actor)
    assert "the success of draw is not shown" in caplog.text
