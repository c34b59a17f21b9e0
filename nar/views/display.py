"""What a person sees: the records of NAR as rich tables; these functions print nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from nar.answers.words import assumed_texts, card_text, doubts_texts, unread_texts
from nar.corpus.manifest import Failure, Manifest
from nar.graphs.ops import op_name

if TYPE_CHECKING:
    from nar.answers.blocks import Block, BlockUsers
    from nar.answers.design_card import DesignCard
    from nar.base.own_zoo import Zoo
    from nar.motifs.partition import MotifPartition
    from nar.zoo.spec import ZooCapture

# Fields of a card that say nothing of a network without attention, or without experts.
_OF_ATTENTION: Final = frozenset({
    "heads", "key_value_heads", "head_size", "window", "causal", "positions",
})  # fmt: skip
_OF_EXPERTS: Final = frozenset({"experts", "top_k"})
_UNITS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
# Columns that no table reaches: a table is measured as if a terminal had no end.
ENDLESS: Final = 10_000
# Chosen: operators of a motif that stand in a cell, the first and the last of a longer list.
_SHOWN_OPERATORS = 14
# Chosen: rows of the table of failures, which begins with the most frequent reasons.
_SHOWN_REASONS = 25
# Chosen: rows of the same table before these, each with a model of a user's own.
_SHOWN_OWN = 200
# The columns of the table of jobs; of an encoder the first letters tell it apart.
_JOB_COLUMNS: Final = ("number", "time", "user", "job", "kind", "rows", "encoder")
_JOB_LETTERS: Final = 40  # chosen: the whole of every other column, and enough of a fingerprint
# `nar.own.files.SOURCE`, which takes torch to import.
_OWN: Final = "file"
# Chosen: rows of the table of blocks, and families in a line.
_SHOWN_BLOCKS = 10


def capture(captured: "ZooCapture") -> RenderableType:
    """Labels, sizes, fingerprints and the most frequent operators of one architecture."""
    item = captured.architecture
    labels, graph = item.labels, item.graph
    unknown = captured.unknown_operators | captured.unknown_facts
    census = Counter(op_name(identifier) for identifier in graph.op_ids.tolist())
    rows = {
        "library": labels.library,
        "family": f"{labels.family} ({item.block})",
        "task": labels.task,
        "parameters": f"{graph.parameters:,}",
        "FLOPs": f"{graph.flops:,}",
        "nodes, edges": f"{graph.nodes:,}, {graph.edges:,}",
        "operators": ", ".join(f"{name} {count}" for name, count in census.most_common(12)),
        "unknown": ", ".join(f"{name} {n}" for name, n in unknown.items()) or "none",
        "topology": item.topology,
        "exact": item.exact,
        "inference": item.inference,
    }
    lacks = (*doubts_texts(captured.assumed), *unread_texts(captured.unread))
    doubts = (Text(text, "bold red") for text in lacks)
    assumed = map(Text, assumed_texts(captured.assumed))
    return Group(*doubts, _properties(labels.name, rows), *assumed)


def card(name: str, made_of: "DesignCard") -> RenderableType:
    """What a model is made of: a sentence, and a line for each field."""
    applies = {each: value for each, value in asdict(made_of).items() if value != ()}
    if made_of.attention == "none":
        applies = {each: value for each, value in applies.items() if each not in _OF_ATTENTION}
    if made_of.mlp != "mixture":
        applies = {each: value for each, value in applies.items() if each not in _OF_EXPERTS}
    rows = {each.replace("_", " "): _card_value(value) for each, value in applies.items()}
    return Group(Text(card_text(made_of), "bold"), _properties(name, rows))


def _card_value(value: object) -> str:
    match value:
        case None:
            return "not read"
        case bool():
            return "yes" if value else "no"
        case tuple():
            return ", ".join(map(str, value))
        case float():
            return f"{value:g}"
    return str(value)


def motifs(name: str, cut: "MotifPartition") -> RenderableType:
    """Motif types of one architecture, the largest share of nodes first, as `NAME#1` counts."""
    table = Table(title=f"Motifs of {name}", title_style="bold", title_justify="left")
    for column in ("#", "times", "nodes", "share"):
        table.add_column(column, justify="right")
    table.add_column("operators")
    counts = cut.counts()
    for number, code in enumerate(cut.by_share(), start=1):
        operators = cut.operators(code)
        size = len(operators)
        share = f"{100 * counts[code] * size / cut.graph.nodes:.0f}%"
        table.add_row(str(number), str(counts[code]), str(size), share, in_brief(operators))
    return table


def block_users(motif: str, users: "BlockUsers", top_k: int) -> RenderableType:
    """The architectures that contain a block: by family, by block, and the first by name.

    Args:
        motif: The text that was asked.
        users: The architectures that contain the block.
        top_k: How many architectures are named.
    """
    if not users.users:
        return Text(f"No architecture that the options ask for contains {motif}.", "yellow")
    times = sum(user.occurrences for user in users.users)
    families = ", ".join(
        f"{name} {n:,}" for name, n in list(users.families.items())[:_SHOWN_BLOCKS]
    )
    head = f"{len(users.users):,} architectures contain {motif}, {times:,} times in all."
    return Group(
        Text(head, "bold"),
        Text(f"Families: {families}"),
        _blocks(users.blocks),
        _most_users(users, top_k),
    )


def _blocks(blocks: Sequence["Block"]) -> Table:
    more = f", the first {_SHOWN_BLOCKS} of {len(blocks):,}" if len(blocks) > _SHOWN_BLOCKS else ""
    table = _numbers_first(f"Blocks{more}", ("architectures", "times"))
    for column in ("code", "operators"):
        table.add_column(column, overflow="fold")
    for block in blocks[:_SHOWN_BLOCKS]:
        numbers = (f"{block.architectures:,}", f"{block.occurrences:,}")
        table.add_row(*numbers, block.code, in_brief(block.operators))
    return table


def _most_users(users: "BlockUsers", top_k: int) -> Table:
    table = _numbers_first("Architectures with most occurrences", ("times", "params"))
    for column in ("name", "family", "task"):
        table.add_column(column, overflow="fold")
    for user in users.users[:top_k]:
        numbers = (f"{user.occurrences:,}", human(user.parameters))
        table.add_row(*numbers, user.name, user.family, user.task)
    return table


def _numbers_first(title: str, numbers: Sequence[str]) -> Table:
    table = Table(title=title, title_style="bold", title_justify="left", box=SIMPLE_HEAD)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def human(value: float) -> str:
    """A count with a unit.

    Example:
        >>> human(25_557_032)
        '25.6M'
    """
    for size, unit in _UNITS:
        if value >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.0f}"


def in_brief(operators: Sequence[str]) -> str:
    """Operators in order, with repeated ones counted; the middle of a long list is left out.

    Example:
        >>> in_brief(["conv", "relu", "relu", "conv"])
        'conv relux2 conv'
    """
    runs = [(name, len(list(run))) for name, run in groupby(operators)]
    words = [name if times == 1 else f"{name}x{times}" for name, times in runs]
    if len(words) <= _SHOWN_OPERATORS:
        return " ".join(words)
    half = _SHOWN_OPERATORS // 2
    left_out = len(words) - 2 * half
    return " ".join([*words[:half], f"... {left_out} more ...", *words[-half:]])


def manifest(corpus: Manifest) -> RenderableType:
    """Sizes by source, what failed and what is unknown."""
    table = Table(title="Corpus", title_justify="left")
    table.add_column("source")
    for column in ("captured", "distinct networks", "distinct designs", "failed"):
        table.add_column(column, justify="right")
    for source, count in corpus.sources.items():
        sizes = (count.raw, count.exact, count.topology, count.failed)
        table.add_row(source, *(f"{size:,}" for size in sizes))
    return Group(table, shortcomings(corpus))


def shortcomings(corpus: Manifest) -> RenderableType:
    """Sources that were skipped, operators outside the vocabulary, reasons of failures."""
    return Group(*_shortcomings(corpus))


def _shortcomings(corpus: Manifest) -> Iterable[RenderableType]:
    for skipped in corpus.skipped:
        yield Text(f"Skipped: {skipped.source} ({skipped.reason})", "yellow")
    if corpus.unknown_operators:
        names = ", ".join(f"{name} {count}" for name, count in corpus.unknown_operators.items())
        yield Text(f"Operators outside the vocabulary: {names}", "yellow")
    if corpus.failures:
        yield _failures(corpus.failures)


def _failures(failures: Sequence[Failure]) -> Table:
    """Each reason with its number of models; thousands may fail for a few reasons.

    A model of a user's own has a row of its own, for its owner wants to know of it.
    """
    by_reason: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        own = failure.name if failure.source == _OWN else ""
        by_reason.setdefault((own, failure.reason), []).append(failure)
    ordered = sorted(by_reason.items(), key=lambda each: (not each[0][0], -len(each[1]), each[0]))
    groups = [group for _, group in ordered]
    shown = _SHOWN_REASONS + min(sum(bool(own) for own, _ in by_reason), _SHOWN_OWN)
    more = len(groups) - shown
    note = f", {more} more rows in the manifest" if more > 0 else ""
    title = f"Not captured: {len(failures):,}{note}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("models", justify="right")
    for column in ("for example", "operator", "reason"):
        table.add_column(column, overflow="fold")
    for group in groups[:shown]:
        first = group[0]
        table.add_row(f"{len(group):,}", first.name, first.operator, first.reason)
    return table


def zoo(found: "Zoo") -> RenderableType:
    """The models of a zoo of one's own, and what lies there and is none."""
    table = Table(title=f"{len(found.models):,} models", title_justify="left")
    for column in ("name", "captures", "inputs", "family", "task"):
        table.add_column(column, overflow="fold")
    for each in found.models:
        known = (each.labels.family or "", each.labels.task or "")
        table.add_row(each.name, each.spec, " ".join(each.inputs), *known)
    unplaced = (Text(f"not placed {path}: {why}", "dim") for path, why in found.unplaced.items())
    return Group(table, *unplaced)


