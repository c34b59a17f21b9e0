"""How much of a design stands in no known architecture: ``python -m benchmark coverage``.

Members of known families ask without their own design among what is known, members of further
families without their family; changed models, models in wrappings and designs written by hand ask
as they are. What each word is worth is told by who gets it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from benchmark.evidence import by_hand, wrapped
from benchmark.evidence.intervals import half_of
from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.tasks import frozen
from benchmark.tasks.asking import EDITS, PARTS, without_change
from benchmark.tasks.splits import order
from benchmark.tasks.task import Held
from nar.answers.coverage import (
    RADIUS,
    Coverage,
    Word,
    coverage,
    neighbourhoods,
    shipped_codes,
)
from nar.base.errors import CorpusError
from nar.base.workspace import package_path
from nar.corpus import Card, Corpus, read_shard, shipped_corpus
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import Codes
from nar.graphs.normal_form import normal_form
from nar.graphs.ragged import owners

COMMAND: Final = "python -m benchmark coverage > results/coverage.md"
_NOT_ASKED: Final = "The half that tests has not been asked yet: `--results results` asks it."
# Chosen: designs of each class that ask; an interval of three points at most.
_ASKED: Final = 1_000
_SEED: Final = 0
_WORDS: Final[tuple[Word, ...]] = get_args(Word)
_INTRODUCTION: Final = (
    "Share of the operators of a design that no known architecture has in the same surroundings of "
    "two steps, on the normal form: its quartiles for each class, and how often each word is said. "
    "'Known' says that nothing in it is new, and not that the whole is known. Models in wrappings "
    "ask as they are; an answer takes wrappings off first."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks.

    Attributes:
        kind: The class.
        new: Share of the operators that are new, 0 to 1.
    """

    kind: str
    new: float

    @property
    def word(self) -> Word:
        """What is said of it."""
        return Coverage(self.new, 0.0, 0.0, ()).word


class _Owners:
    """The neighbourhoods of all designs of the corpus, and who has each."""

    def __init__(self) -> None:
        cards = {card.inference: card for card in Corpus(shipped_corpus()).cards()}
        found: dict[str, Codes] = {}
        for _, items in Corpus(shipped_corpus()).shards():
            for item in items:
                if item.inference in cards and item.inference not in found:
                    form = normal_form(item.graph)
                    found[item.inference] = neighbourhoods([form])[RADIUS]
        self.cards = [cards[inference] for inference in found]
        self.codes = list(found.values())
        families = np.unique([card.labels.family for card in self.cards], return_inverse=True)[1]
        self._of_designs = _only_owner(self.codes, np.arange(len(self.codes)))
        self._of_families = _only_owner(self.codes, families)
        self._families = families

    def without_design(self, number: int) -> float:
        """Share of the operators of a design that are new where it is not known."""
        return float(self._of_designs.only(self.codes[number], number).mean())

    def without_family(self, number: int) -> float:
        """The same where its family is not known."""
        family = int(self._families[number])
        return float(self._of_families.only(self.codes[number], family).mean())


@dataclass(frozen=True, slots=True, eq=False)
class _OnlyOwner:
    """Codes that have one owner.

    Attributes:
        codes: Shape (codes,), sorted.
        owner: Shape (codes,), the owner, or -1 where there are several.
    """

    codes: Codes
    owner: NDArray[np.int64]

    def only(self, codes: Codes, owner: int) -> NDArray[np.bool_]:
        """Which codes nobody else has. Shape (codes,)."""
        alone: NDArray[np.bool_] = self.owner[np.searchsorted(self.codes, codes)] == owner
        return alone


def _only_owner(codes: Sequence[Codes], owner_of: NDArray[np.int64]) -> _OnlyOwner:
    every = np.concatenate(codes)
    owner = owner_of[owners([len(each) for each in codes])]
    found, place = np.unique(every, return_inverse=True)
    first, last = np.full(len(found), len(codes)), np.full(len(found), -1)
    np.minimum.at(first, place, owner)
    np.maximum.at(last, place, owner)
    return _OnlyOwner(found, np.where(first == last, first, -1))


