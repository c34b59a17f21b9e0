"""What `nar search` does: it looks a model up or captures it, asks an index, shows the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TypeAlias

from rich.console import Group

from nar.answers.bodies import Dissected, differing
from nar.answers.difference import Cut, MotifDifference, motif_difference
from nar.answers.evidence import (
    Evidence,
    KnownHits,
    evidence_of,
    known_hits,
    labelled,
    looked_at,
    questions,
)
from nar.answers.folding import Row, folded
from nar.answers.naming import architectures_of, known_or_captured
from nar.answers.published import origin
from nar.answers.query import Answer, Query
from nar.answers.roles import Role
from nar.base.console import show, stderr
from nar.base.errors import CorpusError, NarError
from nar.choices import CorpusChoice, IndexChoice
from nar.cli.asking import ask
from nar.cli.options import Multiples, resolved
from nar.corpus import Location
from nar.graphs.architecture import Architecture
from nar.graphs.by import By
from nar.index.filters import Filter
from nar.index.ranking import MAX_TOP_K
from nar.views import display, evidence_display, reports
from nar.views.difference import explanation_view

# The motifs that a hit shares, and which of its parts differ.
Reason: TypeAlias = tuple[MotifDifference, tuple[Role, ...] | None]
EXPLAINED_HITS = 3
# Libraries repeat each other: hits asked for, for each network that is shown.
_COPIES = 10


def search(
    name: str,
    top_k: int,
    conditions: tuple[Filter, Multiples],
    by: By,
    choice: IndexChoice,
    *,
    server: str | None,
    explain: bool,
    fresh: bool,
    copies: bool,
    input_shape: Sequence[int] | None,
    as_json: bool,
) -> None:
    """Ask with a model, and show who is nearest.

    Args:
        name: Of the corpus, or spec of a model to capture.
        top_k: Number of relatives; copies of one network are one.
        conditions: What they must be, and bounds that are multiples of what the model has.
        by: What they should share with it.
        choice: The index to ask where no server is named.
        server: HOST:PORT of the server to ask; None for the atlas or the workspace.
        explain: Whether to name the motifs that the first hits share with the model.
        fresh: Whether to capture what the corpus has, too.
        copies: Whether every copy counts as a relative of its own.
        input_shape: Of a tensor that the module of a user's factory is given.
        as_json: Whether a program reads the answer.
    """
    corpus = CorpusChoice(choice.work).directory_if_any()
    asked = known_or_captured(corpus, name, fresh=fresh, input_shape=input_shape)
    name, wanted = asked.labels.name, resolved(*conditions, asked.graph)
    asked_beside = questions(asked)
    wide = top_k if copies else min(_COPIES * top_k, MAX_TOP_K)
    answer, *beside = ask([Query(asked, wide, wanted, by), *asked_beside.values()], choice, server)
    rows = [Row(hit) for hit in answer.hits] if copies else folded(answer.hits, top_k, name)
    if len(rows) < top_k and len(answer.hits) == wide:
        folds = f"{wide} hits are {len(rows)} networks: --all gives every copy a row of its own"
        stderr.print(folds, style="yellow")
    told = _evidence(asked, dict(zip(asked_beside, beside, strict=True)), corpus)
    reasons = _reasons(asked, _explained(rows, told), corpus) if explain else {}
    report = {
        **reports.answer(name, answer),
        "hits": [_hit(row) for row in rows],
        "published_from": origin(),
        "evidence": evidence_display.report(told),
        "explanations": [_explanation(name, *reason) for name, reason in reasons.items()],
    }
    said = evidence_display.said(answer, told.resemblance, told.bodies)
    shown = (explanation_view(name, *reason) for name, reason in reasons.items())
    view = (evidence_display.view(told), *shown)
    show(report, lambda: Group(display.answer(name, answer, rows, said), *view), as_json=as_json)


def _hit(row: Row) -> reports.Report:
    figures = asdict(row.published) if row.published else None
    return {**asdict(row.hit), "copies": row.copies, "published": figures}


def _evidence(
    asked: Architecture, answers: Mapping[By, Answer], corpus: Location | None
) -> Evidence:
    """What the hits say of the query, as far as the corpus has their graphs."""
    try:
        known = known_hits(corpus, looked_at(asked, answers), labelled(answers))
    except CorpusError as error:
        stderr.print(f"the hits were not compared node by node: {error}", style="yellow")
        known = KnownHits()
    return evidence_of(asked, answers, known.networks, known.backbones)


def _explained(rows: Sequence[Row], told: Evidence) -> list[str]:
    """Names of the first hits, of what contains the query, and of what has its body."""
    names = [row.hit.name for row in rows[:EXPLAINED_HITS]]
    names += [whole.name for whole in told.wholes[:1]]
    return list(dict.fromkeys([*names, *(body.name for body in told.bodies[:1])]))


def _reasons(
    asked: Architecture, names: Sequence[str], corpus: Location | None
) -> dict[str, Reason]:
    """The query compared with each of some hits, up to the first that cannot be looked at."""
    reasons: dict[str, Reason] = {}
    cut, parts = Cut(asked), Dissected(asked)
    try:
        for item in architectures_of(corpus, names):
            differs = differing(parts, Dissected(item))
            reasons[item.labels.name] = motif_difference(cut, Cut(item)), differs
    except NarError as error:
        stderr.print(f"{names[len(reasons)]} is not explained: {error}", style="yellow")
    return reasons


def _explanation(
    name: str, motifs: MotifDifference, differs: tuple[Role, ...] | None
) -> reports.Report:
    return {
        "name": name,
        "differs": differs,
        "at_inference": motifs.at_inference,
        "in_shared_motifs": dict(zip(("first", "second"), motifs.in_shared, strict=True)),
        "shared_motifs": [asdict(motif) for motif in motifs.shared],
        "other_motifs": [asdict(motif) for motif in motifs.other],
    }
