"""What `nar search` does: it captures a model, asks an index, and shows the answer."""

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Group

from nar.architecture import Architecture
from nar.by import By
from nar.cli import corpus_display, display, reports
from nar.cli.asking import ask_atlas, ask_index, ask_server
from nar.cli.choices import CorpusChoice, IndexChoice
from nar.cli.difference import Difference, explaining_difference
from nar.cli.lookup import captured, looked_up
from nar.console import show, stderr
from nar.errors import NarError
from nar.index.filters import Filter
from nar.index.rows import Hit
from nar.query import Answer, Query

EXPLAINED_HITS = 3


def search(
    name: str,
    top_k: int,
    wanted: Filter,
    by: By,
    choice: IndexChoice,
    *,
    server: str | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Capture a model, ask, and show who is nearest.

    Args:
        name: Spec of the model to capture.
        top_k: Number of relatives.
        wanted: What they must be.
        by: What they should share with it.
        choice: The index to ask where no server is named.
        server: HOST:PORT of the server to ask; None for the atlas or the workspace.
        explain: Whether to name the motifs that the first hits share with the model.
        as_json: Whether a program reads the answer.
    """
    asked = captured(name).architecture
    answer = _ask(Query(asked, top_k, wanted, by), choice, server)
    corpus, hits = CorpusChoice(choice.work), answer.hits[:EXPLAINED_HITS]
    reasons = _reasons(asked, hits, corpus) if explain else []
    show(
        {**reports.answer(name, answer), "explanations": [_explanation(each) for each in reasons]},
        lambda: Group(display.answer(name, answer), *map(corpus_display.explanation, reasons)),
        as_json=as_json,
    )


def _ask(query: Query, choice: IndexChoice, server: str | None) -> Answer:
    if server is not None:
        return ask_server(query, choice.config().server, server)
    return ask_atlas(query) if choice.wants_atlas else ask_index(query, choice)


def _reasons(asked: Architecture, hits: Sequence[Hit], corpus: CorpusChoice) -> list[Difference]:
    """The query compared with each of the hits, up to the first that cannot be looked at."""
    names = [hit.name for hit in hits]
    reasons: list[Difference] = []
    try:
        for item in looked_up(corpus, names):
            reasons.append(explaining_difference(asked, item))
    except NarError as error:
        stderr.print(f"{names[len(reasons)]} is not explained: {error}", style="yellow")
    return reasons


def _explanation(compared: Difference) -> reports.Report:
    return {
        "name": compared.second.labels.name,
        "at_inference": compared.at_inference,
        "shared_motifs": [asdict(motif) for motif in compared.shared_motifs],
        "other_motifs": [asdict(motif) for motif in compared.other_motifs],
    }
