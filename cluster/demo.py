"""All steps from model libraries to an answer, on real models: ``python -m cluster.demo``.

Every step is a command that a user could type; the demo runs them one after another as processes.
"""

import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Annotated, Final
from urllib.request import urlopen

import grpc
import typer
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from nar.base.console import Work, reporting_errors, stdout
from nar.base.errors import NarError
from nar.base.workspace import Workspace
from nar.corpus import read_corpus

# Chosen: a server is ready within seconds, on a busy machine within a minute.
READY_LIMIT_S: Final = 120.0


class StepFailedError(NarError):
    """A command of the demo that did not succeed."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the demo.

    Attributes:
        title: What it does, in a few words.
        command: As a user types it; its first word is a program of this environment.
    """

    title: str
    command: tuple[str, ...]

    def start(self) -> "subprocess.Popen[bytes]":
        """Announce and start the command, with the output of this process."""
        stdout.print(Rule(Text(self.title, "bold"), align="left"))
        stdout.print(f"$ {shlex.join(self.command)}", style="dim", soft_wrap=True)
        program, *arguments = self.command
        return subprocess.Popen([Path(sys.executable).with_name(program), *arguments])

    def run(self) -> float:
        """Run the command to its end, and return the seconds that it took.

        Raises:
            StepFailedError: The command failed.
        """
        started = time.monotonic()
        with self.start() as process:
            process.wait()
        self.check(process.returncode)
        return time.monotonic() - started

    def check(self, code: int) -> None:
        """Raise StepFailedError unless the exit code says success."""
        if code:
            raise StepFailedError(f"`{shlex.join(self.command)}` ended with exit code {code}")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server of this demo listens, on loopback.

    Attributes:
        port: Port of the queries.
        metrics_port: Port of the metrics.
    """

    port: int
    metrics_port: int

    def __str__(self) -> str:
        return f"127.0.0.1:{self.port}"


def free_address() -> Address:
    """Two ports that nobody listens on now."""
    with socket.socket() as one, socket.socket() as other:
        for end in (one, other):
            end.bind(("127.0.0.1", 0))
        return Address(one.getsockname()[1], other.getsockname()[1])


@contextmanager
def serving(work: Path, address: Address) -> Iterator[None]:
    """Run a query server around the body: ready at its beginning, drained at its end.

    Raises:
        StepFailedError: The server did not become ready, or did not drain cleanly.
    """
    ports = ("--port", str(address.port), "--metrics-port", str(address.metrics_port))
    server = Step("Start the query server", ("nar", "serve", "--work", str(work), *ports))
    with server.start() as process:
        try:
            wait_until_serving(process, str(address))
            yield
        finally:
            process.terminate()
    server.check(process.returncode)


def wait_until_serving(process: "subprocess.Popen[bytes]", address: str) -> None:
    """Watch the standard health service until it reports SERVING.

    Raises:
        StepFailedError: The process ended, or the time limit passed.
    """
    with grpc.insecure_channel(address) as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch(
            health_pb2.HealthCheckRequest(), timeout=READY_LIMIT_S, wait_for_ready=True
        )
        # Otherwise the demo would wait until the limit for a server that died at its start.
        Thread(target=call_at_end, args=(process, watch.cancel), daemon=True).start()
        try:
            for health in watch:
                if health.status == health_pb2.HealthCheckResponse.SERVING:
                    return
        except grpc.RpcError as error:
            raise StepFailedError(
                f"no server became ready at {address} within {READY_LIMIT_S:.0f} s; what it said "
                "stands above"
            ) from error


def call_at_end(process: "subprocess.Popen[bytes]", notify: Callable[[], object]) -> None:
    """Wait for a process to end, then call ``notify``."""
    process.wait()
    notify()


DEFAULT_WORK = Path("work/demo")
SELECTION = ("--select", "demo", "--select", "darts:1000")


def building(selection: Sequence[str], work: Path) -> list[Step]:
    """From model libraries to a filled index, on Ray."""
    there = ("--work", str(work))
    return [
        Step("Capture models", ("python", "-m", f"{__package__}.extract", *selection, *there)),
        Step("Pretrain both stages", ("python", "-m", f"{__package__}.pretrain", *there)),
        Step("Embed and index", ("python", "-m", f"{__package__}.embed", *there)),
    ]


def scrape(address: Address) -> dict[str, Metric]:
    """What Prometheus would read from the metrics port now, by name of the metric."""
    with urlopen(f"http://127.0.0.1:{address.metrics_port}/metrics", timeout=10) as response:
        text = response.read().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def metrics_table(families: dict[str, Metric]) -> Table:
    """A few metrics of one server, as a person reads them."""
    table = Table(title="A few metrics of this server", title_justify="left")
    table.add_column("metric")
    table.add_column("value", justify="right")
    for sample in families["nar_rpc_requests"].samples:
        if sample.name.endswith("_total") and sample.value:
            table.add_row("calls {method} {code}".format_map(sample.labels), f"{sample.value:.0f}")
    for stage, mean_s in mean_seconds(families["nar_stage_duration_seconds"], "stage").items():
        table.add_row(f"time in {stage}, mean", f"{1000 * mean_s:.1f} ms")
    for sample in families["nar_index_rows"].samples:
        table.add_row("architectures in the index", f"{sample.value:,.0f}")
    return table


def mean_seconds(histogram: Metric, label: str) -> dict[str, float]:
    """Mean of each series of a histogram that has counted anything, by the value of a label."""
    sums = {s.labels[label]: s.value for s in histogram.samples if s.name.endswith("_sum")}
    counts = {s.labels[label]: s.value for s in histogram.samples if s.name.endswith("_count")}
    return {value: sums[value] / count for value, count in counts.items() if count}


def times_table(seconds: dict[str, float]) -> Table:
    """How long each step took."""
    table = Table(title="Where the time went", title_justify="left", show_footer=True)
    table.add_column("step", footer="all")
    table.add_column("seconds", footer=f"{sum(seconds.values()):.0f}", justify="right")
    for title, taken in seconds.items():
        table.add_row(title, f"{taken:.0f}")
    return table


def closing_words(work: Path) -> str:
    """Where everything lies, and what to try next."""
    workspace = Workspace(work)
    return f"""
