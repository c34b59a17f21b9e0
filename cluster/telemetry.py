"""Metrics of running jobs for Prometheus, on a cluster that outlives the jobs.

Ray exports the metrics of its processes, and forgets them when the processes end. So each cluster
has one small actor that outlives the jobs and shows the metrics of all jobs, the last success
included. The metrics are
``ray_nar_job_records`` by outcome, ``ray_nar_job_shards`` by state, ``ray_nar_job_left_seconds``
and ``ray_nar_job_last_success_timestamp_seconds``, each by job.

A job on a cluster of its own has nobody to ask. So each job that succeeds also leaves
``metrics/nar_job_NAME.prom`` in its workspace, for the textfile collector of a node exporter: when
it succeeded, how long it took, and its records by outcome, failures by their kind.
"""

import logging
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import ray
from ray.actor import ActorHandle
from ray.exceptions import RayError
from ray.util.metrics import Gauge

from nar.base.console import Pace
from nar.base.files import write_whole

JobName = Literal["extract", "draw", "embed", "pretrain"]
ACTOR: Final = "nar-telemetry"
# Chosen: the least time between two reports, below every usual interval of Prometheus.
EVERY_S: Final = 2.0
# Chosen: how long a job waits at its end for the actor to show the last metrics. A busy actor
# answers in seconds, and a lost actor holds up the job for no longer than this.
WAIT_S: Final = 30.0


class TelemetryActor:
    """Shows the metrics of every job of a cluster."""

    def __init__(self) -> None:
        self._shown: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._records = Gauge("nar_job_records", "Records of a job.", ("job", "outcome"))
        self._shards = Gauge("nar_job_shards", "Shards of a job.", ("job", "state"))
        self._left = Gauge("nar_job_left_seconds", "How long a job takes from here.", ("job",))
        self._success = Gauge(
            "nar_job_last_success_timestamp_seconds", "When a job last succeeded.", ("job",)
        )

    def show(
        self, job: str, records: Mapping[str, int], shards: Mapping[str, int], left_s: float
    ) -> None:
        """Show how far a job is."""
        self._set(self._records, "outcome", job, records)
        self._set(self._shards, "state", job, shards)
        self._left.set(left_s, {"job": job})

    def _set(self, gauge: Gauge, label: str, job: str, counts: Mapping[str, int]) -> None:
        """Set a gauge; a label that only an earlier run had gets 0."""
        self._shown[label, job] |= counts.keys()
        for name in self._shown[label, job]:
            gauge.set(counts.get(name, 0), {"job": job, label: name})

    def succeed(self, job: str, at: float) -> None:
        """Show when a job has succeeded."""
        self._success.set(at, {"job": job})


@dataclass(slots=True)
class JobTelemetry:
    """How far one job is, sent to the actor that shows it.

    Attributes:
        job: Its name.
        actor: The actor that shows it; None on a private cluster.
        total: How many records it will have when it is done.
        records: Records counted so far, by outcome.
        shards: Number of shards by state.
        failures: Records that failed, by kind.
    """

    job: JobName
    actor: ActorHandle[Any] | None
    total: int = 0
    records: Counter[str] = field(default_factory=Counter)
    shards: dict[str, int] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    pace: Pace = field(default_factory=Pace)
    _sent_at: float = 0.0

    def count(self, outcome: str, number: int = 1) -> None:
        """Count records of an outcome."""
        self.records[outcome] += number
        self.pace.note(time.monotonic(), self.records.total())
        if time.monotonic() - self._sent_at >= EVERY_S:
            self.send()

    def send(self) -> None:
        """Send everything now."""
        self._sent_at = time.monotonic()
        if self.actor is None:
            return
        done = self.records.total()
        left_s = self.pace.left_s(self._sent_at, done, self.total)
        self.actor.show.remote(self.job, dict(self.records), dict(self.shards), left_s)


@contextmanager
def job_telemetry(job: JobName, root: Path | None = None) -> Iterator[JobTelemetry]:
    """Show how far the body is, and that it has succeeded if it raises nothing.

    Args:
        job: Its name.
        root: The workspace that keeps its metrics; None keeps none.
    """
    # A private cluster ends with the job, so nobody looks at its metrics.
    is_shared = "RAY_ADDRESS" in os.environ
    telemetry = JobTelemetry(job, _actor() if is_shared else None)
    yield telemetry
    telemetry.total = telemetry.records.total()
    telemetry.send()
    if root is not None:
        _keep(telemetry, root / "metrics")
    if telemetry.actor is None:
        return
    try:
        ray.get(telemetry.actor.succeed.remote(job, time.time()), timeout=WAIT_S)
    except RayError as error:
        # The job is done, even if its metrics were lost with a node.
        logging.getLogger(__name__).warning("the success of %s is not shown: %s", job, error)


# What `_keep` writes. The label is not called job, which is Prometheus' own word for a target.
KEPT: Final = (
    "nar_job_last_success_timestamp_seconds",
    "nar_job_duration_seconds",
    "nar_job_rows",
    "nar_job_failures",
)


def _keep(telemetry: JobTelemetry, directory: Path) -> None:
    """Write the metrics of a job that has succeeded, whole or not at all."""
    name = f'name="{telemetry.job}"'
    taken_s = time.monotonic() - telemetry.pace.began
    rows = {f'{name},outcome="{each}"': count for each, count in telemetry.records.items()}
    failures = {f'{name},kind="{each}"': count for each, count in telemetry.failures.items()}
    text = ""
    samples: tuple[Mapping[str, float], ...] = (
        {name: time.time()},
        {name: taken_s},
        rows,
        failures,
    )
    for metric, values in zip(KEPT, samples, strict=True):
        text += f"# TYPE {metric} gauge\n"
        text += "".join(f"{metric}{{{labels}}} {value:.3f}\n" for labels, value in values.items())
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"nar_job_{telemetry.job}.prom"
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def _actor() -> ActorHandle[Any]:
    """The actor of this cluster, started by the first job."""
    remote: Any = ray.remote(TelemetryActor)
    # On any node, and restarted if its node is lost.
    how = {"name": ACTOR, "namespace": ACTOR, "lifetime": "detached", "get_if_exists": True}
    again = {"max_restarts": -1, "max_task_retries": -1}
    actor: ActorHandle[Any] = remote.options(**how, **again, num_cpus=0).remote()
    return actor
