"""`nar serve` as it ships: a process on fixed ports, that can be stopped and begun again.

Its index is the shipped atlas. What the server logs goes into a file.
"""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import grpc
import yaml
from asking import sample
from grpc_health.v1 import health_pb2, health_pb2_grpc
from milvus_server import free_port
from waiting import wait_for

from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub as Stub

SERVING: Final[int] = health_pb2.HealthCheckResponse.SERVING
START_LIMIT_S: Final = 300.0
STOP_LIMIT_S: Final = 300.0
# Chosen: the last lines, which say why a server ended.
LOG_SHOWN: Final = 600
SETTLE_LIMIT_S: Final = 900.0
# What the log says at the end of it.
SETTLED: Final = ("the atlas is stored", "answering from files alone", "Milvus searches them")
NAR: Final = "from nar.cli.app import app; app()"
Settings = dict[str, dict[str, object]]


class Served:
    """A server of the atlas, or of a workspace.

    Args:
        directory: Of its settings, its log and its cache.
        settings: Sections of the configuration: ``{"server": {"max_in_flight": 4}}``.
        file_bytes: No file that it writes may become larger, as on a full disk.
        work: The workspace; None for the atlas.
    """

    def __init__(
        self,
        directory: Path,
        settings: Settings | None = None,
        *,
        file_bytes: int | None = None,
        work: Path | None = None,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.log = directory / "server.log"
        self._directory = directory
        self._file_bytes = file_bytes
        self._work = [] if work is None else ["--work", str(work)]
        told = settings or {}
        ports = {"port": free_port(), "metrics_port": free_port()}
        server = ports | told.get("server", {})
        self._config = directory / "nar.yaml"
        self._config.write_text(yaml.safe_dump(told | {"server": server}))
        self.target = f"127.0.0.1:{server['port']}"
        self.metrics_url = f"http://127.0.0.1:{server['metrics_port']}/metrics"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the process that runs now."""
        assert self.process, "start() comes first"
        return self.process.pid

    def start(self) -> float:
        """Start, and wait until health says SERVING; gives the seconds that this took."""
        began = time.monotonic()
        # Elsewhere, so that no workspace is there, which would be served in place of the atlas.
        settings = ["--config", str(self._config.resolve())]
        command = [sys.executable, "-c", NAR, "serve", *settings, *self._work]
        limit = partial(_limit_files, self._file_bytes) if self._file_bytes else None
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self._directory,
                stdout=log,
                stderr=log,
                preexec_fn=limit,
                env=os.environ | {"XDG_CACHE_HOME": str(self._directory.resolve() / "cache")},
            )
        try:
            wait_for(self.is_serving, or_ended=self.process, limit_s=START_LIMIT_S)
        except AssertionError as error:
            said = self.log.read_text()[-LOG_SHOWN:]
            raise AssertionError(f"no server: {error}; its log ends so: {said}") from error
        return time.monotonic() - began

    def is_serving(self) -> bool:
        """Whether health says so."""
        with grpc.insecure_channel(self.target) as channel, suppress(grpc.RpcError):
            asked = health_pb2.HealthCheckRequest()
            return health_pb2_grpc.HealthStub(channel).Check(asked, timeout=2).status == SERVING
        return False

    def metric(self, name: str, **labels: str) -> float:
        """Sum of the samples of a metric, as Prometheus would read them."""
        return sample(self, name, **labels)

    def settle(self) -> None:
        """Wait until the collection of the atlas is stored: what is measured before is of that."""
        wait_for(
            lambda: any(word in self.log.read_text() for word in SETTLED),
            or_ended=self.process,
            limit_s=SETTLE_LIMIT_S,
        )

    def stop(self) -> None:
        """Stop as an operator does, and wait for the end."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once."""
        self._end(signal.SIGKILL)

    def _end(self, number: int) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(STOP_LIMIT_S)

    @contextmanager
    def asking(self) -> Iterator[Stub]:
        """A connection; close it before the server is stopped."""
        with grpc.insecure_channel(self.target, options=[UNBOUNDED]) as channel:
            yield Stub(channel)


UNBOUNDED: Final = ("grpc.max_receive_message_length", -1)


@contextmanager
def served(
    directory: Path, settings: Settings | None = None, *, file_bytes: int | None = None
) -> Iterator[Served]:
    """Run a server of the atlas."""
    server = Served(directory, settings, file_bytes=file_bytes)
    try:
        server.start()
        yield server
    finally:
        server.kill()


def _limit_files(size_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))
