"""What the commands of `nar` do: ask the library, show the answer as tables or as JSON."""

import json
import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Group, RenderableType

from nar.architecture import Architecture
from nar.atlas import atlas_novelty, read_atlas, shipped_atlas
from nar.cli import corpus_display, display, reports
from nar.cli.atlas_commands import unpacked
from nar.cli.difference import Difference, difference
from nar.cli.lookup import Place, captured, looked_up
from nar.client import Client
from nar.config import NarConfig, ServerConfig, load_config
from nar.console import DEFAULT_WORK, progress, stderr, stdout
from nar.corpus import read_corpus
from nar.encoding.checkpoint import fingerprint, load_checkpoint
from nar.encoding.embed import Embedder
from nar.errors import NarError
from nar.graph import ComputationalGraph
from nar.index.architecture_index import ArchitectureIndex, index_row
from nar.index.exact import ExactIndex
from nar.index.filters import Filter
from nar.motifs.partition import partition
from nar.novelty import calibrate_index, read_novelty, write_novelty
from nar.retrieve import Answer, Retriever
from nar.serve.run import serve as run_server
from nar.workspace import Workspace

EXPLAINED_HITS = 3


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a command works.

    Attributes:
        work: Directory of corpus, checkpoint and index.
        uri: A Milvus server, instead of the index in that directory.
        file: YAML file of settings.
    """

    work: Path
    uri: str | None
    file: Path | None

    @property
    def place(self) -> Workspace:
        """The workspace."""
        return Workspace(self.work)

    @property
    def wants_atlas(self) -> bool:
        """Whether the atlas of the package answers: nothing is named, and nothing was built."""
        is_named = self.uri is not None or self.file is not None or self.work != DEFAULT_WORK
        return not (is_named or self.place.index.exists())

    def config(self) -> NarConfig:
        """Settings of the file, with the index where the command line says."""
        chosen = load_config(self.file)
        default = chosen.index.uri if self.file else str(self.place.index)
        index = chosen.index.model_copy(update={"uri": self.uri or default})
        return chosen.model_copy(update={"index": index})


@dataclass(frozen=True, slots=True)
class Question:
    """What a search asks.

    Attributes:
        name: Spec of the model to capture.
        top_k: Number of relatives.
        wanted: What they must be.
        explain: Whether to name the motifs that the first of them share with it.
    """

    name: str
    top_k: int
    wanted: Filter
    explain: bool = False


def show(value: Mapping[str, object], view: Callable[[], RenderableType], *, as_json: bool) -> None:
    """Print one answer, for a program or for a person."""
    if as_json:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        stdout.print(view())


def capture(name: str, *, graph: bool, as_json: bool) -> None:
    """Show a captured model, or every node of it."""
    found = captured(name)
    item, unknown = found.architecture, found.unknown_operators
    show(
        reports.architecture(item, unknown),
        lambda: str(item.graph) if graph else display.architecture(item, unknown),
        as_json=as_json,
    )


def motifs(name: str, *, as_json: bool) -> None:
    """Show the motif types of a model."""
    cut = partition(captured(name).architecture.graph)
    show(reports.motifs(name, cut), lambda: display.motifs(name, cut), as_json=as_json)


def index_build(setting: Setting, *, as_json: bool) -> None:
    """Embed the corpus of a workspace and publish it as the index."""
    config = setting.config().index
    embedder = Embedder(load_checkpoint(setting.place.checkpoint))
    items = read_corpus(setting.place.corpus)
    with (
        ArchitectureIndex(config) as index,
        index.build(embedder.fingerprint, embedder.dim) as bulk,
        progress("embedding", len(items)) as advance,
    ):
        for start in range(0, len(items), config.batch_rows):
            batch = items[start : start + config.batch_rows]
            vectors = embedder.embed([item.graph for item in batch])
            bulk.upsert([index_row(*pair) for pair in zip(batch, vectors, strict=True)])
            advance(len(batch))
        rows = bulk.publish()
        novelty = calibrate_index(index)
    if novelty is not None:
        write_novelty(setting.place.novelty, novelty, encoder=embedder.fingerprint)
    result = {"rows": rows, "uri": config.uri, "encoder": embedder.fingerprint}
    show(result, lambda: display.properties("Index", result), as_json=as_json)


def index_info(setting: Setting, *, as_json: bool) -> None:
    """Show what the index holds."""
    config = setting.config().index
    with ArchitectureIndex(config) as index:
        result = {"rows": index.count(), "encoder": index.encoder, "uri": config.uri}
    show(result, lambda: display.properties("Index", result), as_json=as_json)


def search(question: Question, setting: Setting, *, server: str | None, as_json: bool) -> None:
    """Ask a server, or the index of the workspace in this process."""
    asked = captured(question.name).architecture
    if server is None:
        found = _ask_index(asked.graph, question, setting)
    else:
        found = _ask_server(asked.graph, question, setting.config().server, server)
    reasons = _reasons(asked, found, Place(setting.work)) if question.explain else []
    name = question.name
    show(
        {**reports.answer(name, found), "explanations": [_explanation(each) for each in reasons]},
        lambda: Group(display.answer(name, found), *map(corpus_display.explanation, reasons)),
        as_json=as_json,
    )


def _reasons(asked: Architecture, found: Answer, place: Place) -> list[Difference]:
    """The query beside each of the first hits that can be looked at."""
    names = [hit.name for hit in found.hits[:EXPLAINED_HITS]]
    reasons: list[Difference] = []
    try:
        for item in looked_up(place, names):
            reasons.append(difference(asked, item))
    except NarError as error:
        stderr.print(f"{names[len(reasons)]} is not explained: {error}", style="yellow")
    return reasons


def _explanation(found: Difference) -> reports.Report:
    return {
        "name": found.second.labels.name,
        "shared_motifs": [asdict(motif) for motif in found.shared_motifs],
        "other_motifs": [asdict(motif) for motif in found.other_motifs],
    }


def _ask_index(graph: ComputationalGraph, question: Question, setting: Setting) -> Answer:
    if setting.wants_atlas:
        return _ask_atlas(graph, question)
    embedder = Embedder(load_checkpoint(setting.place.checkpoint))
    with ArchitectureIndex(setting.config().index, encoder=embedder.fingerprint) as index:
        novelty = read_novelty(setting.place.novelty, encoder=embedder.fingerprint)
        retriever = Retriever(embedder, index, novelty)
        return retriever.search(graph, top_k=question.top_k, wanted=question.wanted)


def _ask_atlas(graph: ComputationalGraph, question: Question) -> Answer:
    atlas = shipped_atlas()
    embedder = Embedder(load_checkpoint(atlas.encoder))
    content = read_atlas(atlas)
    rows = len(content.rows)
    stderr.print(f"asking the atlas of NAR, {rows:,} architectures", style="dim", highlight=False)
    retriever = Retriever(embedder, ExactIndex(content.rows), content.novelty)
    return retriever.search(graph, top_k=question.top_k, wanted=question.wanted)


def _ask_server(
    graph: ComputationalGraph, question: Question, config: ServerConfig, target: str
) -> Answer:
    token = config.token.get_secret_value() if config.token else None
    with Client(target, token=token) as client:
        return client.search(graph, top_k=question.top_k, wanted=question.wanted)


def serve(setting: Setting, given: Mapping[str, str | int | None]) -> None:
    """Run the query server; what the command line gives stands above the settings."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    config = setting.config()
    changed = {name: value for name, value in given.items() if value is not None}
    config = config.model_copy(update={"server": config.server.model_copy(update=changed)})
    if setting.wants_atlas:
        atlas = shipped_atlas()
        index = config.index.model_copy(update={"uri": str(unpacked(atlas))})
        chosen = config.model_copy(update={"index": index})
        run_server(chosen, atlas.encoder, novelty=atlas_novelty(atlas))
    else:
        encoder = fingerprint(load_checkpoint(setting.place.checkpoint))
        novelty = read_novelty(setting.place.novelty, encoder=encoder)
        run_server(config, setting.place.checkpoint, novelty=novelty)
