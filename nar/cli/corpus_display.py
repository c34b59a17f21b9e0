"""What a person sees of a corpus: rich tables of its numbers, of one architecture, of two."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nar.bodies import apart
from nar.cli import display
from nar.cli.counts import human
from nar.cli.difference import Difference
from nar.cli.display import in_brief
from nar.cli.html import html_of, side_by_side
from nar.cli.portrait import Portrait
from nar.corpus import Card
from nar.corpus.manifest import Counts, Manifest, SourceCounts
from nar.corpus.summary import PERCENTILES, Copies, Size, Summary
from nar.corpus.summary import Group as Counted
from nar.difference import MotifCounts, MotifDifference
from nar.roles import Role

_SHOWN_GROUPS = 30
_SHOWN_NAMES = 12
_SHOWN_OPERATORS = 20
_SHOWN_MOTIFS = 12
_SHOWN_LINES = 60
_LEGEND = (
    "add(-1, -9) reads the nodes 1 and 9 lines above; a channel_ratio of 4 doubles the channels"
)
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def stats(manifest: Manifest, numbers: Summary) -> RenderableType:
    """The numbers of a corpus, from its sources to its copies, and what could not be captured."""
    return Group(
        _headline(numbers),
        _sources(manifest.sources, numbers.totals.everything),
        _counts("Tiers", numbers.totals.tiers),
        _groups("Tasks", numbers.tasks),
        _groups("Families", numbers.families),
        _sizes(numbers.sizes),
        _copies(numbers.copies),
        display.shortcomings(manifest),
        _cost(manifest),
    )


def _headline(numbers: Summary) -> Text:
    count = numbers.totals.headline
    return Text.assemble(
        ("Named and composed: ", "bold"),
        (f"{count.exact:,} distinct networks", "bold green"),
        f" of {count.topology:,} distinct designs, from {count.raw:,} models.",
    )


def _cost(manifest: Manifest) -> Text:
    cores = f" on {manifest.cores} cores" if manifest.cores else ""
    packages = ", ".join(f"{name} {version}" for name, version in manifest.packages.items())
    minutes = manifest.seconds / 60
    took = f"{minutes / 60:.1f} hours" if minutes >= 60 else f"{minutes:.1f} minutes"
    how = f"{took}, {manifest.workers} workers{cores}"
    return Text(f"Captured in {how}, from {packages or 'unnamed packages'}.", "dim")


def new_table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table: columns of words, then columns of numbers."""
    table = Table(title=title, title_style="bold", title_justify="left", box=SIMPLE_HEAD)
    for name in words:
        table.add_column(name, overflow="ellipsis", max_width=40)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _sources(sources: Mapping[str, SourceCounts], everything: Counts) -> Table:
    columns = ("captured", "networks", "designs", "failed", "seconds", "models/s")
    table = new_table("Sources", ["source"], columns)
    for name, count in sorted(sources.items(), key=lambda pair: (-pair[1].raw, pair[0])):
        speed = (f"{count.seconds:,.0f}", f"{count.models_per_s:.2f}") if count.seconds else "--"
        table.add_row(name, *_cells(count), f"{count.failed:,}", *speed)
    failed = sum(count.failed for count in sources.values())
    seconds = sum(count.seconds for count in sources.values())
    total = (f"{failed:,}", f"{seconds:,.0f}" if seconds else "-", "")
    table.add_section()
    table.add_row("all, once each", *_cells(everything), *total, style="bold")
    return table


def _cells(count: Counts | Counted) -> tuple[str, str, str]:
    return (f"{count.raw:,}", f"{count.exact:,}", f"{count.topology:,}")


def _counts(title: str, counts: Mapping[str, Counts]) -> Table:
    table = new_table(title, [title.lower().removesuffix("s")], ("captured", "networks", "designs"))
    for name, count in counts.items():
        table.add_row(name, *_cells(count))
    return table


def _groups(title: str, groups: Sequence[Counted]) -> Table:
    shown = groups[:_SHOWN_GROUPS]
    more = f", the largest {len(shown)} of {len(groups):,}" if len(shown) < len(groups) else ""
    table = new_table(title + more, ["name"], ("captured", "networks", "designs", "sources"))
    for group in shown:
        table.add_row(group.name or "(none)", *_cells(group), str(len(group.sources)))
    return table


def _sizes(sizes: Sequence[Size]) -> Table:
    names = {0: "smallest", 50: "median", 100: "largest"}
    columns = [names.get(percent, f"{percent}%") for percent in PERCENTILES]
    table = new_table("Sizes", ["size"], [*columns, "sum"])
    for size in sizes:
        table.add_row(size.name, *map(human, size.percentiles), human(size.total))
    return table


def _copies(fingerprints: Sequence[Copies]) -> RenderableType:
    table = new_table(
        "Copies", ["equal"], ("distinct", "shared", "members", "across sources", "largest")
    )
    for copies in fingerprints:
        largest = "none"
        if copies.largest:
            members, first = copies.largest[0]
            largest = f"{members:,}, e.g. {first}"
        cells = (copies.distinct, copies.groups, copies.members, copies.across_sources)
        table.add_row(copies.fingerprint, *(f"{cell:,}" for cell in cells), largest)
    return table


_LISTED = ("name", "library", "family", "task", "tier")


def card_lines(listed: Iterable[Card]) -> Iterator[str]:
    """The same for a program: whole, with tabs between, the names of the columns first."""
    yield "\t".join((*_LISTED, "parameters", "nodes"))
    for card in listed:
        texts = (getattr(card.labels, name) for name in _LISTED)
        yield "\t".join((*texts, str(card.parameters), str(card.nodes)))


