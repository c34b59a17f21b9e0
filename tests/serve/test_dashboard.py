"""The dashboard and the rules, asked of a real Prometheus that scrapes a live server."""

import json
import math
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from authority import Authority
from live_server import live_server
from milvus_server import free_port
from tiny_index import known
from waiting import wait_for

from nar.client.client import Client
from nar.wire.settings import ClientConfig

DEPLOY = Path(__file__).parents[2] / "deploy"
PANELS = json.loads((DEPLOY / "dashboard.json").read_text())["panels"]
TARGETS = [
    pytest.param(target["expr"], id=f"{panel['title']} {target['refId']}")
    for panel in PANELS
    for target in panel["targets"]
    # A cluster of Ray has these; `tests/cluster/test_job_submit.py` looks at them there.
    if "ray_nar" not in target["expr"]
]
OFTEN = "500ms"


class Prometheus:
    """The address of a running Prometheus."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def get(self, path, **parameters):
        url = f"{self._url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def answers(self):
        try:
            return bool(self.get("query", query="vector(1)"))
        except (urllib.error.URLError, ConnectionError):
            return False

    def values(self, expression):
        """The values of an expression at this moment, without those that are no numbers."""
        series = self.get("query", query=expression)["result"]
        values = [float(one["value"][1]) for one in series]
        return [value for value in values if not math.isnan(value)]


@contextmanager
def prometheus(directory, target):
    """Run Prometheus with the rules of deploy/, scraping one address often."""
    beside = Path(sys.executable).with_name("prometheus")
    program = str(beside) if beside.exists() else shutil.which("prometheus")
    assert program, "prometheus is missing: run `make prometheus`"
    config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    config["global"] = {
        "scrape_interval": OFTEN,
        "scrape_timeout": OFTEN,
        "evaluation_interval": OFTEN,
    }
    config["rule_files"] = [str(DEPLOY / name) for name in config["rule_files"]]
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [target]
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
            wait_for(running.answers, limit_s=60)
            yield running
        finally:
            process.kill()


def call_every_method(client):
    graph = known("timm:plain")
    client.search(graph)
    client.embed([graph])
    client.get(["timm:plain"])
    client.describe()


@pytest.fixture(scope="module")
def scraped(embedder, index, tmp_path_factory):
    """A Prometheus that has seen a server before and after some calls."""
    directory = tmp_path_factory.mktemp("prometheus")
    authority = Authority(directory, "authority")
    certificate, key = authority.issue("server")
    tls = {"certificate_file": certificate, "key_file": key}
    trust = ClientConfig(ca_file=authority.file)
    with live_server(embedder, index, tls=tls) as server:
        target = server.metrics_url.removeprefix("http://").removesuffix("/metrics")
        with prometheus(directory, target) as running, Client(server.target, config=trust) as one:
            wait_for(lambda: running.values('nar_rpc_requests_total{method="Search"}') != [])
            call_every_method(one)
            wait_for(lambda: running.values("nar:search_duration_seconds:p99_rate5m") != [])
            yield running


@pytest.mark.slow
@pytest.mark.parametrize("expression", TARGETS)
def test_every_panel_shows_something(scraped, expression):
    asked = expression.replace("$instance", ".*").replace("$__rate_interval", "1m")
    wait_for(lambda: scraped.values(asked) != [], limit_s=60)


@pytest.mark.slow
def test_what_has_not_failed_shows_as_zero(scraped):
    assert scraped.values("nar:rpc_errors:ratio_rate5m") == [0]
    assert set(scraped.values("rate(nar_store_errors_total[1m])")) == {0}
    assert set(scraped.values("rate(nar_rpc_rejected_total[1m])")) == {0}


def test_prometheus_evaluates_every_rule_and_none_fires_on_a_new_server(scraped):
    def rules():
        return [rule for group in scraped.get("rules")["groups"] for rule in group["rules"]]

    wait_for(lambda: all(rule["health"] == "ok" for rule in rules()))
    alerts = {rule["name"]: rule["state"] for rule in rules() if rule["type"] == "alerting"}
    # The certificate of the test ends in a day.
    assert {name for name, state in alerts.items() if state != "inactive"} <= {
        "NarCertificateExpires",
        "NarCertificateEndsToday",
    }
    assert len(alerts) > 10
