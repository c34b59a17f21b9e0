"""What the hits say of a query, in words and as plain data."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.console import Group, RenderableType
from rich.text import Text

from nar.answers.bodies import SharedBody
from nar.answers.evidence import Evidence
from nar.answers.part_of import Whole
from nar.answers.query import Answer
from nar.answers.verdict import FamilyVerdict, Resemblance
from nar.views import reports
from nar.views.reports import Report

_SHOWN_FAMILIES = 3


def report(told: Evidence) -> Report:
    """Family, trunk and wholes, each with what speaks for it."""
    return {
        "family": _verdict_report(told.family),
        "trunk": _verdict_report(told.trunk) if told.trunk else None,
        "resemblance": asdict(told.resemblance),
        "part_of": [{"name": whole.name, **asdict(whole.part)} for whole in told.wholes],
        "bodies": reports.bodies(told.bodies),
    }


def _verdict_report(verdict: FamilyVerdict) -> Report:
    return {"name": verdict.family or None, **asdict(verdict)}


def said(answer: Answer, like: Resemblance, shared: Sequence[SharedBody]) -> list[Text]:
    """Sentences before the table, of what is not known: what it is like, and whose body it has."""
    if answer.is_known:
        return []
    more = f" {len(shared) - 1} more of the hits have it." if len(shared) > 1 else ""
    sentences = [like.said, *(each.said + more for each in shared[:1])]
    return [Text(each, "bold green") for each in sentences]


def view(told: Evidence) -> RenderableType:
    """A line each."""
    return Group(*_lines(told))


def _lines(told: Evidence) -> Iterator[Text]:
    if told.trunk is None:
        yield Text(_said("Family", told.family))
    else:
        yield Text(_said("Family, by what it is for", told.family))
        yield Text(_said("Family of its trunk", told.trunk))
    if told.wholes:
        yield Text(_contained(*told.wholes), "bold")


def _said(subject: str, verdict: FamilyVerdict) -> str:
    """E.g. ``Family: bart (8 of the first 10 hits, the nearest at 0.971)``."""
    if not verdict.counts:
        return f"{subject}: {'no hit has one' if verdict.of else 'there are no hits'}."
    first = verdict.counts[0]
    if verdict.family:
        shown = f"{first.hits} of the first {verdict.of} hits, the nearest at {first.score:.3f}"
        return f"{subject}: {verdict.family} ({shown})."
    shown = "; ".join(
        f"{count.family} {count.hits}, at {count.score:.3f}"
        for count in verdict.counts[:_SHOWN_FAMILIES]
    )
    return f"{subject}: none stands out among the first {verdict.of} hits ({shown})."


def _contained(whole: Whole, *others: Whole) -> str:
    """E.g. ``This is 97% contained in timm:resnet50: the end of it, 54% of its operators``."""
    part = whole.part
    more = f" And in {len(others)} more of the hits." if others else ""
    return (
        f"This is {100 * part.share:.0f}% contained in {whole.name}: {part.where} of it, "
        f"{100 * part.of_whole:.0f}% of its operators.{more}"
    )
