"""What is said to be known though the index has it not: ``python -m benchmark false-known``.

Models of the corpus ask an index without everything that is the same as they are, and edits whose
design the index lacks ask all of it. Nothing that they are may be said to be known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmark.evidence.queries import sources_of
from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.tasks.asking import EDITS
from benchmark.tasks.splits import order
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.answers.query import Query
from nar.answers.retrieve import Retriever
from nar.answers.words import sentences
from nar.base.workspace import package_path
from nar.corpus import Corpus, read_shard, shipped_corpus
from nar.graphs.architecture import Architecture
from nar.index.exact import ExactIndex
from nar.index.rows import IndexRow

COMMAND: Final = "python -m benchmark false-known --results results"
# Chosen: with none of so many, the share is below 0.006 in 95 of 100 draws.
ROWS, CHANGED = 500, 500
_SEED: Final = 7
_INTRODUCTION: Final = (
    "Designs that the index does not have, and how many of them it says that it knows, as they are "
    "or behind a wrapping. What is said of the latter stands below: another known model is inside "
    "them, operator for operator."
)


@dataclass(frozen=True, slots=True)
class FalseVerdict:
    """What was said of a design that is not known.

    Attributes:
        name: The design.
        kind: Where it comes from.
        is_known: Whether something equal is said to be known, as it is.
        wrapped: The sentence that says what is inside it; empty where none does.
    """

    name: str
    kind: str
    is_known: bool
    wrapped: str


class Without:
    """An index that has nothing that is the same as a network.

    Args:
        index: All rows.
        own: The network.
    """

    def __init__(self, index: ExactIndex, own: Architecture) -> None:
        self._index, self._own = index, own
        self.dim = index.dim
        self.get = index.get
        self.search_all = index.search_all

    def find_by_fingerprint(
        self, *, topologies: Sequence[str] = (), inferences: Sequence[str] = ()
    ) -> list[IndexRow]:
        """The rows that are not the same as the network."""
        rows = self._index.find_by_fingerprint(topologies=topologies, inferences=inferences)
        own = (self._own.topology, self._own.inference)
        return [row for row in rows if row.topology != own[0] and row.inference != own[1]]


def false_verdicts() -> Iterator[FalseVerdict]:
    """Of rows that are taken away, and of edits."""
    content = read_atlas(shipped_atlas())
    for item in _rows(content.rows):
        yield _verdict_of(Retriever(content.embedder, Without(content.index, item)), item, "a row")
    known = {row.topology for row in content.rows} | {row.inference for row in content.rows}
    retriever = Retriever(content.embedder, content.index)
    path = package_path("data", "changed.parquet", package="benchmark")
    edits = [item for item in read_shard(path) if item.labels.source == EDITS]
    new = [x for x in edits if x.topology not in known and x.inference not in known]
    for item in sorted(new, key=lambda x: order(_SEED, x.labels.name))[:CHANGED]:
        yield _verdict_of(retriever, item, "an edit")


def _rows(rows: Sequence[IndexRow]) -> list[Architecture]:
    """Models of the corpus, no two of one design, in the order of a hash."""
    ordered = sorted(rows, key=lambda row: order(_SEED, row.name))
    names = [row.name for row in {row.topology: row for row in ordered}.values()][:ROWS]
    return [*Corpus(shipped_corpus()).graphs(names, sources_of(names)).values()]


def _verdict_of(retriever: Retriever, item: Architecture, kind: str) -> FalseVerdict:
    answer = retriever.answer(Query(item, top_k=1))
    is_known = bool(answer.same_network or answer.same_at_inference or answer.same_design)
    inside = [each.text for each in sentences(answer) if each.part == "wrapped"]
    return FalseVerdict(item.labels.name, kind, is_known, " ".join(inside))


def as_markdown() -> str:
    """The page."""
    verdicts = list(false_verdicts())
    rows = []
    for kind in dict.fromkeys(each.kind for each in verdicts):
        own = [each for each in verdicts if each.kind == kind]
        counts = (sum(each.is_known for each in own), sum(bool(each.wrapped) for each in own))
        rows.append([kind, str(len(own)), *map(str, counts)])
    header = ("design", "asked", "said to be known", "said to hold a known one")
    inside = "\n".join(f"- {each.name}: {each.wrapped}" for each in verdicts if each.wrapped)
    blocks = ["# What is falsely known", f"```sh\n{COMMAND}\n```", _INTRODUCTION]
    return "\n\n".join([*blocks, markdown_table(header, rows), inside]) + "\n"


def write_page(results: Path) -> None:
    """Write ``false_known.md``."""
    text = as_markdown()
    keep_page(results, "false_known.md", text)
