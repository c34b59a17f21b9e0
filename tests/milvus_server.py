"""A Milvus server for the tests: the pip package, in the environment of `make milvus`."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml
from waiting import wait_for

COMMAND = Path(__file__).parents[1] / ".venv-milvus/bin/milvus-server"


@dataclass(frozen=True, slots=True)
class MilvusServer:
    """A server that runs.

    Attributes:
        uri: Where it is reached.
        process: The command, which leads the group of its processes.
    """

    uri: str
    process: "subprocess.Popen[str]"

    def signal(self, number: int) -> None:
        """Send a signal to all its processes: the command leaves its server behind."""
        os.killpg(self.process.pid, number)


@contextmanager
def milvus_server(directory: Path) -> Iterator[str]:
    """Start a server below a directory, about 25 s, and give its URI."""
    with running_milvus(directory, free_port()) as server:
        yield server.uri


@contextmanager
def running_milvus(directory: Path, port: int) -> Iterator[MilvusServer]:
    """Start a server below a directory on a port; what was stored there before is there again.

    A killed server leaves connections that are still closing. While its port has one, the command
    would silently take the next port.
    """
    assert COMMAND.exists(), f"{COMMAND} is missing: `make milvus`, or -m 'not milvus_server'"
    wait_for(partial(is_free, port))
    banner = directory / "banner"
    with banner.open("w") as output:
        process = subprocess.Popen(
            [str(COMMAND), "--data", str(directory), "--proxy-port", str(port)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ
            | {"PYTHONUNBUFFERED": "1", "ETCD_CONFIG_PATH": str(_etcd_config(directory))},
            text=True,
            start_new_session=True,
        )
    server = MilvusServer(f"http://127.0.0.1:{port}", process)
    try:
        wait_for(lambda: "Welcome" in banner.read_text(), or_ended=process, limit_s=180)
        listening = _port_of(directory)
        assert listening == port, f"Milvus listens on {listening}, wanted {port}"
        yield server
    finally:
        with suppress(ProcessLookupError):
            server.signal(signal.SIGKILL)
        process.wait()


def _etcd_config(directory: Path) -> Path:
    """Ports of its own for the etcd inside: by default every server takes the same.

    It does not wait for the disk. Where others write, it would wait for longer than the lease of
    Milvus lasts, which then ends itself; what a killed process has written is there all the same.
    """
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    settings = {
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "unsafe-no-fsync": True,
    }
    path = directory / "etcd.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def _port_of(directory: Path) -> int:
    """Where the server below a directory listens, as its command has decided."""
    settings = yaml.safe_load((directory / "configs/milvus.yaml").read_text())
    return int(settings["proxy"]["port"])


def is_free(port: int) -> bool:
    """Whether the command would take a port: nothing listens there, no connection is closing."""
    with socket.socket() as probe, suppress(OSError):
        probe.bind(("127.0.0.1", port))
        return True
    return False


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
