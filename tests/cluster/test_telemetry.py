"""Figures of jobs for Prometheus; `test_job_submit.py` reads them where Prometheus does."""

import pytest
import ray

from cluster.telemetry import telling


@pytest.mark.ray
def test_figures_that_are_gone_do_not_undo_a_job(ray_cluster, monkeypatch, caplog):
    monkeypatch.setenv("RAY_ADDRESS", "of a cluster that others see")
    with telling("draw") as teller:
        ray.kill(teller.actor)
    assert "the success of draw is not shown" in caplog.text
