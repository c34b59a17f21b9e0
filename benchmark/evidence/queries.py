"""Who asks the shipped atlas, and what it answers: parts, edits, and models as a library has them.

Originals that select a model ask when settings are chosen, the others when they are tested. A model
as a library has it asks without its own design among the hits, as a new one would; and once more
without its family.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmark.editing.parts import has_head
from benchmark.tasks import frozen
from benchmark.tasks.asking import EDITS, PARTS, without_change
from benchmark.tasks.splits import order
from benchmark.tasks.task import Held
from nar.answers.answer import compared_hits
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.answers.query import Query, Target
from nar.answers.retrieve import Retriever
from nar.base.errors import NarError
from nar.base.workspace import package_path
from nar.corpus import Card, Corpus, read_shard, shipped_corpus
from nar.graphs.architecture import Architecture
from nar.graphs.by import By
from nar.graphs.graph import ComputationalGraph
from nar.index.filters import EVERYTHING, Filter
from nar.index.rows import Hit, IndexRow

DEPTH: Final = 20
WHOLE: Final = "whole"
NEW: Final = "of a new family"
# Names of a hit's own design that may stand before the others.
_COPIES: Final = 80
_TOGETHER: Final = 256
_SEED: Final = 0
# What libraries call the task of a trunk.
_TRUNKS: Final = "feature-extraction"


@dataclass(frozen=True, slots=True, eq=False)
class AtlasQuery:
    """Who asks, and the first hits.

    Attributes:
        kind: `WHOLE`, `NEW`, `EDITS`, or how a part was cut.
        original: What it is or was made from.
        graph: Its graph.
        by_design: Hits, nearest first.
        by_copy: Hits, nearest first.
    """

    kind: str
    original: IndexRow
    graph: ComputationalGraph
    by_design: tuple[Hit, ...]
    by_copy: tuple[Hit, ...]

    def compared(self, count: int) -> list[Hit]:
        """So many hits of both answers, as a search compares them."""
        return compared_hits(self.by_copy, self.by_design, count)


class AtlasQueries:
    """The shipped atlas and who asks it.

    Args:
        held: Which originals ask.
        most: So many of each kind ask, drawn by a hash; all if None.

    Raises:
        CorpusError: This installation has no atlas or no corpus.
    """

    def __init__(self, held: Held, most: int | None = None) -> None:
        content = read_atlas(shipped_atlas())
        self._retriever = Retriever(content.embedder, content.index)
        self._rows = {row.name: row for row in content.rows}
        self._selects = held == "validation"
        self._most = most

    def changed(self) -> Iterator[AtlasQuery]:
        """Parts, each of its kind, and edits."""
        path = package_path("data", "changed.parquet", package="benchmark")
        changed = [item for item in read_shard(path) if self._asks_as_changed(item)]
        changed.sort(key=lambda item: order(_SEED, item.labels.name))
        of_source = {
            source: [item for item in changed if item.labels.source == source][: self._most]
            for source in (EDITS, PARTS)
        }
        items = [item for each in of_source.values() for item in each]
        graphs = [item.graph for item in items]
        by_design = self._hits(graphs, DEPTH, "design")
        by_copy = self._hits(graphs, DEPTH, "copy")
        for item, *hits in zip(items, by_design, by_copy, strict=True):
            name, change = without_change(item.labels.name)
            kind = EDITS if item.labels.source == EDITS else change
            yield AtlasQuery(kind, self._rows[name], item.graph, *hits)

    def wholes(self) -> Iterator[AtlasQuery]:
        """One named model of each design that has a head: others are parts of models that do."""
        tasks = {name: card.labels.task for name, card in self._designs().items()}
        complete = [name for name, task in tasks.items() if _TRUNKS not in task][: self._most]
        graphs = Corpus(shipped_corpus()).graphs(complete, sources_of(complete))
        names = [name for name, item in graphs.items() if has_head(item.graph)]
        by_design = self._hits(names, DEPTH + _COPIES, "design")
        by_copy = self._hits(names, DEPTH + _COPIES, "copy")
        for name, *hits in zip(names, by_design, by_copy, strict=True):
            own = self._rows[name]
            yield AtlasQuery(WHOLE, own, graphs[name].graph, *(_others(each, own) for each in hits))

    def of_new_families(self) -> Iterator[AtlasQuery]:
        """A named model of each family, whose family does not answer."""
        first = {card.labels.family: name for name, card in self._designs().items()}
        names = list(first.values())[: self._most]
        graphs = Corpus(shipped_corpus()).graphs(names, sources_of(names))
        others = [_strangers_of(self._rows[name]) for name in names]
        by_design = self._hits(names, DEPTH, "design", others)
        by_copy = self._hits(names, DEPTH, "copy", others)
        for name, *hits in zip(names, by_design, by_copy, strict=True):
            yield AtlasQuery(NEW, self._rows[name], graphs[name].graph, *hits)

    def _asks_as_changed(self, item: Architecture) -> bool:
        return item.labels.source in (EDITS, PARTS) and self._may_ask(
            without_change(item.labels.name)[0]
        )

    def _may_ask(self, name: str) -> bool:
        return name in self._rows and (name in frozen.selecting()) == self._selects

    def _designs(self) -> dict[str, Card]:
        """Named models that may ask, one of each topology, in the order of a hash."""
        cards = [
            card
            for card in Corpus(shipped_corpus()).cards()
            if card.labels.tier == "named" and self._may_ask(card.labels.name)
        ]
        cards.sort(key=lambda card: order(_SEED, card.labels.name), reverse=True)
        designs = {card.topology: card for card in cards}
        return {card.labels.name: card for card in designs.values()}

    def _hits(
        self, targets: Sequence[Target], top_k: int, by: By, wanted: Sequence[Filter] = ()
    ) -> Iterator[tuple[Hit, ...]]:
        filters = wanted or [EVERYTHING] * len(targets)
        queries = [
            Query(target, top_k, each, by) for target, each in zip(targets, filters, strict=True)
        ]
        for start in range(0, len(queries), _TOGETHER):
            for answer in self._retriever.search_all(queries[start : start + _TOGETHER]):
                if isinstance(answer, NarError):
                    raise answer
                yield answer.hits


def sources_of(names: Iterable[str]) -> set[str]:
    """Who registers them."""
    return {name.partition(":")[0] for name in names}


def _strangers_of(own: IndexRow) -> Filter:
    """What is of another family; an equal design of another name is no stranger."""
    return Filter(none_of=(Filter(families=(own.family,)), Filter(topologies=(own.topology,))))


def _others(hits: Sequence[Hit], own: IndexRow) -> tuple[Hit, ...]:
    """The first hits of other designs."""
    return tuple(hit for hit in hits if hit.topology != own.topology)[:DEPTH]
