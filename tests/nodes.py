"""Several Ray nodes on this machine: nodes that can be taken away and added while jobs run.

Each is a raylet of its own with its workers; the head has no CPU, as in `deploy/ray-cluster.yaml`.
Session directory, ports and token are nobody else's.
"""

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

import psutil
from milvus_server import free_port
from waiting import wait_for

ROOT: Final = Path(__file__).parents[1]
RAY: Final = str(Path(sys.executable).with_name("ray"))
STORE_BYTES: Final = 80_000_000
STARTS: Final = 3
# What Ray reads of the environment, here. Workers do not stand back behind other processes: beside
# other tests they would import for minutes. Nobody looks at logs: by default each node's folder is
# listed ten times a second, which took a twentieth of all tests' time.
RAY_SETTINGS: Final = {
    "RAY_worker_niceness": "0",
    "RAY_LOG_MONITOR_MANY_FILES_THRESHOLD": "0",
    "LOG_NAME_UPDATE_INTERVAL_S": "60",
}
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
IS_UP: Final = "Ray runtime started."


@dataclass(frozen=True, slots=True)
class Node:
    """A node that runs.

    Attributes:
        process: The command that started it; all that runs on it is below.
        log: What the command says.
    """

    process: "subprocess.Popen[str]"
    log: Path

    @property
    def below(self) -> list[psutil.Process]:
        """All its processes but the command."""
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def comes_up(self) -> bool:
        """Wait until the cluster knows it; False where Ray gives up after its 30 s."""
        wait_for(lambda: IS_UP in self.log.read_text() or self.process.poll() is not None)
        return self.process.poll() is None

    def kill(self) -> None:
        """End all at once, as where a machine loses its power."""
        below = self.below
        self.process.kill()
        for each in below:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait()
        psutil.wait_procs(below)


class Nodes:
    """A head without CPUs, and the nodes that work.

    Args:
        directory: Of sessions and logs; its path is short, for sockets are below it.

    Attributes:
        workers: The nodes that work, in the order in which they came.
        environment: What a driver has to have in its environment to be one of this cluster.
    """

    def __init__(self, directory: Path) -> None:
        self._directory, self._started = directory, 0
        address = f"127.0.0.1:{free_port()}"
        self.environment = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": _token(),
            "RAY_ADDRESS": address,
            **RAY_SETTINGS,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        }
        self.workers: list[Node] = []
        port, client = address.rpartition(":")[2], free_port()
        ports = (f"--port={port}", f"--ray-client-server-port={client}")
        bare = ("--num-cpus=0", "--include-dashboard=false", f"--temp-dir={directory}")
        self._head = self._up("--head", *ports, *bare)

    def job_environment(self) -> dict[str, str]:
        """The environment of a process that is a driver of this cluster and of no other."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        return {**kept, **self.environment}

    def add(
        self,
        *,
        cpus: int = 1,
        labels: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Node:
        """Start a node, with variables of its own in the environment of its workers."""
        told = f"--labels={','.join(f'{key}={value}' for key, value in (labels or {}).items())}"
        address = f"--address={self.environment['RAY_ADDRESS']}"
        options = (address, f"--num-cpus={cpus}", *([told] if labels else []))
        node = self._up(*options, variables=variables or {})
        self.workers.append(node)
        return node

    def remove(self, node: Node) -> None:
        """Kill a node with all that runs on it."""
        self.workers.remove(node)
        node.kill()

    def processes(self, title: str) -> list[psutil.Process]:
        """The processes of these nodes whose title begins so: ``ray::CaptureWorker``."""
        everywhere = [each for node in (self._head, *self.workers) for each in node.below]
        return [each for each in everywhere if _title(each).startswith(title)]

    def close(self) -> None:
        """End all."""
        for node in [*self.workers, self._head]:
            node.kill()

    def _up(self, *options: str, variables: Mapping[str, str] = _NOTHING) -> Node:
        """A node that came up: on a machine that has much to do, not always at once."""
        for _ in range(STARTS):
            node = self._start(*options, variables=variables)
            if node.comes_up():
                return node
            node.kill()
        raise AssertionError(f"no node came up: {node.log.read_text()[-1000:]}")

    def _start(self, *options: str, variables: Mapping[str, str]) -> Node:
        self._started += 1
        log = self._directory / f"node{self._started}.log"
        fixed = ("--block", "--node-ip-address=127.0.0.1", "--disable-usage-stats")
        sizes = (f"--object-store-memory={STORE_BYTES}", "--min-worker-port=0")
        ports = ("--max-worker-port=0", f"--dashboard-agent-listen-port={free_port()}")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        told = {name: each for name, each in self.environment.items() if name != "RAY_ADDRESS"}
        with log.open("w") as output:
            process = subprocess.Popen(
                [RAY, "start", *fixed, *sizes, *ports, *options],
                env={**kept, **told, **variables},
                stdout=output,
                stderr=output,
                text=True,
            )
        return Node(process, log)


@cache
def _token() -> str:
    """One for all clusters of this process: who forks drivers has read it once."""
    return secrets.token_hex(32)


def _title(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return " ".join(process.cmdline())
    return ""


@contextmanager
def running_nodes(count: int) -> Iterator[Nodes]:
    """A head and nodes of one CPU each; gone at the end with all that runs on them."""
    with tempfile.TemporaryDirectory(prefix="nar-", ignore_cleanup_errors=True) as directory:
        nodes = Nodes(Path(directory))
        try:
            for _ in range(count):
                nodes.add()
            yield nodes
        finally:
            nodes.close()