def ask(held: Held, known: _Owners) -> Iterator[Asked]:
    """Everybody of one half."""
    numbers = [n for n, card in enumerate(known.cards) if _is_asked(card, held)]
    numbers.sort(key=lambda number: order(_SEED, known.cards[number].labels.name))
    for number in numbers[:_ASKED]:
        yield Asked("a new member of a known family", known.without_design(number))
        yield Asked("a member of a family that is not known", known.without_family(number))
    for kind, graph in _changed(held):
        yield Asked(kind, _new(graph))
    for case in wrapped.cases():
        if half_of(wrapped.PROTOCOL, case.family) == held:
            yield Asked("a known model in a wrapping", _new(case.item.graph))
    for design in by_hand.designs([held]):
        kind = "known" if design.families else "not known"
        yield Asked(f"by hand, of a family that is {kind}", _new(design.capture.graph))


def _is_asked(card: Card, held: Held) -> bool:
    return card.labels.tier == "named" and (
        (card.labels.name in frozen.selecting()) == (held == "validation")
    )


def _changed(held: Held) -> Iterator[tuple[str, ComputationalGraph]]:
    """Edits and parts of known models."""
    path = package_path("data", "changed.parquet", package="benchmark")
    kinds = {EDITS: "an edit of a known model", PARTS: "a part of a known model"}
    counts: defaultdict[str, int] = defaultdict(int)
    items = sorted(read_shard(path), key=lambda item: order(_SEED, item.labels.name))
    for item in items:
        kind = kinds.get(item.labels.source)
        name = without_change(item.labels.name)[0] if kind else ""
        if kind and (name in frozen.selecting()) == (held == "validation"):
            counts[kind] += 1
            if counts[kind] <= _ASKED:
                yield kind, item.graph


def _new(graph: ComputationalGraph) -> float:
    known = shipped_codes()
    if known is None:
        raise CorpusError("this installation has no codes; `python -m benchmark known-codes` does")
    return coverage(graph, known, {}).new


def as_markdown(held: Sequence[Held]) -> str:
    """The page."""
    known = _Owners()
    blocks = ["# What is new in a design", f"```sh\n{COMMAND}\n```", _INTRODUCTION]
    if "test" not in held:
        blocks.append(_NOT_ASKED)
    for each in held:
        blocks += [f"## {each.capitalize()}", _table(list(ask(each, known)))]
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path) -> None:
    """Measure both halves and write the page.

    Args:
        results: Directory that gets ``coverage.md``.
    """
    text = as_markdown(("validation", "test"))
    keep_page(results, "coverage.md", text)


def _table(asked: Sequence[Asked]) -> str:
    by_kind: defaultdict[str, list[Asked]] = defaultdict(list)
    for each in asked:
        by_kind[each.kind].append(each)
    lines = [_line(kind, each) for kind, each in _ordered(by_kind)]
    return markdown_table(("who asks", "asked", "quartiles, %", "<= 5%", *_WORDS), lines)


def _ordered(by_kind: Mapping[str, list[Asked]]) -> list[tuple[str, list[Asked]]]:
    """The least new first."""
    return sorted(by_kind.items(), key=lambda pair: fmean(each.new for each in pair[1]))


def _line(kind: str, asked: Sequence[Asked]) -> list[str]:
    new = np.array([each.new for each in asked])
    quartiles = " / ".join(f"{100 * each:.0f}" for each in np.quantile(new, (0.25, 0.5, 0.75)))
    shares = (fmean(each.word == word for each in asked) for word in _WORDS)
    return [
        kind,
        f"{len(asked):,}",
        quartiles,
        f"{(new <= 0.05).mean():.2f}",
        *(f"{share:.2f}" for share in shares),
    ]
