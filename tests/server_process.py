"""A query server as a process of its own, as `nar serve` starts it."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from nar.config import IndexConfig, NarConfig, ServerConfig
from nar.workspace import Workspace

WORKSPACE = """
import sys
from pathlib import Path
from nar.config import NarConfig
from nar.serve.run import serve
config, checkpoint = NarConfig.model_validate_json(sys.argv[1]), Path(sys.argv[2])
serve(config, checkpoint, lambda server: print(server.port, flush=True))
"""
ATLAS = """
import sys
from nar.cli.serve_command import serve_atlas
from nar.config import NarConfig
config, is_named = NarConfig.model_validate_json(sys.argv[1]), sys.argv[2] == "named"
serve_atlas(config, lambda server: print(server.port, flush=True), is_named=is_named)
"""


def config_of(workspace: Workspace) -> NarConfig:
    """Free ports, and the index of the workspace."""
    return NarConfig(
        index=IndexConfig(uri=str(workspace.index)),
        server=ServerConfig(port=0, metrics_port=0),
    )


class ServerProcess:
    """A running server: its address and its process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.process = process
        self.target = f"127.0.0.1:{process.stdout.readline().strip()}"


@contextmanager
def server_process(workspace: Workspace) -> Iterator[ServerProcess]:
    """Run the server of a workspace."""
    config = config_of(workspace).model_dump_json()
    with process_of(WORKSPACE, config, str(workspace.checkpoint)) as server:
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
