"""A server that speaks S3 for the tests: moto, in the environment of `make s3`."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from milvus_server import free_port
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem, copy_files
from waiting import wait_for

COMMAND = Path(__file__).parents[1] / ".venv-s3/bin/moto_server"
SECRET = "hush-hush"


@contextmanager
def s3_server() -> Iterator[str]:
    """Start a server, and give the URI of a bucket in it, with ``{}`` for a path."""
    assert COMMAND.exists(), f"{COMMAND} is missing: `make s3`"
    port = free_port()
    command = [str(COMMAND), "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            wait_for(lambda: _answers(port), or_ended=server)
            options = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
            yield f"s3://somebody:{SECRET}@zoo/{{}}?{options}"
        finally:
            server.terminate()


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def upload(directory: Path, uri: str) -> None:
    """Copy the files of a directory to a URI."""
    target, path = FileSystem.from_uri(f"{uri}&allow_bucket_creation=true")
    target.create_dir(path)
    local = LocalFileSystem()
    assert local.get_file_info(FileSelector(str(directory)))
    copy_files(str(directory), path, source_filesystem=local, destination_filesystem=target)
