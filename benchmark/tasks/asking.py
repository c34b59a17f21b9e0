"""The questions of each protocol, from the cards of a data set and the role of each card.

In the gallery of the protocols that ask for families a design stands once: twins of one topology
would answer in a row, and finding a copy shows nothing. An answer whose graph equals that of a
right answer is right, whatever it is called.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress
from typing import Final

import numpy as np
from scipy.sparse import coo_array, csr_array

from benchmark.tasks.questions import (
    Mask,
    Numbers,
    Questions,
    kept_entries,
    numbered,
    questions,
    same_label,
    with_equals,
)
from benchmark.tasks.splits import Member, Roles
from nar.corpus import Card
from nar.labels.families import UNKNOWN
from nar.labels.lineage import (
    SAME_FAMILY,
    UNRELATED,
    parents,
    relatives,
    relevance_grade,
    twins,
)

Words = Callable[[Sequence[Card]], Sequence[str]]
# Sources of models that only ask; their names are ``<original>@<how it was changed>``.
REWRITTEN: Final = "rewrites"
EDITS: Final = "edits"
PARTS: Final = "parts"
SHARES: Final = "shares"
ASKING: Final = frozenset({REWRITTEN, EDITS, PARTS, SHARES})


def member(card: Card) -> Member:
    """What a split looks at."""
    labels = card.labels
    is_named = labels.tier == "named"
    return Member(labels.name, labels.family, card.topology, labels.backbone, is_named)


def without_change(name: str) -> tuple[str, str]:
    """What the name of a changed model says: the name of its original, and the change."""
    original, _, change = name.rpartition("@")
    return original, change


def original_name(card: Card) -> str:
    """The name of the model that was changed, or its own."""
    name = card.labels.name
    return without_change(name)[0] if card.labels.source in ASKING else name


def kin(cards: Sequence[Card]) -> list[str]:
    """Who is related to whom, as `nar.graphs.architecture.Labels.kin` says."""
    return [card.labels.kin for card in cards]


def families(cards: Sequence[Card]) -> list[str]:
    """Families; of composed models those of their decoders."""
    return [card.labels.family for card in cards]


def encoders(cards: Sequence[Card]) -> list[str]:
    """Families of what composed models stand on."""
    return [card.labels.backbone for card in cards]


def paper_questions(cards: Sequence[Card], roles: Roles) -> Questions:
    """The paper's own: relevant is what its rules read out of the name; copies count.

    Architectures whose name says nothing to those rules answer, and do not ask.
    """
    classes = [card.paper_family for card in cards]
    asks = _tests(cards, roles) & np.array([name != UNKNOWN for name in classes])
    return questions(_names(cards), classes, queries=asks, gallery=_known(cards))


def family_questions(cards: Sequence[Card], roles: Roles) -> Questions:
    """The same queries and gallery as the paper's; relevant is `kin` by the defining code."""
    asks, known = _tests(cards, roles), _known(cards)
    return questions(
        _names(cards), kin(cards), cluster=families(cards), queries=asks, gallery=known
    )


def design_questions(
    cards: Sequence[Card],
    roles: Roles,
    *,
    right: Words = families,
    tier: str = "named",
    fresh: bool = False,
    halves_fresh: bool = False,
) -> Questions:
    """Designs ask for those that are called alike, among the designs of their track.

    Args:
        cards: Of a data set.
        roles: Of each.
        right: What a relevant answer is called.
        tier: The track: who asks and who answers; empty for all.
        fresh: Only those ask of which nothing was learned that is called alike.
        halves_fresh: Only those count of which neither decoder nor encoder was learned.
    """
    track = _known(cards) & np.array([tier in ("", card.labels.tier) for card in cards])
    first = _representatives(cards, track)
    names = right(cards)
    asks = _tests(cards, roles) & first
    if fresh:
        asks &= are_fresh(cards, roles, names, also=names)
    worth = labelled(numbered(names), asks, track)
    if halves_fresh:
        for half in (families(cards), encoders(cards)):
            worth = counting(worth, are_fresh(cards, roles, half)[asks])
    return questions(
        _names(cards),
        with_equals(worth, _topologies(cards)),
        apart=[card.topology for card in cards],
        cluster=families(cards),
        queries=asks,
        gallery=first,
    )


