"""What `nar search` does: capture a model, ask whoever has the vectors, show the answer."""

from dataclasses import asdict, dataclass

from rich.console import Group

from nar.architecture import Architecture
from nar.cli import corpus_display, display, reports
from nar.cli.asking import Question, ask_atlas, ask_index, ask_server
from nar.cli.difference import Difference, difference
from nar.cli.lookup import Place, captured, looked_up
from nar.cli.setting import Setting, show
from nar.console import stderr
from nar.errors import NarError
from nar.index.filters import Filter
from nar.query import Answer

EXPLAINED_HITS = 3


@dataclass(frozen=True, slots=True)
class Search:
    """What is asked for.

    Attributes:
        name: Spec of the model to capture.
        top_k: Number of relatives.
        wanted: What they must be.
        explain: Whether to name the motifs that the first of them share with it.
        server: HOST:PORT of the server to ask; None for the atlas or the workspace.
    """

    name: str
    top_k: int
    wanted: Filter
    explain: bool
    server: str | None


def search(asked_for: Search, setting: Setting, *, as_json: bool) -> None:
    """Capture a model, ask, and show who is nearest."""
    name = asked_for.name
    asked = captured(name).architecture
    question = Question(asked.graph, asked_for.top_k, asked_for.wanted)
    found = _ask(question, setting, asked_for.server)
    reasons = _reasons(asked, found, Place(setting.work)) if asked_for.explain else []
    show(
        {**reports.answer(name, found), "explanations": [_explanation(each) for each in reasons]},
        lambda: Group(display.answer(name, found), *map(corpus_display.explanation, reasons)),
        as_json=as_json,
    )


def _ask(question: Question, setting: Setting, server: str | None) -> Answer:
    if server is not None:
        return ask_server(question, setting.config().server, server)
    return ask_atlas(question) if setting.wants_atlas else ask_index(question, setting)


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