def cards(listed: Sequence[Card]) -> RenderableType:
    """One line an architecture."""
    table = Table(*_LISTED)
    table.add_column("parameters", justify="right")
    table.add_column("nodes", justify="right")
    for card in listed:
        texts = (getattr(card.labels, name) for name in _LISTED)
        table.add_row(*texts, human(card.parameters), f"{card.nodes:,}")
    return table


def portrait(subject: Portrait) -> RenderableType:
    """Labels, sizes, who shares the design, and the motifs."""
    card, graph = subject.card, subject.architecture.graph
    labels = card.labels
    family, block = card.paper_family or "-", card.paper_block or "-"
    operators = len(set(graph.op_ids.tolist()))
    rows: dict[str, object] = {
        "library": labels.library,
        "tier": labels.tier,
        "family": f"{labels.family} ({card.block})",
        "backbone": labels.backbone or "-",
        "by the paper's rules": f"{family} ({block})",
        "task": labels.task,
        "parameters": f"{card.parameters:,}",
        "FLOPs": f"{card.flops:,}",
        "nodes, edges": f"{card.nodes:,}, {card.edges:,}",
        "operators": f"{operators} different",
        "motifs": f"{subject.cut.motifs:,} of {len(subject.cut.counts()):,} types",
        "aliases": _names(subject.aliases),
        "twins": _names(subject.twins),
        "siblings": _names(subject.siblings),
        "published twins": _names(subject.published_twins),
        "topology": card.topology,
        "exact": card.exact,
        "inference": card.inference,
    }
    return Group(display.properties(labels.name, rows), display.motifs(labels.name, subject.cut))


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN_NAMES]) or "none"
    more = len(names) - _SHOWN_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def difference(compared: Difference) -> RenderableType:
    """What two architectures share, and where they differ."""
    return Group(
        Text(_verdict(compared), "bold"),
        _side_by_side(compared),
        _operators(compared),
        _motifs("Motifs of both", compared.motifs.shared),
        _motifs("Motifs of one only", compared.motifs.other),
        *_listing(compared),
    )


def difference_html(compared: Difference) -> tuple[str, str]:
    """The same as HTML, and the motifs of both drawn side by side."""
    # It takes 0.2 s to import, and who looks at a terminal does without.
    from nar.cli.drawing import as_svg, drawn_motifs

    sides = ((side.labels.name, side.graph) for side in (compared.first, compared.second))
    drawn = (as_svg(drawn_motifs(*side)) for side in sides)
    return html_of(difference(compared)), side_by_side(*drawn)


def explanation(
    name: str, motifs: MotifDifference, differs: tuple[Role, ...] | None
) -> RenderableType:
    """Why a hit is near: where it differs, the motifs of both, and those of one only."""
    heads = ("query", "hit")
    form = " at inference" if motifs.at_inference else ""
    own, its = (f"{100 * share:.0f}%" for share in motifs.in_shared)
    shares = f"{own} of the query's operators, {its} of the hit's"
    where = [] if differs is None else [Text(f"{name} differs {apart(differs)}.", "bold")]
    return Group(
        *where,
        _motifs(f"Motifs that {name} shares{form}: {shares}", motifs.shared, heads),
        _motifs(f"Motifs of the query or of {name} only{form}", motifs.other, heads),
    )


def _verdict(compared: Difference) -> str:
    alike = f"{100 * compared.alike:.0f}% of the nodes are alike"
    where = "" if compared.differs is None else f", and differ {apart(compared.differs)}"
    return {
        "network": "They are the same network: equal exact fingerprint.",
        "design": "They have the same design in other widths: equal topology, other attributes.",
        "inference": "They are the same network at inference: equal normal forms, where batch "
        f"norms are folded and branches merged. As they are written, {alike}.",
        None: f"They are different designs{where}; {alike}.",
    }[compared.sameness]


def _side_by_side(compared: Difference) -> Table:
    table = Table("", title_justify="left", box=SIMPLE_HEAD)
    sides = (compared.first, compared.second)
    for side in sides:
        table.add_column(side.labels.name, overflow="fold")
    for name, cells in {
        "library": [side.labels.library for side in sides],
        "family": [f"{side.labels.family} ({side.block})" for side in sides],
        "task": [side.labels.task for side in sides],
        "parameters": [f"{side.graph.parameters:,}" for side in sides],
        "FLOPs": [f"{side.graph.flops:,}" for side in sides],
        "nodes": [f"{side.graph.nodes:,}" for side in sides],
        "edges": [f"{side.graph.edges:,}" for side in sides],
        "topology": [side.topology[:16] for side in sides],
        "exact": [side.exact[:16] for side in sides],
        "inference": [side.inference[:16] for side in sides],
    }.items():
        table.add_row(name, *cells, style="" if cells[0] == cells[1] else "yellow")
    return table


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


def _listing(compared: Difference) -> Iterable[Text]:
    """The unified diff, cut; an operand is written as so many nodes back."""
    if compared.listing:
        yield Text(_LEGEND, "dim")
    for line in compared.listing[:_SHOWN_LINES]:
        yield Text(line, _DIFF_STYLES.get(line[:1], ""))
    more = len(compared.listing) - _SHOWN_LINES
    if more > 0:
        yield Text(f"... {more:,} more lines; --json has them all", "dim")