def unjudged_relatives(cards: Sequence[Card], roles: Roles, *, fresh: bool = False) -> Questions:
    """Named designs ask for their family; parents, children and siblings are not judged.

    Args:
        cards: Of a data set.
        roles: Of each.
        fresh: As in `design_questions`.
    """
    asked = design_questions(cards, roles, fresh=fresh)
    track = _named(cards)
    related = graded(families(cards), asked.queries, track, _is_relative)
    # Entry by entry: 0 where a relative is right as well, for it has the graph of a right answer.
    is_right = related.multiply(asked.gains > 0)
    return replace(asked, unjudged=csr_array(related - is_right))


def _is_relative(query: str, other: str) -> int:
    """1 where one family was made from the other, or both from one parent."""
    return int(UNRELATED < relevance_grade(query, other) < SAME_FAMILY)


def lineage_questions(cards: Sequence[Card], roles: Roles) -> Questions:
    """Named designs ask for their family (3), what it came from or led to (2), siblings (1).

    Only families count of which nothing was learned and an edge of the lineage is known.
    """
    track = _named(cards)
    first = _representatives(cards, track)
    asks = _tests(cards, roles) & first & _has(cards, relatives)
    worth = graded(families(cards), asks, track, relevance_grade)
    fresh = are_fresh(cards, roles, families(cards))[asks]
    return questions(
        _names(cards),
        with_equals(counting(worth, fresh), _topologies(cards)),
        apart=[card.topology for card in cards],
        cluster=families(cards),
        queries=asks,
        gallery=first,
    )


def parent_questions(cards: Sequence[Card], roles: Roles) -> Questions:
    """The same designs ask which families theirs was made from; the own family does not answer."""
    track = _named(cards)
    first = _representatives(cards, track)
    asks = _tests(cards, roles) & first & _has(cards, parents)
    worth = graded(families(cards), asks, track, lambda query, other: int(other in parents(query)))
    fresh = are_fresh(cards, roles, families(cards))[asks]
    return questions(
        _names(cards),
        counting(worth, fresh),
        apart=families(cards),
        cluster=families(cards),
        queries=asks,
        gallery=first,
    )


def novelty_questions(cards: Sequence[Card], roles: Roles) -> Questions:
    """Held-out designs of new and of learned families ask what was learned; named ones only."""
    named = _named(cards)
    held = np.array([roles[card.labels.name] in ("test", "known") for card in cards])
    learned = np.array([roles[card.labels.name] == "train" for card in cards])
    asks = held & _representatives(cards, named & held)
    return questions(_names(cards), families(cards), queries=asks, gallery=learned & _known(cards))


def twin_questions(cards: Sequence[Card], roles: Roles, *, differing: bool = False) -> Questions:
    """Members of a group of twins ask for the others, among architectures of other sources.

    Args:
        cards: Of a data set.
        roles: Of each.
        differing: Only those count whose very graph no other source has.
    """
    group = {name: number for number, each in enumerate(twins()) for name in each.implementations}
    names, asks = _names(cards), _tests(cards, roles)
    alike = same_label(numbered([group.get(name, name) for name in names]), np.flatnonzero(asks))
    worth = with_equals(alike, numbered(exact_graphs(cards)))
    if differing:
        known = compress(cards, _known(cards))
        holders = Counter(exact for exact, _ in {(c.exact, c.labels.source) for c in known})
        worth = counting(worth, np.array([holders[card.exact] == 1 for card in cards])[asks])
    return questions(
        names,
        worth,
        apart=[card.labels.source for card in cards],
        cluster=families(cards),
        queries=asks,
        gallery=_known(cards),
    )


def changed_questions(
    cards: Sequence[Card],
    roles: Roles,
    *,
    source: str,
    right: Words,
    if_also: Callable[[Card, Card], bool] | None = None,
    fresh: bool = False,
    differing: bool = False,
) -> Questions:
    """Models that were changed ask for what they were made from.

    Args:
        cards: Of a data set.
        roles: Of each.
        source: How they were changed: one of `ASKING`.
        right: What is right for the original is right for whatever is made from it.
        if_also: What must hold of the original and of a right answer besides.
        fresh: Only those count of whose original's family nothing was learned.
        differing: Only those count whose graph is another than their original's.
    """
    asks = _asking(cards, roles) & np.array([card.labels.source == source for card in cards])
    by_name = {card.labels.name: card for card in cards}
    originals = [by_name.get(original_name(card), card) for card in cards]
    answering = _known(cards) if source == REWRITTEN else _named(cards)
    worth = same_label(numbered(right(originals)), np.flatnonzero(asks))
    if if_also is not None:
        asking = [originals[item] for item in np.flatnonzero(asks)]
        pairs = zip(*worth.tocoo().coords, strict=True)
        holds = [if_also(asking[row], cards[item]) for row, item in pairs]
        worth = kept_entries(worth, np.array(holds, dtype=np.bool_))
    if fresh:
        worth = counting(worth, are_fresh(cards, roles, families(originals))[asks])
    if differing:
        differ = [card.exact != first.exact for card, first in zip(cards, originals, strict=True)]
        worth = counting(worth, np.array(differ)[asks])
    return questions(_names(cards), worth, cluster=families(cards), queries=asks, gallery=answering)


