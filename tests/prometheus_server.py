"""A real Prometheus with the rules of deploy/, for tests and campaigns."""

import json
import math
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import yaml
from milvus_server import free_port
from waiting import wait_for

DEPLOY = Path(__file__).parents[1] / "deploy"
OFTEN = "500ms"


class Prometheus:
    """The address of a running Prometheus."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def get(self, path: str, **parameters: str) -> Any:
        url = f"{self._url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def answers(self) -> bool:
        try:
            return bool(self.get("query", query="vector(1)"))
        except (urllib.error.URLError, ConnectionError):
            return False

    def values(self, expression: str) -> list[float]:
        """The values of an expression at this moment, without those that are no numbers."""
        series = self.get("query", query=expression)["result"]
        values = [float(one["value"][1]) for one in series]
        return [value for value in values if not math.isnan(value)]


@contextmanager
def prometheus(directory: Path, target: str, jobs: Path | None = None) -> Iterator[Prometheus]:
    """Run Prometheus with the rules of deploy/, scraping one address often.

    Args:
        directory: Of its configuration and its data.
        target: Address of the metrics of a server.
        jobs: Folder of the metrics that jobs keep, as a node exporter shows them; None for none.
    """
    beside = Path(sys.executable).with_name("prometheus")
    program = str(beside) if beside.exists() else shutil.which("prometheus")
    assert program, "prometheus is missing: run `make prometheus`"
    with nullcontext("") if jobs is None else _exporter(jobs) as exporter:
        config = _configuration(target, exporter)
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
        port = free_port()
        command = [
            program,
            f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
        ]
        with subprocess.Popen(command) as process:
            try:
                running = Prometheus(port)
                wait_for(running.answers)
                yield running
            finally:
                process.kill()


def _configuration(target: str, exporter: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    config["global"] = {
        "scrape_interval": OFTEN,
        "scrape_timeout": OFTEN,
        "evaluation_interval": OFTEN,
    }
    config["rule_files"] = [str(DEPLOY / name) for name in config["rule_files"]]
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [target]
    if exporter:
        # What is kept of jobs says itself which job it is of.
        jobs = {"job_name": "node", "static_configs": [{"targets": [exporter]}]}
        config["scrape_configs"].append(jobs)
    return config


@contextmanager
def _exporter(directory: Path) -> Iterator[str]:
    """What the textfile collector of a node exporter does; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = "".join(path.read_text() for path in sorted(directory.glob("*.prom")))
            lines = text.splitlines(keepends=True)
            # A type is said once, however many files have the metric.
            types = dict.fromkeys(line for line in lines if line.startswith("#"))
            samples = [line for line in lines if not line.startswith("#")]
            grouped = [
                line
                for each in types
                for line in (each, *(s for s in samples if s.startswith(each.split()[2] + "{")))
            ]
            content = "".join(grouped).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing: Prometheus asks twice a second."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
