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
from waiting import turn, wait_for

COMMAND = Path(__file__).parents[1] / ".venv-milvus/bin/milvus-server"
# A start takes about 25 s, on a busy machine 60. A start that takes longer never ends.
START_LIMIT_S = 120.0
STARTS = 3
# The command unpacks its programs below each new directory, which takes 5 s of a core: these are
# unpacked once, and each directory has a link to them.
UNPACKED = COMMAND.parents[1] / "unpacked"
# Milvus looks every second or two whether something is to be done. Where a test waits for it, it
# looks more often: a collection is written, loaded and read in 3 s instead of 8, and at rest the
# server takes 0.09 of a core instead of 0.04. It reads its settings from such variables, too.
EAGER = {
    "PROXY_TIMETICKINTERVAL": "50",
    "DATACOORD_SEGMENT_ASSIGNMENTEXPIRATION": "100",
    "QUERYCOORD_CHECKSEGMENTINTERVAL": "100",
    "QUERYCOORD_CHECKCHANNELINTERVAL": "100",
    "QUERYCOORD_DISTPULLINTERVAL": "100",
    "INDEXCOORD_SCHEDULER_INTERVAL": "100",
}


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
def milvus_server(directory: Path, *, is_eager: bool = False) -> Iterator[str]:
    """Start a server below a directory, about 10 s, and give its URI."""
    with running_milvus(directory, free_port(), is_eager=is_eager) as server:
        yield server.uri


@contextmanager
def running_milvus(directory: Path, port: int, *, is_eager: bool = False) -> Iterator[MilvusServer]:
    """Start a server below a directory on a port; what was stored there before is there again.

    A killed server leaves connections that are still closing. While its port has one, the command
    would silently take the next port.

    The command looks for ports that are free (9091, 53100 and more), closes them, and Milvus opens
    them a little later. Whoever takes one meanwhile, another start or an outgoing connection, makes
    Milvus wait without end: so starts take turns, and a start that takes too long is made again.

    Args:
        directory: What it stores.
        port: Where it is reached.
        is_eager: Whether it looks often for what is to be done; not where its time is measured.
    """
    assert COMMAND.exists(), f"{COMMAND} is missing: `make milvus`, or -m 'not milvus_server'"
    with turn("milvus"):
        _share_programs(directory)
        server = _started(directory, port, EAGER if is_eager else {})
    try:
        listening = _port_of(directory)
        assert listening == port, f"Milvus listens on {listening}, wanted {port}"
        yield server
    finally:
        _end(server)


def _share_programs(directory: Path) -> None:
    """Put a link to the unpacked programs where the command would unpack them."""
    UNPACKED.mkdir(parents=True, exist_ok=True)
    programs = directory / "bin"
    if not programs.exists():
        programs.symlink_to(UNPACKED)


def _started(directory: Path, port: int, settings: dict[str, str]) -> MilvusServer:
    """A server that has come up, at one of several starts."""
    banner = directory / "banner"
    for _ in range(STARTS):
        wait_for(partial(is_free, port))
        server, up = _begun(directory, port, banner, settings), False
        try:
            up = _comes_up(server, banner)
            if up:
                return server
        finally:
            if not up:
                _end(server)
    raise AssertionError(
        f"Milvus did not come up at {STARTS} starts; it said: {banner.read_text()}"
    )


def _comes_up(server: MilvusServer, banner: Path) -> bool:
    with suppress(AssertionError):
        wait_for(
            lambda: "Welcome" in banner.read_text(),
            or_ended=server.process,
            limit_s=START_LIMIT_S,
        )
        return True
    return False


def _begun(directory: Path, port: int, banner: Path, settings: dict[str, str]) -> MilvusServer:
    """The command, just begun; what it prints goes to the banner."""
    with banner.open("w") as output:
        process = subprocess.Popen(
            [str(COMMAND), "--data", str(directory), "--proxy-port", str(port)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ
            | {"PYTHONUNBUFFERED": "1", "ETCD_CONFIG_PATH": str(_etcd_config(directory))}
            | settings,
            text=True,
            start_new_session=True,
        )
    return MilvusServer(f"http://127.0.0.1:{port}", process)


def _end(server: MilvusServer) -> None:
    with suppress(ProcessLookupError):
        server.signal(signal.SIGKILL)
    server.process.wait()


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