def exact_graphs(cards: Sequence[Card]) -> list[str]:
    """Exact fingerprints: whatever has the original's very graph is right."""
    return [card.exact for card in cards]


def normal_forms(cards: Sequence[Card]) -> list[str]:
    """Inference fingerprints: whatever has the original's normal form is right."""
    return [card.inference for card in cards]


def designs(cards: Sequence[Card]) -> list[str]:
    """Topologies: whatever has the original's design, of any size, is right."""
    return [card.topology for card in cards]


def _names(cards: Sequence[Card]) -> list[str]:
    return [card.labels.name for card in cards]


def _topologies(cards: Sequence[Card]) -> Numbers:
    return numbered(designs(cards))


def _asking(cards: Sequence[Card], roles: Roles) -> Mask:
    return np.array([roles[card.labels.name] == "test" for card in cards], dtype=np.bool_)


def _tests(cards: Sequence[Card], roles: Roles) -> Mask:
    """Who asks, of the models as a library gives them."""
    return _asking(cards, roles) & _known(cards)


def _known(cards: Sequence[Card]) -> Mask:
    """Who may answer: models as a library gives them."""
    return np.array([card.labels.source not in ASKING for card in cards], dtype=np.bool_)


def _named(cards: Sequence[Card]) -> Mask:
    return _known(cards) & np.array([card.labels.tier == "named" for card in cards], dtype=np.bool_)


def _has(cards: Sequence[Card], of_family: Callable[[str], frozenset[str]]) -> Mask:
    present = set(families(cards))
    return np.array([not present.isdisjoint(of_family(name)) for name in families(cards)])


def _representatives(cards: Sequence[Card], among: Mask) -> Mask:
    """The first by name of each topology, among some of the cards."""
    first: dict[str, str] = {}
    for row in np.flatnonzero(among).tolist():
        name, topology = cards[row].labels.name, cards[row].topology
        first[topology] = min(name, first.get(topology, name))
    own = np.array([first.get(card.topology) == card.labels.name for card in cards])
    return np.asarray(own & among, dtype=np.bool_)


def labelled(labels: Numbers, asks: Mask, track: Mask) -> csr_array:
    """Worth 1 where items of the track are called like the query."""
    worth = same_label(labels, np.flatnonzero(asks))
    return kept_entries(worth, track[worth.tocoo().coords[1]])


def graded(
    names: Sequence[str], asks: Mask, track: Mask, grade: Callable[[str, str], int]
) -> csr_array:
    """Worth the grade of the query's family with the item's: shape (queries, items)."""
    of_family: dict[str, list[int]] = {}
    for row in np.flatnonzero(track).tolist():
        of_family.setdefault(names[row], []).append(row)
    grades = {
        query: [(other, grade(query, other)) for other in of_family if grade(query, other)]
        for query in {names[row] for row in np.flatnonzero(asks).tolist()}
    }
    rows, items, worth = [], [], []
    for row, query in enumerate(np.flatnonzero(asks).tolist()):
        for other, value in grades[names[query]]:
            rows += [row] * len(of_family[other])
            items += of_family[other]
            worth += [value] * len(of_family[other])
    shape = (int(asks.sum()), len(names))
    return coo_array((np.array(worth, dtype=np.float32), (rows, items)), shape=shape).tocsr()


def are_fresh(
    cards: Sequence[Card], roles: Roles, names: Sequence[str], *, also: Sequence[str] = ()
) -> Mask:
    """Whether nothing was learned that is of a family, or stands on one, of each of these names.

    Args:
        cards: Of a data set.
        roles: Of each.
        names: A label of each card.
        also: What else a learned card is called.
    """
    learned = {
        label
        for number, card in enumerate(cards)
        if roles[card.labels.name] == "train"
        for label in (*also[number : number + 1], card.labels.family, card.labels.backbone)
    }
    return np.array([name not in learned for name in names], dtype=np.bool_)


def counting(worth: csr_array, counts: Mask) -> csr_array:
    """Without the answers of queries that do not count; they ask on, and are not asked anew."""
    return kept_entries(worth, counts[worth.tocoo().coords[0]])
