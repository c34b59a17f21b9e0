"""The same command on a started head, by `ray job submit`: with the token, and not without."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from waiting import wait_for

from nar.corpus import read_corpus
from nar.zoo.sources.darts.genotypes import genotype_at

pytestmark = pytest.mark.ray

REPOSITORY = Path(__file__).parents[2]
RAY = str(Path(sys.executable).parent / "ray")
DARTS = [f"darts:{genotype_at(number * 10**15)}" for number in range(3)]


@dataclass(frozen=True)
class Head:
    """A started head: where its job server listens, and the environment that holds its token."""

    address: str
    environment: dict[str, str]

    def submit(self, *entrypoint: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [RAY, "job", "submit", "--address", self.address, "--", *entrypoint],
            env={**self.environment, **environment},
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=90,
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
    environment = {**kept, "HOME": str(home), "RAY_AUTH_MODE": "token"}
    subprocess.run(
        [RAY, "get-auth-token", "--generate"], env=environment, check=True, capture_output=True
    )
    dashboard, agent, client = free_ports(3)
    start = [RAY, "start", "--head", "--block", "--port=0", f"--dashboard-port={dashboard}"]
    ports = [f"--dashboard-agent-listen-port={agent}", f"--ray-client-server-port={client}"]
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
            yield Head(f"http://127.0.0.1:{dashboard}", environment)
        finally:
            process.terminate()


def test_a_submitted_extraction_makes_its_corpus(head, tmp_path):
    command = (sys.executable, "-m", "cluster.extract", *DARTS, "--work", str(tmp_path))
    answer = head.submit(*command)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "succeeded" in answer.stdout
    assert [item.labels.name for item in read_corpus(tmp_path / "corpus")] == sorted(DARTS)


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
