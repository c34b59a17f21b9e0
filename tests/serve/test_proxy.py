"""The proxy in front of a server: its configuration is sound, and a flood goes no further."""

import shutil
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from asking import sample
from live_server import live_server
from tiny_index import KNOWN
from waiting import wait_for

from nar.client.client import Client

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "proxy.conf"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, HEADERS, CONTINUATION = 4, 1, 9


def frame(kind, stream, content=b""):
    return len(content).to_bytes(3) + bytes([kind, 0]) + stream.to_bytes(4) + content


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def configured(directory, listen, upstream):
    """The configuration on other ports, with its files in a directory of the test."""
    text = CONFIGURATION.read_text().replace("/tmp/", f"{directory}/")
    for ours, theirs in (
        ("server server:50051;", f"server {upstream};"),
        ("listen 50051 ", f"listen 127.0.0.1:{listen} "),
    ):
        assert text.count(ours) == 1
        text = text.replace(ours, theirs)
    path = directory / "proxy.conf"
    path.write_text(text)
    return path


@contextmanager
def proxy(directory, upstream):
    """A proxy on a free port, as one process of this user."""
    port = free_port()
    path = configured(directory, port, upstream)
    options = ["-c", path, "-p", directory, "-g", "daemon off; master_process off;"]
    with subprocess.Popen([NGINX, *options], stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: is_open(port), or_ended=process)
            yield port
        finally:
            process.terminate()


def is_open(port):
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


@needs_nginx
def test_nginx_accepts_the_configuration(tmp_path):
    path = configured(tmp_path, 50051, "127.0.0.1:1")
    done = subprocess.run([NGINX, "-t", "-c", path, "-p", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def flood(port, is_over):
    """Send headers that never end, until told to stop or cut off."""
    more = frame(CONTINUATION, 1, b"\x00\x01a\x01b" * 3_000)
    with socket.create_connection(("127.0.0.1", port)) as flooding, suppress(OSError):
        # A call by POST over http to /, whose headers go on.
        flooding.sendall(PREFACE + frame(SETTINGS, 0) + frame(HEADERS, 1, b"\x83\x86\x84"))
        while not is_over.is_set():
            flooding.sendall(more)


@needs_nginx
def test_headers_without_an_end_go_no_further_than_the_proxy(embedder, index, tmp_path):
    is_over = threading.Event()
    with (
        live_server(embedder, index) as server,
        proxy(tmp_path, server.target) as port,
        Client(f"127.0.0.1:{port}") as client,
    ):
        assert client.search(next(iter(KNOWN))).hits
        arrived = sample(server, "nar_grpc_calls_arrived_total")
        connections = sample(server, "nar_connections", port="grpc")
        flooding = threading.Thread(target=flood, args=(port, is_over))
        flooding.start()
        try:
            assert [client.describe().index_rows for _ in range(20)] == [len(KNOWN)] * 20
            # The server has seen the calls of the other client, over connections that it had.
            assert sample(server, "nar_grpc_calls_arrived_total") == arrived + 20
            assert sample(server, "nar_connections", port="grpc") <= connections + 1
        finally:
            is_over.set()
            flooding.join()
