"""A Milvus server for the tests: the pip package, in the environment of `make milvus`."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waiting import wait_for

COMMAND = Path(__file__).parents[1] / ".venv-milvus/bin/milvus-server"


@contextmanager
def milvus_server(directory: Path) -> Iterator[str]:
    """Start a server below a directory, about 25 s, and give its URI."""
    assert COMMAND.exists(), f"{COMMAND} is missing: `make milvus`, or -m 'not milvus_server'"
    port, banner = free_port(), directory / "banner"
    with banner.open("w") as output:
        server = subprocess.Popen(
            [str(COMMAND), "--data", str(directory), "--proxy-port", str(port)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            text=True,
            start_new_session=True,
        )
    try:
        wait_for(lambda: "Welcome" in banner.read_text(), or_ended=server, limit_s=180)
        yield f"http://127.0.0.1:{port}"
    finally:
        # The command leaves its server behind when it is killed: end the whole group.
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
