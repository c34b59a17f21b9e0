"""The same command on a started head, by `ray job submit`: with the token, and not without."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest
from nodes import RAY_SETTINGS
from prometheus_client.parser import text_string_to_metric_families
from waiting import wait_for

from nar.corpus import read_corpus
from nar.zoo.sources.darts.genotypes import genotype_at

pytestmark = pytest.mark.ray

REPOSITORY = Path(__file__).parents[2]
RAY = str(Path(sys.executable).parent / "ray")
# One worker: each imports torch, and how many there are is tried where jobs are.
EXTRACT = (sys.executable, "-m", "cluster.extract", "--workers", "1")
DARTS = [f"darts:{genotype_at(number * 10**15)}" for number in range(3)]


@dataclass(frozen=True)
class Head:
    """A started head.

    Attributes:
        address: Where its job server listens.
        metrics: Where Prometheus reads.
        environment: Holds its token.
    """

    address: str
    metrics: str
    environment: dict[str, str]

    def submit(
        self, *entrypoint: str, options: tuple[str, ...] = (), **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [RAY, "job", "submit", "--address", self.address, *options, "--", *entrypoint],
            env={**self.environment, **environment},
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
        )


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def head(tmp_path_factory) -> Iterator[Head]:
    """A head of its own: home, token, ports and session directory are nobody else's."""
    home = tmp_path_factory.mktemp("home")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment = {**kept, **RAY_SETTINGS, "HOME": str(home), "RAY_AUTH_MODE": "token"}
    subprocess.run(
        [RAY, "get-auth-token", "--generate"], env=environment, check=True, capture_output=True
    )
    dashboard, agent, client, metrics = free_ports(4)
    start = [RAY, "start", "--head", "--block", "--port=0", f"--dashboard-port={dashboard}"]
    ports = [f"--dashboard-agent-listen-port={agent}", f"--ray-client-server-port={client}"]
    ports.append(f"--metrics-export-port={metrics}")
    sizes = ["--num-cpus=2", "--object-store-memory=100000000", "--disable-usage-stats"]
    with (
        (home / "head.log").open("w") as log,
        subprocess.Popen(
            [*start, *ports, *sizes, "--dashboard-host=127.0.0.1"],
            env=environment,
            cwd=REPOSITORY,
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            wait_for(lambda: listens(dashboard), or_ended=process)
            at = (f"http://127.0.0.1:{port}" for port in (dashboard, metrics))
            yield Head(*at, environment)
        finally:
            process.terminate()


def test_a_submitted_extraction_makes_its_corpus(head, tmp_path):
    command = (*EXTRACT, *DARTS, "--work", str(tmp_path))
    answer = head.submit(*command)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "succeeded" in answer.stdout
    assert [item.labels.name for item in read_corpus(tmp_path / "corpus")] == sorted(DARTS)


def test_the_figures_of_a_job_stay_in_prometheus_after_it(head, tmp_path):
    wanted = ("no_such_model", *DARTS)
    specs = [f"{tmp_path}/models.py:{wanted[0]}", *wanted[1:]]
    (tmp_path / "models.py").write_text("def no_such_model(): raise ValueError('none')\n")
    command = (*EXTRACT, *specs, "--work", str(tmp_path))
    began = time.time()
    assert head.submit(*command).returncode == 0

    def figures() -> dict[tuple[str, str], float]:
        with urlopen(f"{head.metrics}/metrics") as answer:
            families = text_string_to_metric_families(answer.read().decode())
        labels = ("outcome", "state", "kind", "reason")
        return {
            (sample.name, next(filter(None, map(sample.labels.get, labels)), "")): sample.value
            for family in families
            for sample in family.samples
            if sample.name.startswith("ray_nar_job")
            and (sample.labels["job"], sample.labels["workspace"]) == ("extract", str(tmp_path))
        }

    success = ("ray_nar_job_last_success_timestamp_seconds", "")
    wait_for(lambda: figures().get(success, 0.0) >= began)
    shown = figures()
    assert shown["ray_nar_job_records", "captured"] == 3
    assert shown["ray_nar_job_records", "failed"] == 1
    # One of each source, though that of the file has no row.
    assert shown["ray_nar_job_shards", "written"] == 2
    assert shown["ray_nar_job_left_seconds", ""] == 0
    assert shown["ray_nar_job_failures", "capture"] == 1
    assert shown["ray_nar_job_run", ""] == 1
    (tmp_path / "sizes.yaml").write_text("extract: {cpus: 500}")
    too_large = ("--restart", "--cluster-config", str(tmp_path / "sizes.yaml"))
    assert head.submit(*command, *too_large).returncode != 0
    wait_for(lambda: ("ray_nar_job_failed_runs_total", "NoRoomError") in figures())


def test_a_name_that_was_submitted_is_not_run_again_and_its_log_stays(head, tmp_path):
    (tmp_path / "job.py").write_text(
        "import sys\nwith open(sys.argv[1], 'a') as runs: runs.write('ran ')\nprint('was here')\n"
    )
    command = (sys.executable, str(tmp_path / "job.py"), str(tmp_path / "runs"))
    named = ("--submission-id", "once")
    assert head.submit(*command, options=named).returncode == 0
    again = head.submit(*command, options=named)
    assert again.returncode == 1
    assert "already exists" in again.stdout + again.stderr
    assert (tmp_path / "runs").read_text() == "ran "
    log = subprocess.run(
        [RAY, "job", "logs", "--address", head.address, "once"],
        env=head.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "was here" in log.stdout


def test_a_job_that_fails_says_so(head, tmp_path):
    answer = head.submit(sys.executable, "-m", "cluster.extract", "--work", str(tmp_path))
    assert answer.returncode == 1
    assert "no models were asked for" in answer.stdout


def test_a_submit_without_the_token_is_refused(head, tmp_path):
    answer = head.submit("true", HOME=str(tmp_path), RAY_AUTH_MODE="disabled")
    assert answer.returncode == 1
    assert "Unauthorized: Missing authentication token" in answer.stderr


def test_a_submit_with_another_token_is_refused(head):
    answer = head.submit("true", RAY_AUTH_TOKEN="0" * 64)
    assert answer.returncode == 1
    assert "Unauthorized" in answer.stderr or "Forbidden" in answer.stderr
