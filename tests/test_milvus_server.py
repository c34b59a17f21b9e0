"""The start of a Milvus server for the tests, with a command that hangs as the real one can."""

import milvus_server
import pytest
from milvus_server import free_port, running_milvus

# Comes up at the start of a number: counts its starts in the directory of its data.
COMMAND = """#!/bin/sh
echo start >> "$2/starts"
[ "$(wc -l < "$2/starts")" -lt {comes_up_at} ] && exec sleep 1000
mkdir -p "$2/configs"
echo "proxy: {{port: $4}}" > "$2/configs/milvus.yaml"
echo Welcome
exec sleep 1000
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    def write(comes_up_at):
        path = tmp_path / "milvus-server"
        path.write_text(COMMAND.format(comes_up_at=comes_up_at))
        path.chmod(0o755)
        monkeypatch.setattr(milvus_server, "COMMAND", path)
        monkeypatch.setattr(milvus_server, "START_LIMIT_S", 2.0)
        monkeypatch.setattr(milvus_server, "STARTS", 2)

    return write


@pytest.mark.slow
def test_a_start_that_hangs_is_made_again(tmp_path, command):
    command(comes_up_at=2)
    with running_milvus(tmp_path, free_port()) as server:
        assert server.process.poll() is None
        assert len((tmp_path / "starts").read_text().split()) == 2
    assert server.process.poll() is not None


@pytest.mark.slow
def test_a_server_that_never_comes_up_is_said_to_have_been_tried(tmp_path, command):
    command(comes_up_at=100)
    fails = pytest.raises(AssertionError, match="did not come up at 2 starts")
    with fails, running_milvus(tmp_path, free_port()):
        pass