def history(jobs: Sequence[Mapping[str, object]]) -> RenderableType:
    """The jobs that have changed an index, the last first."""
    table = Table(title="Jobs that can be gone back behind", title_justify="left")
    for column in _JOB_COLUMNS:
        table.add_column(column)
    for job in jobs:
        table.add_row(*(str(job[column])[:_JOB_LETTERS] for column in _JOB_COLUMNS))
    return table


def properties(title: str, rows: Mapping[str, object]) -> RenderableType:
    """Names and values, one a line."""
    return _properties(title, {name: str(value) for name, value in rows.items()})


def _properties(title: str, rows: dict[str, str]) -> Table:
    table = Table(title=title, title_style="bold", title_justify="left", show_header=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, value)
    return table


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table that fits the width of its place.

    Attributes:
        tables: Makes versions of the table for a number of columns, each with less in it than the
            last. The first version that fits is shown, or else the last.
    """

    tables: Callable[[int], Sequence[Table]]

    @property
    def whole(self) -> Table:
        """The version with everything in it, for places of any width."""
        return self.tables(ENDLESS)[0]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        *larger, smallest = self.tables(options.max_width)
        wide = options.update(width=ENDLESS)
        for table in larger:
            if console.measure(table, options=wide).maximum <= options.max_width:
                yield table
                return
        yield smallest