Where everything lies
  {workspace.corpus}: captured graphs as Parquet shards, and a manifest that names every failure
  {workspace.checkpoint}: the pretrained encoder
  {workspace.index}: the vector index (Milvus Lite)

What to try next, after . .venv/bin/activate
  Ask without a server:        nar search timm:vit_tiny_patch16_224 --work {work}
  Ask about a model of yours:  nar search path/to/file.py:Model --work {work}
  See what a model is made of: nar motifs timm:resnet50
  Keep a server running:       nar serve --work {work}
"""


def question(query: str, work: Path, address: Address) -> Step:
    """Ask the server for relatives; the title says whether the model is in the corpus."""
    names = {item.labels.name for item in read_corpus(Workspace(work).corpus)}
    where = "in the corpus" if query in names else "not in the corpus"
    title = f"Ask over gRPC for relatives of {query}, which is {where}"
    return Step(title, ("nar", "search", query, "--server", str(address)))


def tour(selection: Sequence[str], query: str, work: Path) -> None:
    """Build everything, ask one question, and show the metrics and times."""
    seconds = {step.title: step.run() for step in building(selection, work)}
    address, started = free_address(), time.monotonic()
    with serving(work, address):
        seconds["Start the query server"] = time.monotonic() - started
        seconds["Ask"] = question(query, work, address).run()
        stdout.print(metrics_table(scrape(address)))
    stdout.print(times_table(seconds))
    stdout.print(closing_words(work), soft_wrap=True)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@reporting_errors
def main(
    names: Annotated[
        list[str] | None, typer.Argument(help="Specs instead of 370 real and 1,000 DARTS models.")
    ] = None,
    query: Annotated[str, typer.Option(help="The model to ask about.")] = "timm:convnext_tiny",
    work: Work = DEFAULT_WORK,
) -> None:
    """Capture, pretrain, embed, serve, ask: the whole way, on real models."""
    tour(names or SELECTION, query, work)


if __name__ == "__main__":
    app()
