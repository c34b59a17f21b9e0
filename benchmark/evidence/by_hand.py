"""The protocol `by hand`: designs written from their papers, without the library.

``python -m benchmark by-hand`` captures the files of `benchmark/by_hand` and asks the shipped
atlas. Families and halves were written down before anything was chosen.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from benchmark.asked.shares import Share
from benchmark.evidence.intervals import half_of, share
from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.tasks.task import Held
from nar.answers.answer import COMPARED
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.answers.query import Answer, Part, Query
from nar.answers.retrieve import Retriever
from nar.answers.words import sentences
from nar.base.workspace import package_yaml
from nar.capture import Capture
from nar.corpus import CorpusGraphs, shipped_corpus
from nar.own.calling import capture_lent

COMMAND: Final = "python -m benchmark by-hand --results results"
PROTOCOL: Final = "by hand"
_PARTS: Final = frozenset[Part]({"resemblance", "family", "trunk", "part_of", "bodies"})
# Words that name a family; the others say that none is near.
_NAMING: Final = ("variant", "family")
_FIRST: Final = 5
_INTRODUCTION: Final = (
    "Designs that were written by hand from their papers, each with the family that an expert "
    "would say, ask the shipped atlas. A verdict is right where it names that family, or one of "
    "the same design, whatever its strength; of a design whose family the atlas lacks, where it "
    "names no family as its own. In brackets the 95% interval, by drawing whole families again."
)


@dataclass(frozen=True, slots=True)
class Design:
    """One design that was written by hand.

    Attributes:
        name: Its file.
        block: What kind it is.
        families: What an expert would say, first, and families of the same design.
        capture: Its graph.
    """

    name: str
    block: str
    families: tuple[str, ...]
    capture: Capture

    @property
    def family(self) -> str:
        """By which it is in a half; a design without a family is one by itself."""
        return next(iter(self.families), self.name)


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of a design.

    Attributes:
        design: The design.
        answer: The answer.
    """

    design: Design
    answer: Answer

    @property
    def family(self) -> str:
        """The family that the verdict names, in whatever strength."""
        same = (*self.answer.same_network, *self.answer.same_at_inference, *self.answer.same_design)
        wrapped = self.answer.wrapped.hits if self.answer.wrapped else ()
        known = next(iter((*same, *wrapped)), None)
        if known is not None:
            return known.family
        return self.answer.resemblance.family if self.answer.resemblance else ""

    @property
    def word(self) -> str:
        """How strongly."""
        if self.answer.is_known:
            return "known"
        return self.answer.resemblance.word if self.answer.resemblance else "nothing"

    @property
    def is_right(self) -> bool:
        """Whether an expert would say so."""
        if self.design.families:
            return self.family in self.design.families and self.word != "unlike"
        return self.word not in ("known", *_NAMING)

    @property
    def is_first(self) -> bool:
        """Whether its family stands first among the hits."""
        return self.answer.hits[0].family in self.design.families

    @property
    def is_denied(self) -> bool:
        """Whether nothing near is said though its family stands among the first hits."""
        first = {hit.family for hit in self.answer.hits[:_FIRST]}
        return self.word == "unlike" and bool(first.intersection(self.design.families))


def designs(held: Sequence[Held]) -> Iterator[Design]:
    """The designs of some halves, captured."""
    table = package_yaml("by_hand", "families.yaml", package="benchmark")
    for name, row in table.items():
        families = tuple(row["families"])
        if half_of(PROTOCOL, next(iter(families), name)) in held:
            with warnings.catch_warnings():
                # Torch warns of what its own layers do with what is written here.
                warnings.simplefilter("ignore")
                module, inputs = import_module(f"benchmark.by_hand.{name}").asked()
                capture = capture_lent(name, module.eval(), inputs)
            yield Design(name, row["block"], families, capture)


def told(held: Sequence[Held]) -> list[Told]:
    """What the shipped atlas says of the designs of some halves."""
    content = read_atlas(shipped_atlas())
    graphs = CorpusGraphs(shipped_corpus())
    retriever = Retriever(content.embedder, content.index, content.novelty, graphs)
    return [
        Told(each, retriever.answer(Query(each.capture.network, COMPARED, parts=_PARTS)))
        for each in designs(held)
    ]


def as_markdown(held: Sequence[Held]) -> str:
    """The page: what was said of each design, half by half."""
    blocks = ["# Designs written by hand", f"```sh\n{COMMAND}\n```", _INTRODUCTION]
    for each in held:
        own = told([each])
        blocks += [f"## {each.capitalize()}", _summary(own), _words(own), _lines(own)]
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path) -> None:
    """Write ``by_hand.md``, both halves of it."""
    text = as_markdown(("validation", "test"))
    keep_page(results, "by_hand.md", text)


def _summary(own: Sequence[Told]) -> str:
    having = [each for each in own if each.design.families]
    naming = [each for each in own if each.word in ("known", *_NAMING)]
    rows: list[tuple[str, Share]] = [
        ("family first, of those that have one", _share(having, "is_first")),
        ("verdict right, of all", _share(own, "is_right")),
        ("nothing near is said, though the family is among five", _share(having, "is_denied")),
        ("right, where a family is said to be its own", _share(naming, "is_right")),
    ]
    said = share((x.design.family, x.word in ("known", *_NAMING)) for x in having)
    rows.append(("a family is said to be its own, of those that have one", said))
    return markdown_table(("what", "share"), [[name, str(each)] for name, each in rows])


def _share(own: Sequence[Told], what: str) -> Share:
    return share((each.design.family, bool(getattr(each, what))) for each in own)


def _words(own: Sequence[Told]) -> str:
    """The confusion: which strength is said of designs with a family and without."""
    words = list(dict.fromkeys(each.word for each in own))
    rows = []
    for kind, has in (("has a family", True), ("has none", False)):
        of_kind = [each for each in own if bool(each.design.families) is has]
        cells = [[each for each in of_kind if each.word == word] for word in words]
        rows.append([kind, *(f"{len(x)} ({sum(y.is_right for y in x)})" for x in cells)])
    return markdown_table(("design", *(f"{word} (right)" for word in words)), rows)


def _lines(own: Sequence[Told]) -> str:
    rows = []
    for each in own:
        wanted = ", ".join(each.design.families) or "none"
        verdict = [x.text for x in sentences(each.answer) if x.part not in ("novelty", "coverage")]
        mark = "" if each.is_right else "**wrong**"
        rows.append([each.design.name, each.design.block, wanted, verdict[0], mark])
    return markdown_table(("design", "kind", "an expert says", "the verdict", ""), rows)
