"""The `nar` command: every step of the way by hand, without Ray.

The distributed jobs are `python -m cluster.extract`, `cluster.pretrain` and `cluster.embed`.
"""

import json
import logging
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from nar import display, reports
from nar.checkpoint import load_checkpoint
from nar.client import Client
from nar.config import NarConfig, ServerConfig, load_config
from nar.console import DEFAULT_WORK, AsJson, Work, progress, reporting_errors, stderr, stdout
from nar.corpus import iterate_shards, read_corpus
from nar.embed import Embedder
from nar.evaluation.comparison import Method, compare, untrained_methods
from nar.filters import Filter, Range
from nar.graph import ComputationalGraph
from nar.index import ArchitectureIndex, index_row
from nar.manifest import Manifest
from nar.motifs import partition
from nar.retrieve import Answer, Retriever
from nar.serve.run import serve as run_server
from nar.workspace import Workspace
from nar.zoo import ZooCapture, capture_architecture

app = typer.Typer(
    help="NAR, the search engine for neural architectures.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
corpus_app = typer.Typer(help="Look at a corpus of captured architectures.", no_args_is_help=True)
index_app = typer.Typer(help="Build and inspect the vector index.", no_args_is_help=True)
app.add_typer(corpus_app, name="corpus")
app.add_typer(index_app, name="index")

Name = Annotated[
    str, typer.Argument(help="timm:resnet50, path/to/file.py:factory, model.onnx, model.pt2, ...")
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML file of settings.")]
Uri = Annotated[str | None, typer.Option(help="Milvus server; default: index.db below --work.")]
Several = Annotated[list[str] | None, typer.Option(help="Only these; may be given again.")]


def show(value: dict[str, Any], view: Callable[[], RenderableType], *, as_json: bool) -> None:
    """Print one answer, for a program or for a person."""
    if as_json:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        stdout.print(view())


def settings(config: Path | None, work: Path, uri: str | None) -> NarConfig:
    """Settings of a file, with the index where the command line says."""
    chosen = load_config(config)
    index = uri or (chosen.index.uri if config else str(Workspace(work).index))
    return chosen.model_copy(update={"index": chosen.index.model_copy(update={"uri": index})})


def captured(name: str) -> ZooCapture:
    """Capture one model, showing that something happens."""
    with stderr.status(f"capturing {name}"):
        return capture_architecture(name)


@app.command()
@reporting_errors
def capture(name: Name, graph: bool = False, as_json: AsJson = False) -> None:
    """Capture a model: operators, parameters, FLOPs, fingerprints. --graph prints every node."""
    found = captured(name)
    item, unknown = found.architecture, found.unknown_operators
    show(
        reports.architecture(item, unknown),
        lambda: str(item.graph) if graph else display.architecture(item, unknown),
        as_json=as_json,
    )


@app.command()
@reporting_errors
def motifs(name: Name, as_json: AsJson = False) -> None:
    """Show the repeated blocks a model is made of."""
    cut = partition(captured(name).architecture.graph)
    show(reports.motifs(name, cut), lambda: display.motifs(name, cut), as_json=as_json)


@corpus_app.command("stats")
@reporting_errors
def corpus_stats(work: Work = DEFAULT_WORK, as_json: AsJson = False) -> None:
    """Sizes by source, failures with their reasons, operators outside the vocabulary."""
    found = Manifest.read(Workspace(work).corpus)
    show(found.model_dump(mode="json"), lambda: display.manifest(found), as_json=as_json)


@corpus_app.command("list")
@reporting_errors
def corpus_list(work: Work = DEFAULT_WORK, family: Several = None, as_json: AsJson = False) -> None:
    """Name, family and size of every architecture."""
    items = [
        item
        for _, shard in iterate_shards(Workspace(work).corpus)
        for item in shard
        if not family or item.labels.family in family
    ]
    rows = [{**asdict(item.labels), "nodes": item.graph.nodes} for item in items]
    show({"architectures": rows}, lambda: display.architectures(items), as_json=as_json)


@index_app.command("build")
@reporting_errors
def index_build(
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Embed a corpus and index it, in this process. `cluster.embed` does it on a cluster."""
    chosen = settings(config, work, uri)
    embedder = Embedder(load_checkpoint(Workspace(work).checkpoint))
    items = read_corpus(Workspace(work).corpus)
    with (
        ArchitectureIndex(chosen.index) as index,
        index.build(embedder.fingerprint, embedder.dim) as bulk,
        progress("embedding", len(items)) as advance,
    ):
        for start in range(0, len(items), chosen.index.batch_rows):
            batch = items[start : start + chosen.index.batch_rows]
            vectors = embedder.embed([item.graph for item in batch])
            bulk.upsert([index_row(*pair) for pair in zip(batch, vectors, strict=True)])
            advance(len(batch))
        rows = bulk.publish()
    result = {"rows": rows, "uri": chosen.index.uri, "encoder": embedder.fingerprint}
    show(result, lambda: display.properties("Index", result), as_json=as_json)


@index_app.command("info")
@reporting_errors
def index_info(
    work: Work = DEFAULT_WORK, uri: Uri = None, config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """Rows, encoder and place of the index."""
    chosen = settings(config, work, uri)
    with ArchitectureIndex(chosen.index) as index:
        result = {"rows": index.count(), "encoder": index.encoder, "uri": chosen.index.uri}
    show(result, lambda: display.properties("Index", result), as_json=as_json)


@app.command()
@reporting_errors
def search(
    name: Name,
    top_k: Annotated[int, typer.Option(min=1, help="Number of relatives.")] = 10,
    server: Annotated[str | None, typer.Option(help="HOST:PORT; else --work is opened.")] = None,
    source: Several = None,
    family: Several = None,
    block: Several = None,
    task: Several = None,
    min_parameters: int | None = None,
    max_parameters: int | None = None,
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Find the architectures whose design is nearest to a model's."""
    wanted = Filter(
        sources=tuple(source or ()),
        families=tuple(family or ()),
        blocks=tuple(block or ()),
        tasks=tuple(task or ()),
        parameters=Range(min_parameters, max_parameters),
    )
    graph = captured(name).architecture.graph
    chosen = settings(config, work, uri)
    if server is None:
        found = ask_index(graph, chosen, Workspace(work), top_k=top_k, wanted=wanted)
    else:
        with Client(server, token=token_of(chosen.server)) as client:
            found = client.search(graph, top_k=top_k, wanted=wanted)
    show(reports.answer(name, found), lambda: display.answer(name, found), as_json=as_json)


def ask_index(
    graph: ComputationalGraph, chosen: NarConfig, place: Workspace, *, top_k: int, wanted: Filter
) -> Answer:
    """Answer from the checkpoint and the index of a workspace, in this process."""
    embedder = Embedder(load_checkpoint(place.checkpoint))
    with ArchitectureIndex(chosen.index, encoder=embedder.fingerprint) as index:
        return Retriever(embedder, index).search(graph, top_k=top_k, wanted=wanted)


def token_of(config: ServerConfig) -> str | None:
    """What a server wants callers to bring, where the settings or the environment say so."""
    return config.token.get_secret_value() if config.token else None


@app.command()
@reporting_errors
def serve(
    work: Work = DEFAULT_WORK,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=0, help="0 takes a free one.")] = None,
    metrics_port: Annotated[int | None, typer.Option(min=0, help="Of Prometheus.")] = None,
    uri: Uri = None,
    config: ConfigFile = None,
) -> None:
    """Answer gRPC queries until SIGTERM or ctrl-c; calls in flight are finished."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    chosen = settings(config, work, uri)
    given = {"host": host, "port": port, "metrics_port": metrics_port}
    changed = {name: value for name, value in given.items() if value is not None}
    server = chosen.server.model_copy(update=changed)
    run_server(chosen.model_copy(update={"server": server}), Workspace(work).checkpoint)


@app.command()
@reporting_errors
def evaluate(work: Work = DEFAULT_WORK, as_json: AsJson = False) -> None:
    """MRR, MAP and NDCG of the workspace's encoder on its corpus, beside untrained baselines."""
    place = Workspace(work)
    embedder = Embedder(load_checkpoint(place.checkpoint))
    methods = (*untrained_methods(), Method(f"{embedder.name} encoder, trained", embedder.embed))
    items = read_corpus(place.corpus)
    with progress("evaluating", 2 * len(methods)) as advance:
        rows = compare(items, methods, done=advance)
    result = {"rows": [row.to_dict() for row in rows]}
    show(result, lambda: display.comparisons(rows), as_json=as_json)
