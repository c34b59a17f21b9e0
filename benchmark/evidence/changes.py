"""Differences in words, where it is known what changed: ``python -m benchmark changes``.

Edits of known models (`benchmark.editing`) are compared with their originals, a model and its edit
at a time. A sentence is right where it names the edit that was made and nothing else. Names of
patterns and all constants were chosen on originals that select a model; the others are asked once.
"""

import gc
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Final

from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.tasks import frozen
from benchmark.tasks.asking import EDITS, without_change
from benchmark.tasks.splits import order
from benchmark.tasks.task import Held
from nar.answers.comparison import edits_between
from nar.answers.edits import EditKind, Edits
from nar.base.workspace import package_path
from nar.corpus import Card, Corpus, read_shard, shipped_corpus
from nar.graphs.architecture import Architecture
from nar.graphs.graph import ComputationalGraph

COMMAND: Final = "python -m benchmark changes --results results"
# What each edit should be called.
NAMED: Final[Mapping[str, frozenset[EditKind]]] = {
    "activation": frozenset({"activation"}),
    "norm": frozenset({"norm"}),
    "activation_and_norm": frozenset({"activation", "norm"}),
    "layer_scale": frozenset({"layer_scale"}),
    "squeeze_excitation": frozenset({"squeeze_excitation"}),
    "half_depth": frozenset({"depth"}),
    "stem_of_two": frozenset({"stem"}),
    "pre_convolution": frozenset({"stem"}),
    "mlp_head": frozenset({"head"}),
    "features_only": frozenset({"head"}),
    "attention_in_last_stage": frozenset({"attention_for_convolution"}),
    "large_windows": frozenset({"kernel"}),
    "grouped_queries": frozenset({"grouped_queries"}),
    "rotary_positions": frozenset({"rotary", "learned_positions"}),
    "gated_mlp": frozenset({"gate"}),
}
# Chosen: edits that are asked of either half, as many of each kind as there are.
ASKED: Final = 400
_SEED: Final = 0
# Sizes in operators at which comparisons are timed, with so many pairs each.
_TIMED: Final = ((1_000, 20), (10_000, 3))
_SHOWN_WRONG: Final = 40
_INTRODUCTION: Final = (
    "*named*: the sentence names the edit that was made; *alone*: and nothing else. "
    "*operators*: it names what has no name in the field, by its operators. Most that is named "
    "beside an edit follows from it: where a branch becomes deeper than another one, the canonical "
    "order changes, and an operator may find no counterpart."
)
_TIMES: Final = (
    "Milliseconds of CPU for two networks of about the same size that have little in common, which "
    "takes longest; normal forms included."
)


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of one edit.

    Attributes:
        name: Name of the changed model.
        change: The edit that was made.
        edits: How its original becomes it.
    """

    name: str
    change: str
    edits: Edits

    @property
    def kinds(self) -> frozenset[str]:
        """What is named."""
        return frozenset(each.kind for each in self.edits.edits)

    @property
    def is_named(self) -> bool:
        """Whether the edit is named."""
        return NAMED[self.change] <= self.kinds

    @property
    def is_alone(self) -> bool:
        """Whether it is named, and nothing else."""
        return self.kinds == NAMED[self.change]


def tell(held: Held) -> Iterator[Told]:
    """Compare edits of one half with their originals."""
    path = package_path("data", "changed.parquet", package="benchmark")
    items = {item.labels.name: item for item in read_shard(path)}
    for item in _drawn(items.values(), held):
        name, change = without_change(item.labels.name)
        edits = edits_between(items[name].graph, item.graph)
        yield Told(item.labels.name, change, edits)


def _drawn(items: Iterable[Architecture], held: Held) -> list[Architecture]:
    """Edits of one half in the order of a hash."""
    selects = held == "validation"
    asked = [
        item
        for item in items
        if item.labels.source == EDITS
        and (without_change(item.labels.name)[0] in frozen.selecting()) == selects
    ]
    return sorted(asked, key=lambda item: order(_SEED, item.labels.name))[:ASKED]


def write_page(results: Path) -> None:
    """Measure both halves and write the page.

    Args:
        results: Directory that gets ``changes.md``.
    """
    text = as_markdown(("validation", "test"))
    keep_page(results, "changes.md", text)


def as_markdown(held: Sequence[Held]) -> str:
    """The page: how often a sentence names an edit, by kind; and how long it takes."""
    blocks = ["# Differences in words", f"```sh\n{COMMAND}\n```", _INTRODUCTION]
    for each in held:
        told = list(tell(each))
        blocks += [f"## {each.capitalize()}", _table(told), *_wrong(told)]
    blocks += ["## Time", _TIMES, _times()]
    return "\n\n".join(blocks) + "\n"


def _table(told: Sequence[Told]) -> str:
    by_kind: defaultdict[str, list[Told]] = defaultdict(list)
    for each in told:
        by_kind[each.change].append(each)
    rows = [(kind, by_kind[kind]) for kind in NAMED if by_kind[kind]]
    lines = [_line(kind, each) for kind, each in (*rows, ("all", told))]
    return markdown_table(("edit", "asked", "named", "alone", "operators"), lines)


def _line(kind: str, told: Sequence[Told]) -> list[str]:
    shares = (
        fmean(each.is_named for each in told),
        fmean(each.is_alone for each in told),
        fmean("operators" in each.kinds for each in told),
    )
    return [kind, f"{len(told):,}", *(f"{share:.3f}" for share in shares)]


def _wrong(told: Sequence[Told]) -> Iterator[str]:
    """The edits of which something else is said, with what is said."""
    wrong = [each for each in told if not each.is_alone]
    lines = [f"- `{each.name}`: {each.edits.text}" for each in wrong[:_SHOWN_WRONG]]
    more = len(wrong) - len(lines)
    yield "\n".join([*lines, *([f"- and {more} more"] if more > 0 else [])])


def _times() -> str:
    """How long comparisons take, by size."""
    cards = {card.topology: card for card in Corpus(shipped_corpus()).cards()}
    by_size = sorted(cards.values(), key=lambda card: card.nodes)
    lines = []
    for nodes, pairs in _TIMED:
        first = next(place for place, card in enumerate(by_size) if card.nodes >= nodes)
        graphs = _graphs(by_size[max(first - pairs, 0) :][: pairs + 1])
        # What the reader of the corpus keeps is not looked through for garbage while time is taken.
        gc.collect()
        gc.freeze()
        taken = [_milliseconds(*pair) for pair in pairwise(graphs)]
        gc.unfreeze()
        lines.append([f"{nodes:,}", str(len(taken)), f"{median(taken):.0f}", f"{max(taken):.0f}"])
    return markdown_table(("operators", "pairs", "median", "longest"), lines)


def _graphs(cards: Sequence[Card]) -> list[ComputationalGraph]:
    names = [card.labels.name for card in cards]
    items = Corpus(shipped_corpus()).graphs(names, {name.partition(":")[0] for name in names})
    return [items[name].graph for name in names]


def _milliseconds(first: ComputationalGraph, second: ComputationalGraph) -> float:
    start = time.process_time()
    edits_between(first, second)
    return 1e3 * (time.process_time() - start)
