"""Commands as processes: run to their end, or served by until the body is through."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health, health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckResponse

from cluster.demo import Step, StepFailedError, free_address, serving, wait_until_serving


@pytest.fixture
def living() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that does nothing until it is let go."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.communicate(b"\n")


def test_a_step_runs_to_its_end(capfd):
    seconds = Step("Say it", ("python", "-c", "print('said')")).run()
    assert seconds > 0
    title, shown, said = capfd.readouterr().out.splitlines()
    assert title.startswith("Say it ")
    assert (shown, said) == ("$ python -c 'print('\"'\"'said'\"'\"')'", "said")


def test_a_failing_step_names_its_command_and_code():
    with pytest.raises(StepFailedError, match=r"`python -c 'exit\(3\)'` ended with exit code 3"):
        Step("Fail", ("python", "-c", "exit(3)")).run()


def test_two_free_ports_differ():
    address = free_address()
    assert address.port != address.metrics_port
    assert str(address) == f"127.0.0.1:{address.port}"


def test_readiness_is_waited_for(living):
    server = grpc.server(ThreadPoolExecutor(2))
    servicer = health.HealthServicer()
    servicer.set("", HealthCheckResponse.NOT_SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(wait_until_serving, living, f"127.0.0.1:{port}")
        assert not waiting.done()
        servicer.set("", HealthCheckResponse.SERVING)
        waiting.result()
    server.stop(None)


def test_a_server_that_ends_at_its_start_is_not_waited_for():
    with (
        subprocess.Popen([sys.executable, "-c", ""]) as process,
        pytest.raises(StepFailedError, match="no server became ready"),
    ):
        wait_until_serving(process, str(free_address()))


@pytest.mark.slow
def test_serving_from_an_empty_directory_fails(tmp_path: Path):
    with pytest.raises(StepFailedError), serving(tmp_path, free_address()):
        pytest.fail("became ready without an index")
