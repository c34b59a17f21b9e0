"""A query server as a process of its own, as `nar serve` starts it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nar.base.workspace import Workspace
from nar.config import NarConfig
from nar.index.settings import IndexConfig
from nar.wire.settings import ServerConfig

WORKSPACE = """
import os, sys
from nar.base.process import ENVIRONMENT
os.environ.update(ENVIRONMENT | os.environ)
from nar.base.process import share_memory
share_memory()
from pathlib import Path
from nar.config import NarConfig
from nar.serve.run import serve
config, checkpoint = NarConfig.model_validate_json(sys.argv[1]), Path(sys.argv[2])
serve(config, checkpoint, lambda server: print(server.port, flush=True))
"""
ATLAS = """
import os, sys
from nar.base.process import ENVIRONMENT
os.environ.update(ENVIRONMENT | os.environ)
from nar.base.process import share_memory
share_memory()
from nar.cli.serve_command import serve_atlas
from nar.config import NarConfig
config, is_named = NarConfig.model_validate_json(sys.argv[1]), sys.argv[2] == "named"
serve_atlas(config, lambda server: print(server.port, flush=True), is_named=is_named)
"""


def config_of(workspace: Workspace, **settings: object) -> NarConfig:
    """Free ports, and the index of the workspace; settings are fields of ServerConfig."""
    return NarConfig(
        index=IndexConfig(uri=str(workspace.index)),
        server=ServerConfig.model_validate({"port": 0, "metrics_port": 0, **settings}),
    )


class ServerProcess:
    """A running server: its address, its process and the most memory that it has held."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.process = process
        self.target = f"127.0.0.1:{process.stdout.readline().strip()}"

    def peak_bytes(self) -> int:
        """Most memory that was resident at a time, so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (kibibytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
        return 1024 * int(kibibytes)


@contextmanager
def server_process(
    workspace: Workspace, token: str | None = None, before: str = "", **settings: object
) -> Iterator[ServerProcess]:
    """Run the server of a workspace.

    Args:
        workspace: Holds checkpoint and index.
        token: What callers have to bring.
        before: Python that runs before it serves.
        settings: Fields of ServerConfig.
    """
    # A secret is not dumped; the server takes it from the environment.
    config = config_of(workspace, **settings).model_dump_json(exclude={"server": {"token"}})
    environment = os.environ | ({"NAR_TOKEN": token} if token else {})
    program = before + WORKSPACE
    with process_of(program, config, str(workspace.checkpoint), env=environment) as server:
        yield server


@contextmanager
def process_of(
    program: str, *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[ServerProcess]:
    """Run one of the programs above until it is no longer needed."""
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            yield ServerProcess(process)
        finally:
            process.terminate()
