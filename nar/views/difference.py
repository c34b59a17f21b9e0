"""What a person sees of two architectures: what they share, where they differ, why one is near."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nar.answers.change_kinds import MEANING, ChangeKind
from nar.answers.difference import Difference, MotifCounts, MotifDifference, RowsCompared
from nar.answers.edits import Edits
from nar.answers.roles import Role
from nar.answers.words import apart, changes_text
from nar.base.own_labels import reported
from nar.graphs.architecture import Architecture
from nar.graphs.fingerprints import same_at_inference
from nar.index.rows import IndexEntry, index_entry
from nar.views.corpus import new_table
from nar.views.display import in_brief
from nar.views.html import html_of, side_by_side
from nar.views.reports import Report, architecture, assumed, unread

if TYPE_CHECKING:
    # Locks import what captures models; a view of two models does not need it.
    from nar.answers.lock import LockedChange

# Chosen: rows of the table of operators, which begins with the largest differences.
_SHOWN_OPERATORS = 20
# Chosen: rows of a table of motifs, which begins with the motifs of most nodes.
_SHOWN_MOTIFS = 12
# Chosen: lines of the unified diff, a screen or two; `--json` has all lines.
_SHOWN_LINES = 60
_LEGEND = (
    "add(-1, -9) reads the nodes 1 and 9 lines above; a channel_ratio of 4 doubles the channels"
)
# Of a locked model: motifs and graph are shown as changes; inputs are what the user stated.
_NOT_REPORTED = {"motifs", "inputs", "graph"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def difference_view(compared: Difference) -> RenderableType:
    """What two architectures share, and where they differ."""
    return Group(
        *(Text(text, "bold red") for text in compared.doubts),
        Text(compared.verdict, "bold"),
        Text(compared.changes, "bold green"),
        Text(compared.shared),
        *map(Text, compared.assumptions),
        _side_by_side(compared.first, compared.second),
        _operators(compared),
        _motifs("Motifs of both", compared.motifs.shared),
        _motifs("Motifs of one only", compared.motifs.other),
        *_listed(compared.listing),
    )


def difference_report(compared: Difference) -> Report:
    """The same for a program."""
    sides = {"first": compared.first, "second": compared.second}
    return {
        **{name: architecture(side, {}) for name, side in sides.items()},
        "assumed": dict(zip(sides, map(assumed, compared.assumed), strict=True)),
        "unread": dict(zip(sides, map(unread, compared.unread), strict=True)),
        "same_exact": compared.first.exact == compared.second.exact,
        "same_topology": compared.first.topology == compared.second.topology,
        "same_at_inference": same_at_inference(compared.first, compared.second),
        "alike": round(compared.alike, 4),
        "changes": compared.changes,
        "edits": edits_report(compared.motifs.edits),
        "differs": compared.differs,
        "operators": [asdict(count) for count in compared.operators],
        "shared_motifs": [asdict(motif) for motif in compared.motifs.shared],
        "other_motifs": [asdict(motif) for motif in compared.motifs.other],
        "listing": compared.listing,
    }


def edits_report(edits: Edits) -> Report:
    """How one graph becomes another one, for a program."""
    return {
        "text": edits.text,
        "at_inference": edits.at_inference,
        "paired": [round(share, 4) for share in edits.paired],
        "edits": [{**asdict(edit), "text": edit.text} for edit in edits.edits],
    }


def difference_html(compared: Difference) -> tuple[str, str]:
    """The same as HTML, and the motifs of both drawn side by side."""
    # It takes 0.2 s to import, and a terminal does not need it.
    from nar.views.graph_export import as_svg, motif_graph

    sides = ((side.labels.name, side.graph) for side in (compared.first, compared.second))
    drawn = (as_svg(motif_graph(*side)) for side in sides)
    return html_of(difference_view(compared)), side_by_side(*drawn)


def explanation_view(
    name: str, motifs: MotifDifference, differs: tuple[Role, ...] | None
) -> RenderableType:
    """Why a hit is near: where it differs, motifs that both have, and motifs that only one has."""
    heads = ("query", "hit")
    form = " at inference" if motifs.at_inference else ""
    own, its = (f"{100 * share:.0f}%" for share in motifs.in_shared)
    shares = f"{own} of the query's operators, {its} of the hit's"
    where = [] if differs is None else [Text(f"{name} differs {apart(differs)}.", "bold")]
    return Group(
        *where,
        Text(changes_text((name, "the query"), motifs.edits.turned()), "bold green"),
        _motifs(f"Motifs that {name} shares{form}: {shares}", motifs.shared, heads),
        _motifs(f"Motifs of the query or of {name} only{form}", motifs.other, heads),
    )


def rows_view(compared: RowsCompared) -> RenderableType:
    """What is known of two architectures whose graphs are not here."""
    motifs = compared.motifs
    tables = (
        []
        if motifs is None
        else [
            _motifs("Motifs of both", motifs.shared),
            _motifs("Motifs of one only", motifs.other),
        ]
    )
    return Group(
        Text(compared.verdict, "bold"),
        *map(Text, compared.texts),
        _side_by_side(compared.first, compared.second),
        *tables,
    )


def _row(entry: IndexEntry) -> Report:
    """A row without its vector."""
    return reported({name: each for name, each in asdict(entry).items() if name != "embedding"})


def rows_report(compared: RowsCompared) -> Report:
    """The same for a program; what needs graphs is null where nobody has them."""
    first, second, motifs = compared.first, compared.second, compared.motifs
    return {
        "first": _row(first),
        "second": _row(second),
        "same_exact": first.exact == second.exact,
        "same_topology": first.topology == second.topology,
        "same_at_inference": same_at_inference(first, second),
        "why_not": compared.why_not or None,
        "alike": motifs and round(min(motifs.in_shared), 4),
        "edits": motifs and edits_report(motifs.edits),
        "shared_motifs": motifs and [asdict(motif) for motif in motifs.shared],
        "other_motifs": motifs and [asdict(motif) for motif in motifs.other],
    }


def _side_by_side(*sides: Architecture | IndexEntry) -> Table:
    table = Table("", title_justify="left", box=SIMPLE_HEAD)
    entries = [side if isinstance(side, IndexEntry) else index_entry(side) for side in sides]
    for entry in entries:
        table.add_column(entry.name, overflow="fold")
    for name, cells in {
        "library": [each.library for each in entries],
        "family": [f"{each.family} ({each.block})" for each in entries],
        "task": [each.task for each in entries],
        "parameters": [f"{each.parameters:,}" for each in entries],
        "FLOPs": [f"{each.flops:,}" for each in entries],
        "nodes": [f"{each.nodes:,}" for each in entries],
        "edges": [_edges(side) for side in sides],
        "topology": [each.topology[:16] for each in entries],
        "exact": [each.exact[:16] for each in entries],
        "inference": [each.inference[:16] for each in entries],
    }.items():
        table.add_row(name, *cells, style="" if cells[0] == cells[1] else "yellow")
    return table


def _edges(side: Architecture | IndexEntry) -> str:
    """Of a row it is not known how many edges its graph has."""
    return "" if isinstance(side, IndexEntry) else f"{side.graph.edges:,}"


def _operators(compared: Difference) -> Table:
    shown = compared.operators[:_SHOWN_OPERATORS]
    more = len(compared.operators) - len(shown)
    title = f"Operators, {more} more not shown" if more else "Operators"
    table = new_table(title, ["operator"], ("first", "second", "difference"))
    for count in shown:
        change = count.second - count.first
        style = "yellow" if change else "dim"
        cells = (str(count.first), str(count.second), f"{change:+}" if change else "")
        table.add_row(count.operator, *cells, style=style)
    return table


def _motifs(
    title: str, motifs: Sequence[MotifCounts], heads: tuple[str, str] = ("first", "second")
) -> RenderableType:
    if not motifs:
        return Text(f"{title}: none\n")
    more = len(motifs) - _SHOWN_MOTIFS
    table = Table(
        title=f"{title}, {more} more not shown" if more > 0 else title,
        title_style="bold",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    for name in (*heads, "nodes"):
        table.add_column(name, justify="right")
    table.add_column("motif", style="dim", no_wrap=True)
    table.add_column("operators")
    for motif in motifs[:_SHOWN_MOTIFS]:
        counts = (str(motif.first), str(motif.second), str(len(motif.operators)))
        table.add_row(*counts, motif.code[:8], in_brief(motif.operators))
    return table


def _listed(listing: Sequence[str]) -> Iterator[Text]:
    """The first lines of the unified diff; operands are numbers of nodes back."""
    if listing:
        yield Text(_LEGEND, "dim")
    for line in listing[:_SHOWN_LINES]:
        yield Text(line, _DIFF_STYLES.get(line[:1], ""))
    more = len(listing) - _SHOWN_LINES
    if more > 0:
        yield Text(f"... {more:,} more lines; --json has them all", "dim")


def change_report(each: "LockedChange | None", allowed: Collection[ChangeKind]) -> Report:
    """How a model differs from its lock, for a program; `each` is None where it does not."""
    if each is None:
        return {"kind": None, "allowed": True}
    return {
        "kind": each.kind,
        "allowed": each.kind in allowed,
        "before": each.before.model_dump(exclude=_NOT_REPORTED),
        "now": each.now.model_dump(exclude=_NOT_REPORTED),
        "motifs": [asdict(motif) for motif in each.changed_motifs],
        "edits": edits_report(each.motifs.edits),
    }


def change_lines(
    name: str, each: "LockedChange | None", allowed: Collection[ChangeKind]
) -> Iterator[RenderableType]:
    """The same for a person, a line each."""
    if each is None:
        yield Text(f"{name}: as locked", "green")
        return
    verdict, style = ("allowed", "yellow") if each.kind in allowed else ("refused", "bold red")
    yield Text(f"{name}: {each.kind.value}, {verdict}: {MEANING[each.kind]}", style)
    if each.before.parameters != each.now.parameters:
        yield Text(f"  parameters {each.before.parameters:,} -> {each.now.parameters:,}")
    if each.before.nodes != each.now.nodes:
        yield Text(f"  operators {each.before.nodes:,} -> {each.now.nodes:,}")
    if each.motifs.edits.edits:
        yield Text(f"  {each.motifs.edits.text}", "bold")
    for motif in each.changed_motifs:
        yield Text(f"  {motif.first} -> {motif.second} times: {in_brief(motif.operators)}")
