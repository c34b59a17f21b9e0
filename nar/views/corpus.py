"""What a person sees of a corpus: its numbers, one of its architectures, two corpora compared."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nar.base.own_labels import reported
from nar.corpus import Card, Found
from nar.corpus.comparison import ChangedModel, Comparison
from nar.corpus.manifest import Counts, Manifest, SourceCounts
from nar.corpus.summary import PERCENTILES, Copies, SizeDistribution, Summary
from nar.corpus.summary import Group as Counted
from nar.graphs.architecture import Architecture
from nar.motifs.partition import MotifPartition, partition
from nar.views import display
from nar.views.display import human
from nar.views.reports import Report, motifs

# Chosen: rows of a table of tasks or families; with its title it fits a screen of 40 lines.
_SHOWN_GROUPS = 30
# Chosen: names in a line of text; further names are counted.
_SHOWN_NAMES = 12
# Chosen: kinds of changed graphs, for the same screen.
_SHOWN_CHANGES = 30
# Chosen: rows of one table of a list: few enough to show at once, many enough for few headings.
_PAGE_ROWS = 1_000


def stats_view(manifest: Manifest, numbers: Summary) -> RenderableType:
    """The numbers of a corpus, from its sources to its copies, and what could not be captured."""
    return Group(
        _headline(manifest.totals.headline),
        _sources(manifest.sources, manifest.totals.everything),
        _counts("Tiers", manifest.totals.tiers),
        _groups("Tasks", numbers.tasks),
        _groups("Families", numbers.families),
        _sizes(numbers.sizes),
        _copies(numbers.copies),
        display.shortcomings(manifest),
        _cost(manifest),
    )


def _headline(count: Counts) -> Text:
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


def _sizes(sizes: Sequence[SizeDistribution]) -> Table:
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


_TEXTS = ("name", "library", "family", "task", "tier")
# Columns of a corpus that a list of it shows.
LISTED = (*_TEXTS, "parameters", "node_count")
_HEADINGS = (*_TEXTS, "parameters", "nodes")


def listed_lines(rows: Iterable[Sequence[str | int]]) -> Iterator[str]:
    """Rows of the columns `LISTED` for a program: uncut, with tabs between, headings first."""
    yield "\t".join(_HEADINGS)
    for row in rows:
        yield "\t".join(map(str, row))


def listed_tables(rows: Iterable[Sequence[Any]]) -> Iterator[Table]:
    """The same for a person, in tables of some rows: a table has to be whole to be aligned."""
    rest = iter(rows)
    while page := list(islice(rest, _PAGE_ROWS)):
        table = Table(*_TEXTS)
        for heading in _HEADINGS[len(_TEXTS) :]:
            table.add_column(heading, justify="right")
        for *texts, parameters, nodes in page:
            table.add_row(*texts, human(parameters), f"{nodes:,}")
        yield table


@dataclass(frozen=True, slots=True)
class Portrait:
    """What `nar corpus show` shows of an architecture.

    Attributes:
        architecture: The architecture.
        card: Its card in the corpus.
        cut: Its motifs.
        aliases: Names of the same network: equal exact fingerprint.
        twins: Names of the same design in other sources: equal topology.
        siblings: Names of the same design in its own source, aliases left out.
        published_twins: Names that the reviewed table calls the same published design.
    """

    architecture: Architecture
    card: Card
    cut: MotifPartition
    aliases: tuple[str, ...]
    twins: tuple[str, ...]
    siblings: tuple[str, ...]
    published_twins: tuple[str, ...]


def portrait(entry: Found, published_twins: tuple[str, ...] = ()) -> Portrait:
    """The portrait of an architecture that was found in a corpus."""
    mine = entry.architecture
    source = mine.labels.source
    return Portrait(
        architecture=mine,
        card=entry.card,
        cut=partition(mine.graph),
        aliases=_sorted_names(card for card in entry.same if card.exact == mine.exact),
        twins=_sorted_names(card for card in entry.same if card.labels.source != source),
        siblings=_sorted_names(
            card for card in entry.same if card.labels.source == source and card.exact != mine.exact
        ),
        published_twins=tuple(name for name in published_twins if name != mine.labels.name),
    )


def _sorted_names(cards: Iterable[Card]) -> tuple[str, ...]:
    return tuple(sorted(card.labels.name for card in cards))


def card_report(card: Card) -> Report:
    """What a corpus says of one architecture, for a program."""
    row = asdict(card)
    return {**reported(row.pop("labels")), **row}


def portrait_report(subject: Portrait) -> Report:
    """The same as the portrait for a person, for a program."""
    return {
        **card_report(subject.card),
        "aliases": subject.aliases,
        "twins": subject.twins,
        "siblings": subject.siblings,
        "published_twins": subject.published_twins,
        "motifs": motifs(subject.card.labels.name, subject.cut)["motifs"],
    }


def portrait_view(subject: Portrait) -> RenderableType:
    """Labels, sizes, names of the same design, and the motifs."""
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


def comparison_view(compared: Comparison) -> RenderableType:
    """What changed in a corpus: its models, their graphs, labels and sizes."""
    common = compared.equal + len(compared.changed)
    counts = Text.assemble(
        f"{compared.before:,} architectures before, {compared.after:,} now; {common:,} in both: ",
        (f"{compared.equal:,} of the same exact fingerprint", "bold"),
        f", {len(compared.changed):,} of another one.",
    )
    return Group(
        counts,
        _changes(compared.changed),
        _few("no longer there", compared.gone),
        _few("new", compared.new),
        _few("with other labels", compared.relabelled),
        _few("with another number of parameters", compared.resized),
    )


def _changes(changes: Sequence[ChangedModel]) -> Table:
    kinds = Counter((change.gained, change.lost, change.same_design) for change in changes)
    example = {(each.gained, each.lost, each.same_design): each.name for each in reversed(changes)}
    commonest = kinds.most_common(_SHOWN_CHANGES)
    rest = (
        f", the commonest {len(commonest)} of {len(kinds):,}" if len(kinds) > len(commonest) else ""
    )
    columns = ["gained", "lost", "design", "for example"]
    table = new_table(f"Graphs that changed, by operators{rest}", columns, ["models"])
    for kind, count in commonest:
        gained, lost, same_design = kind
        design = "the same" if same_design else "another"
        table.add_row(_words(gained), _words(lost), design, example[kind], f"{count:,}")
    return table


def _words(operators: Sequence[str]) -> str:
    return ", ".join(operators) or "-"


def _few(title: str, names: Sequence[str]) -> Text:
    more = ", ..." if len(names) > _SHOWN_NAMES else ""
    shown = f": {', '.join(names[:_SHOWN_NAMES])}{more}" if names else ""
    return Text(f"{len(names):,} {title}{shown}")
