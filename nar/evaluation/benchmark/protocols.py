"""Protocols: from the cards of a corpus and the roles of a split to questions.

In every gallery of `distinct_questions` and `unseen_questions` a design stands once: twins of one
topology would answer in a row, and finding a copy shows nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from nar.corpus import Card
from nar.evaluation.benchmark.questions import Mask, Questions, questions
from nar.evaluation.benchmark.splits import Member, Role
from nar.labels.paper_labels import UNKNOWN
from nar.labels.twins import TwinGroup

Roles = Mapping[str, Role]
# Source of a model that was written otherwise; its name is ``<original>@<rewrite>``.
REWRITTEN: Final = "rewrites"


def member(card: Card) -> Member:
    """What a split looks at."""
    labels = card.labels
    is_named = labels.tier == "named"
    return Member(labels.name, labels.family, card.topology, labels.backbone, is_named)


def kin(cards: Sequence[Card]) -> list[str]:
    """Who is related to whom, as `nar.architecture.Labels.kin` says."""
    return [card.labels.kin for card in cards]


def paper_questions(cards: Sequence[Card], roles: Roles) -> Questions:
    """The paper's own: relevant is what its rules read out of the name; copies count.

    Architectures whose name says nothing to those rules answer, and do not ask.
    """
    tests = _tests(cards, roles) & np.array([card.paper_family != UNKNOWN for card in cards])
    families = [card.paper_family for card in cards]
    return questions(_names(cards), families, queries=tests)


def family_questions(cards: Sequence[Card], roles: Roles) -> Questions:
    """The same queries and gallery as the paper's; relevant is `kin` by the defining code."""
    families = [card.labels.family for card in cards]
    return questions(_names(cards), kin(cards), cluster=families, queries=_tests(cards, roles))


def distinct_questions(cards: Sequence[Card], roles: Roles) -> Questions:
    """Designs ask for their kin among all other designs: one architecture stands for each."""
    return _designs(cards, roles, kin(cards))


def decoder_questions(cards: Sequence[Card], roles: Roles) -> Questions:
    """The same, but of composed models the decoder alone counts, whatever it stands on."""
    return _designs(cards, roles, [card.labels.family for card in cards])


def _designs(cards: Sequence[Card], roles: Roles, relevance: Sequence[str]) -> Questions:
    first = _representatives(cards)
    return questions(
        _names(cards),
        relevance,
        apart=[card.topology for card in cards],
        cluster=[card.labels.family for card in cards],
        queries=_tests(cards, roles) & first,
        gallery=first,
    )


def twin_questions(cards: Sequence[Card], groups: Sequence[TwinGroup]) -> Questions:
    """Members of a group ask for the others, among the architectures of other sources."""
    group = {name: number for number, twins in enumerate(groups) for name in twins.members}
    names = _names(cards)
    return questions(
        names,
        [group.get(name, name) for name in names],
        apart=[card.labels.source for card in cards],
        cluster=[card.labels.family for card in cards],
        queries=np.array([name in group for name in names]),
    )


def rewrite_questions(cards: Sequence[Card], _: Roles) -> Questions:
    """Rewritten models ask for their originals; whatever has the original's very graph is one."""
    return _rewrites(cards, [card.exact for card in cards])


def rewritten_design_questions(cards: Sequence[Card], _: Roles) -> Questions:
    """The same, but whatever has the original's design, of any size, is one."""
    return _rewrites(cards, [card.topology for card in cards])


def _rewrites(cards: Sequence[Card], same: Sequence[str]) -> Questions:
    what = dict(zip(_names(cards), same, strict=True))
    asks = np.array([card.labels.source == REWRITTEN for card in cards])
    return questions(
        _names(cards),
        [what[_original(card)] for card in cards],
        cluster=[card.labels.family for card in cards],
        queries=asks,
        gallery=~asks,
    )


def rewrite_roles(cards: Sequence[Card]) -> dict[str, Role]:
    """Rewritten models are tested, and no design that was rewritten is learned from."""
    asking = [card for card in cards if card.labels.source == REWRITTEN]
    originals = {_original(card) for card in asking}
    designs = {card.topology for card in cards if card.labels.name in originals}
    roles: dict[str, Role] = {
        card.labels.name: "gallery" if card.topology in designs else "train" for card in cards
    }
    return roles | {card.labels.name: "test" for card in asking}


def _original(card: Card) -> str:
    """The name of what was rewritten, or its own."""
    name = card.labels.name
    return name.rpartition("@")[0] if card.labels.source == REWRITTEN else name


def _names(cards: Sequence[Card]) -> list[str]:
    return [card.labels.name for card in cards]


def _tests(cards: Sequence[Card], roles: Roles) -> Mask:
    return np.array([roles[card.labels.name] == "test" for card in cards], dtype=np.bool_)


def _representatives(cards: Sequence[Card]) -> Mask:
    """The first by name of each topology."""
    first: dict[str, str] = {}
    for card in cards:
        name = card.labels.name
        first[card.topology] = min(name, first.get(card.topology, name))
    return np.array([first[card.topology] == card.labels.name for card in cards], dtype=np.bool_)
