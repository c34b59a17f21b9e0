"""Metrics of running jobs for Prometheus, on a cluster that outlives the jobs.

Ray exports the metrics of its processes, and forgets them when the processes end. So each cluster
has one small actor that outlives the jobs and shows the metrics of all jobs, the last success
included. The metrics are
``ray_nar_job_records`` by outcome, ``ray_nar_job_shards`` by state, ``ray_nar_job_failures`` by
kind, ``ray_nar_job_loss`` by stage, ``ray_nar_job_left_seconds``,
``ray_nar_job_last_success_timestamp_seconds`` and ``ray_nar_job_failed_runs_total`` by the error,
each by job and workspace. ``ray_nar_job_run`` is 1 for the run that was last begun: a label of its
own on every metric would leave a series of each night, and sums over them would count rows many
times.

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
from ray.util.metrics import Counter as RunCounter
from ray.util.metrics import Gauge

from nar.base.console import Pace
from nar.base.files import write_whole

JobName = Literal["extract", "draw", "embed", "pretrain"]
# The number counts up when the actor's methods change: an older actor may live on.
ACTOR: Final = "nar-telemetry-2"
# Chosen: the least time between two reports, below every usual interval of Prometheus.
EVERY_S: Final = 2.0
# Chosen: how long a job waits at its end for the actor to show the last metrics. A busy actor
# answers in seconds, and a lost actor holds up the job for no longer than this.
WAIT_S: Final = 30.0


_OF: Final = ("job", "workspace")


@dataclass(frozen=True, slots=True)
class MetricLabels:
    """The job and the workspace that metrics belong to.

    Attributes:
        job: Name of the job.
        workspace: Path of its workspace; empty where it has none.
    """

    job: str
    workspace: str

    @property
    def labels(self) -> dict[str, str]:
        """The labels of every metric."""
        return {"job": self.job, "workspace": self.workspace}


class TelemetryActor:
    """Shows the metrics of every job of a cluster."""

    def __init__(self) -> None:
        self._shown: defaultdict[tuple[str, MetricLabels], set[str]] = defaultdict(set)
        self._gauges = {
            "outcome": Gauge("nar_job_records", "Records of a job.", (*_OF, "outcome")),
            "state": Gauge("nar_job_shards", "Shards of a job.", (*_OF, "state")),
            "kind": Gauge("nar_job_failures", "Records that failed.", (*_OF, "kind")),
            "stage": Gauge("nar_job_loss", "The last loss of each stage.", (*_OF, "stage")),
            "run": Gauge("nar_job_run", "1 for the run that was last begun.", (*_OF, "run")),
        }
        self._left = Gauge("nar_job_left_seconds", "How long a job takes from here.", _OF)
        self._success = Gauge(
            "nar_job_last_success_timestamp_seconds", "When a job last succeeded.", _OF
        )
        self._failed = RunCounter("nar_job_failed_runs", "Runs that failed.", (*_OF, "reason"))

    def show(
        self, of: MetricLabels, counts: Mapping[str, Mapping[str, float]], left_s: float
    ) -> None:
        """Show how far a job is.

        Args:
            of: Which job.
            counts: Label of each gauge -> what it counts by the values of that label.
            left_s: Seconds that the job takes from here.
        """
        for label, values in counts.items():
            self._set(label, of, values)
        self._left.set(left_s, of.labels)

    def _set(self, label: str, of: MetricLabels, counts: Mapping[str, float]) -> None:
        """Set a gauge; a value of the label that only an earlier run had gets 0."""
        self._shown[label, of] |= counts.keys()
        for name in self._shown[label, of]:
            self._gauges[label].set(counts.get(name, 0), {**of.labels, label: name})

    def succeed(self, of: MetricLabels, at: float) -> None:
        """Show when a job has succeeded."""
        self._success.set(at, of.labels)

    def fail(self, of: MetricLabels, reason: str) -> None:
        """Count a run that failed."""
        self._failed.inc(1, {**of.labels, "reason": reason})


@dataclass(slots=True)
class JobTelemetry:
    """How far one job is, sent to the actor that shows it.

    Attributes:
        job: Its name.
        actor: The actor that shows it; None on a private cluster.
        workspace: Path of its workspace; empty where it has none.
        total: How many records it will have when it is done.
        records: Records counted so far, by outcome.
        shards: Number of shards by state.
        failures: Records that failed, by kind.
        losses: The last loss of each stage of a pretraining.
    """

    job: JobName
    actor: ActorHandle[Any] | None
    workspace: str = ""
    total: int = 0
    records: Counter[str] = field(default_factory=Counter)
    shards: dict[str, int] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    losses: dict[str, float] = field(default_factory=dict)
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
        counts: dict[str, Mapping[str, float]] = {
            "outcome": dict(self.records),
            "state": dict(self.shards),
            "kind": dict(self.failures),
            "stage": dict(self.losses),
            "run": {ray.get_runtime_context().get_job_id(): 1},
        }
        self.actor.show.remote(self.of, counts, left_s)

    @property
    def of(self) -> MetricLabels:
        """The job and the workspace that metrics belong to."""
        return MetricLabels(self.job, self.workspace)


@contextmanager
def job_telemetry(job: JobName, root: Path | None = None) -> Iterator[JobTelemetry]:
    """Show how far the body is, and that it has succeeded if it raises nothing.

    Args:
        job: Its name.
        root: The workspace that keeps its metrics; None keeps none.
    """
    # A private cluster ends with the job, so nobody looks at its metrics.
    is_shared = "RAY_ADDRESS" in os.environ
    workspace = str(root.absolute()) if root is not None else ""
    telemetry = JobTelemetry(job, _actor() if is_shared else None, workspace)
    try:
        yield telemetry
    except Exception as error:
        if telemetry.actor is not None:
            _report_end(telemetry, "failure", telemetry.actor.fail, type(error).__name__)
        raise
    telemetry.total = telemetry.records.total()
    telemetry.send()
    if root is not None:
        _keep(telemetry, root / "metrics")
    if telemetry.actor is not None:
        _report_end(telemetry, "success", telemetry.actor.succeed, time.time())


def _report_end(telemetry: JobTelemetry, what: str, method: Any, value: object) -> None:  # noqa: ANN401
    """Tell the actor how a job ended, which may have been lost with a node."""
    try:
        ray.get(method.remote(telemetry.of, value), timeout=WAIT_S)
    except RayError as error:
        # The job has ended, even if nobody is shown how.
        logging.getLogger(__name__).warning(
            "the %s of %s is not shown: %s", what, telemetry.job, error
        )


# What Prometheus reads of a node of Ray while jobs run, and afterwards.
SHOWN: Final = (
    "ray_nar_job_records",
    "ray_nar_job_shards",
    "ray_nar_job_failures",
    "ray_nar_job_loss",
    "ray_nar_job_run",
    "ray_nar_job_left_seconds",
    "ray_nar_job_last_success_timestamp_seconds",
    "ray_nar_job_failed_runs_total",
)
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
