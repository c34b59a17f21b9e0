"""An answer as people see it, and as the plain data that programs get: every part of the record."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nar.answers.coverage import Coverage
from nar.answers.difference import Explanation
from nar.answers.published import Published, figures_of, origin
from nar.answers.query import Answer
from nar.answers.verdict import FamilyVerdict
from nar.answers.words import sentences
from nar.answers.wrapping import Wrapped
from nar.base.own_labels import reported, shown
from nar.graphs.architecture import place_of_name
from nar.index.rows import Hit
from nar.views.difference import edits_report, explanation_view
from nar.views.display import Fitted, human
from nar.views.reports import assumed, unread

if TYPE_CHECKING:
    from nar.answers.supported import Closest

Report = dict[str, Any]

# Chosen: columns of a terminal from which on no text is cut.
_WIDE: Final = 110
# Chosen: letters that stay of a text in a narrower terminal that has no room for whole texts.
_CUT: Final = 14
# Chosen: other names that stand below a network; further ones are counted.
_SHOWN_COPIES: Final = 2
_MEASURED: Final = ("top-1 %", "img/s")
_SCORES: Final = "score: the cosine of two vectors, 1 where they are equal"
_NOBODY: Final = (
    "No architecture in the index has what the options ask for; `nar corpus list` shows the family "
    "of each architecture, and `nar corpus stats` shows sources and tasks."
)
# The sentences that stand before the table of hits; the others stand below it. Of a known design
# nobody asks first what it is a part of.
_STYLES: Final[Mapping[str, str]] = {
    "stale_since": "bold red",
    "assumed.doubts": "bold red",
    "unread": "bold red",
    "same_network": "bold yellow",
    "same_at_inference": "bold yellow",
    "same_design": "yellow",
    "wrapped": "bold yellow",
    "novelty": "green",
    "resemblance": "bold green",
    "bodies": "bold green",
    "coverage": "green",
    "changes": "bold green",
}
_OF_NEW: Final[Mapping[str, str]] = {"part_of": "bold green"}
_STYLES_BELOW: Final[Mapping[str, str]] = {"part_of": "bold"}

_TWO: Final = "two models are compared, and nothing is searched"
# Which fields of an `Answer` a front end does not show, and why. It shows all others. The page runs
# nobody's code and assumes nothing itself: it shows what the query of a client says was assumed.
LEFT_OUT: Final[Mapping[str, Mapping[str, str]]] = {
    "command": {"compared": "it is evidence of what is not said: `--json` has it"},
    "python": {"compared": "a person reads what is said; the attribute has it"},
    "mcp": {"shared": "it is long for a language model, which asks `diff` about a pair"},
    "page": {
        "compared": "it is evidence of what is not said",
        "shared": "the page compares two models in a view of its own",
    },
    "nar diff --html": {
        "hits": _TWO,
        "novelty": _TWO,
        "resemblance": _TWO,
        "family": _TWO,
        "trunk": _TWO,
        "part_of": _TWO,
        "coverage": _TWO,
        "card": _TWO,
        "compared": _TWO,
        "wrapped": _TWO,
        "stale_since": _TWO,
    },
}
# What an engine supports comes beside an answer. Which front ends cannot be asked for it, and why.
_INDEX: Final = "a server's index need not have what an engine lists, and takes names as a filter"
NO_ENGINE: Final[Mapping[str, str]] = {
    "grpc": _INDEX,
    "http": _INDEX,
    "client": f"{_INDEX}: `nar search --server --among` asks so",
    "page": "who writes an issue has a model of their own at hand, which the command captures",
}


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """One network of an answer.

    Attributes:
        hit: The hit that stands for the network.
        copies: Names of its other hits, in their order.
    """

    hit: Hit
    copies: tuple[str, ...] = ()

    @property
    def published(self) -> Published | None:
        """Published figures, under any of its names."""
        return figures_of((self.hit.name, *self.copies))


def one_row_a_network(hits: Sequence[Hit], rows: int, asked: str = "") -> list[NetworkRow]:
    """The first networks of an answer.

    Args:
        hits: Nearest first.
        rows: How many networks at most.
        asked: Name of the query; the row of its own network bears this name.
    """
    networks: dict[str, list[Hit]] = {}
    for hit in hits:
        networks.setdefault(hit.exact, []).append(hit)
    return [_row(hits, asked) for hits in list(networks.values())[:rows]]


def _row(hits: Sequence[Hit], asked: str) -> NetworkRow:
    """One network under the name that was asked, or the best known of its commonest family.

    A model that wraps a network of another library has the family of that network.
    """
    counts = Counter([hit.family for hit in hits])

    def place(hit: Hit) -> tuple[bool, int, tuple[int, str]]:
        return hit.name != asked, -counts[hit.family], place_of_name(hit.name)

    shown, *others = sorted(hits, key=place)
    return NetworkRow(shown, tuple(sorted([hit.name for hit in others], key=place_of_name)))


def answer_view(
    query: str,
    answer: Answer,
    rows: Sequence[NetworkRow] = (),
    closest: "Closest | None" = None,
) -> RenderableType:
    """The sentences of an answer, a table of relatives, and why the first relatives are near.

    Args:
        query: Name of the query.
        answer: The answer.
        rows: Rows of the table; by default a row for each hit.
        closest: What an engine supports, where that was asked for: it stands first.
    """
    statements = sentences(answer)
    styles = _STYLES if answer.is_known else {**_STYLES, **_OF_NEW}
    before = [Text(each.text, styles[each.part]) for each in statements if each.part in styles]
    below = [
        Text(each.text, _STYLES_BELOW.get(each.part, ""))
        for each in statements
        if each.part not in styles
    ]
    shown = rows or [NetworkRow(hit) for hit in answer.hits]
    hits: list[RenderableType] = (
        ["", Fitted(partial(_tables, query, shown))] if shown else [Text(_NOBODY, "yellow")]
    )
    reasons = [
        explanation_view(each.name, each.motifs, each.differs) for each in answer.shared or ()
    ]
    supported = [Text(each, "bold green") for each in closest.sentences] if closest else []
    return Group(*supported, *before, *hits, *below, *reasons)


def answer_report(
    query: str, answer: Answer, rows: Sequence[NetworkRow], closest: "Closest | None" = None
) -> Report:
    """The same as plain data.

    Args:
        query: Name of the query.
        answer: The answer.
        rows: The hits, a row for each network.
        closest: What an engine supports, where that was asked for.
    """
    return {
        "query": query,
        "hits": [_hit(row) for row in rows],
        "same_network": [hit.name for hit in answer.same_network],
        "same_at_inference": [hit.name for hit in answer.same_at_inference],
        "same_design": [hit.name for hit in answer.same_design],
        "wrapped": _wrapped(answer.wrapped),
        "novelty": answer.novelty,
        "assumed": assumed(answer.assumed),
        "unread": unread(answer.unread),
        "stale_since": answer.stale_since,
        "published_from": origin(),
        "sentences": [each.text for each in sentences(answer)],
        "evidence": evidence_report(answer),
        "explanations": [_explanation(each) for each in answer.shared or ()],
        "supported": _supported(closest),
    }


def evidence_report(answer: Answer) -> Report:
    """The parts of an answer with their evidence; null where a part was not asked for."""
    return {
        "family": _votes(answer.family),
        "trunk": _votes(answer.trunk),
        "resemblance": asdict(answer.resemblance) if answer.resemblance else None,
        "part_of": _listed(answer.part_of, lambda each: {"name": each.name, **asdict(each.part)}),
        "bodies": _listed(answer.bodies, asdict),
        "changes": _listed(
            answer.changes,
            lambda each: {"name": each.name, "design": each.design, **edits_report(each.edits)},
        ),
        "coverage": _covered(answer.coverage),
        "card": asdict(answer.card) if answer.card else None,
        "compared": answer.compared,
    }


def _listed(items: Sequence[Any] | None, report: Callable[[Any], Report]) -> list[Report] | None:
    return None if items is None else [report(item) for item in items]


def _wrapped(wrapped: Wrapped | None) -> Report | None:
    if wrapped is None:
        return None
    return {
        "same": wrapped.same,
        "names": [hit.name for hit in wrapped.hits],
        "taken_off": [asdict(each) for each in wrapped.taken_off],
    }


def _supported(closest: "Closest | None") -> Report | None:
    if closest is None:
        return None
    changes, listed = closest.changes, closest.listed
    return {
        "list": listed.key,
        "source": listed.source,
        "read": listed.read.isoformat(),
        "architectures": len(listed.architectures),
        "compared": closest.compared,
        "is_supported": closest.is_supported,
        "architecture": closest.architecture or None,
        "name": closest.name or None,
        "same": "name" if closest.is_named else closest.same,
        "changes": edits_report(changes.edits) if changes else None,
        "sentences": closest.sentences,
        "issue": closest.issue,
    }


def _votes(verdict: FamilyVerdict | None) -> Report | None:
    return {"name": verdict.family or None, **asdict(verdict)} if verdict else None


def _covered(covered: Coverage | None) -> Report | None:
    return {"word": covered.word, **asdict(covered)} if covered else None


def _hit(row: NetworkRow) -> Report:
    figures = asdict(row.published) if row.published else None
    return {**reported(asdict(row.hit)), "copies": row.copies, "published": figures}


def _explanation(reason: Explanation) -> Report:
    motifs = reason.motifs
    return {
        "name": reason.name,
        "differs": reason.differs,
        "at_inference": motifs.at_inference,
        "in_shared_motifs": dict(zip(("first", "second"), motifs.in_shared, strict=True)),
        "changes": edits_report(motifs.edits.turned()),
        "shared_motifs": [asdict(motif) for motif in motifs.shared],
        "other_motifs": [asdict(motif) for motif in motifs.other],
    }


def _tables(query: str, rows: Sequence[NetworkRow], columns: int) -> list[Table]:
    """The relatives with whole texts, and with cut ones for a terminal that may have no room."""
    if columns >= _WIDE:
        return [_relatives(query, rows, None, with_figures=True)]
    return [_relatives(query, rows, width, with_figures=False) for width in (None, _CUT)]


def _relatives(
    query: str, rows: Sequence[NetworkRow], width: int | None, *, with_figures: bool
) -> Table:
    title = f"Relatives of {query}"
    figures = [row.published if with_figures else None for row in rows]
    measured = _MEASURED if any(figures) else ()
    table = Table(
        title=title,
        title_style="bold",
        title_justify="left",
        caption=f"{_SCORES}\n{', '.join(_MEASURED)}: {origin()}" if measured else _SCORES,
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("", justify="right", no_wrap=True)
    # People copy names into the next command: in a narrow terminal a name takes a second line, and
    # other texts are cut.
    table.add_column("name", overflow="fold")
    # Without their versions.
    libraries = [row.hit.library.partition(" ")[0] for row in rows]
    unnamed = [
        row
        for row, library in zip(rows, libraries, strict=True)
        if not row.hit.name.startswith(f"{library}:")
    ]
    for column in (*(["library"] if unnamed else ()), "family", "task"):
        table.add_column(column, overflow="ellipsis", no_wrap=True, max_width=width)
    for column in ("params", *measured, "score"):
        table.add_column(column, justify="right", no_wrap=True)
    for rank, (row, library, published) in enumerate(
        zip(rows, libraries, figures, strict=True), start=1
    ):
        hit = row.hit
        texts = (*([library] if unnamed else ()), hit.family, hit.task)
        cells = _figure_cells(published) if measured else ()
        parameters = human(hit.parameters) if hit.parameters else "-"
        table.add_row(str(rank), hit.name, *texts, parameters, *cells, f"{hit.score:.3f}")
        for copy in _copies(row):
            table.add_row(*copy)
    return table


def _copies(row: NetworkRow) -> Iterator[tuple[str, Text]]:
    """The rows below a network: labels of the user's own, and its other names."""
    if row.hit.own:
        texts = (f"{key}={shown(value)}" for key, value in row.hit.labels.items())
        yield "", Text(", ".join(texts), "dim")
    for name in row.copies[:_SHOWN_COPIES]:
        yield "=", Text(name, "dim")
    more = len(row.copies) - _SHOWN_COPIES
    if more > 0:
        yield "", Text(f"and {more} more", "dim")


def _figure_cells(figures: Published | None) -> tuple[str, str]:
    """Percent of ImageNet's images, and images a second, as timm has measured them."""
    if figures is None:
        return "", ""
    speed = f"{figures.images_per_s:,.0f}" if figures.images_per_s else ""
    return f"{figures.imagenet_top1:.1f}", speed
