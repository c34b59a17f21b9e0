"""Commands that a person could type, run as processes: to their end, or as a server meanwhile."""

import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rich.rule import Rule
from rich.text import Text

from nar.base.console import stdout
from nar.base.errors import NarError

READY_LIMIT_S: Final = 120.0


class StepFailedError(NarError):
    """A command of the demo that did not succeed."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the demo.

    Attributes:
        title: What it does, in a few words.
        command: As a user types it; its first word is a program of this environment.
    """

    title: str
    command: tuple[str, ...]

    def start(self) -> "subprocess.Popen[bytes]":
        """Announce it and start it; its output goes where ours goes."""
        stdout.print(Rule(Text(self.title, "bold"), align="left"))
        stdout.print(f"$ {shlex.join(self.command)}", style="dim", soft_wrap=True)
        program, *arguments = self.command
        return subprocess.Popen([Path(sys.executable).with_name(program), *arguments])

    def run(self) -> float:
        """Run it to its end; the seconds that it took.

        Raises:
            StepFailedError: It did not succeed.
        """
        started = time.monotonic()
        with self.start() as process:
            process.wait()
        self.check(process.returncode)
        return time.monotonic() - started

    def check(self, code: int) -> None:
        """Raise StepFailedError unless the exit code says success."""
        if code:
            raise StepFailedError(f"`{shlex.join(self.command)}` ended with exit code {code}")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server of this demo listens, on loopback.

    Attributes:
        port: Of the queries.
        metrics_port: Of the metrics.
    """

    port: int
    metrics_port: int

    def __str__(self) -> str:
        return f"127.0.0.1:{self.port}"


def free_address() -> Address:
    """Two ports that nobody listens on now."""
    with socket.socket() as one, socket.socket() as other:
        for end in (one, other):
            end.bind(("127.0.0.1", 0))
        return Address(one.getsockname()[1], other.getsockname()[1])


@contextmanager
def serving(work: Path, address: Address) -> Iterator[None]:
    """Run a query server around the body: ready at its beginning, drained at its end.

    Raises:
        StepFailedError: It did not become ready, or did not drain cleanly.
    """
    ports = ("--port", str(address.port), "--metrics-port", str(address.metrics_port))
    server = Step("Start the query server", ("nar", "serve", "--work", str(work), *ports))
    with server.start() as process:
        try:
            wait_until_serving(process, str(address))
            yield
        finally:
            process.terminate()
    server.check(process.returncode)


def wait_until_serving(process: "subprocess.Popen[bytes]", address: str) -> None:
    """Watch the standard health service until it says SERVING.

    Raises:
        StepFailedError: The process ended, or the time did.
    """
    with grpc.insecure_channel(address) as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch(
            health_pb2.HealthCheckRequest(), timeout=READY_LIMIT_S, wait_for_ready=True
        )
        # A server that dies at its start would otherwise be waited for until the limit.
        Thread(target=call_at_end, args=(process, watch.cancel), daemon=True).start()
        try:
            for health in watch:
                if health.status == health_pb2.HealthCheckResponse.SERVING:
                    return
        except grpc.RpcError as error:
            raise StepFailedError(
                f"no server became ready at {address} within {READY_LIMIT_S:.0f} s; what it said "
                "stands above"
            ) from error


def call_at_end(process: "subprocess.Popen[bytes]", notify: Callable[[], object]) -> None:
    """Wait for a process to end, then say so."""
    process.wait()
    notify()
