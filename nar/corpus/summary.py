"""What a corpus holds, in numbers: groups, sizes and copies, from its cards alone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nar.corpus.cards import Card
from nar.corpus.manifest import Totals, count_corpus

PERCENTILES = (0, 5, 25, 50, 75, 95, 100)
_SHOWN_COPIES = 10


@dataclass(frozen=True, slots=True)
class Group:
    """Architectures that have one label in common.

    Attributes:
        name: The label.
        raw: How many there are.
        exact: Distinct networks among them.
        topology: Distinct designs among them.
        sources: Who registers them, sorted.
    """

    name: str
    raw: int
    exact: int
    topology: int
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """How one size is distributed.

    Attributes:
        name: ``parameters``, ``flops``, ``nodes`` or ``edges``.
        total: Sum over all architectures.
        percentiles: At each of `PERCENTILES`.
    """

    name: str
    total: int
    percentiles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Copies:
    """How far a fingerprint repeats.

    Attributes:
        fingerprint: ``exact`` or ``topology``.
        distinct: Different values.
        groups: Values that several architectures share.
        members: Architectures in those groups.
        across_sources: Groups whose members come from more than one source.
        by_size: Number of groups by number of members, those of one member included.
        largest: The largest groups: members, and the name of the first.
    """

    fingerprint: str
    distinct: int
    groups: int
    members: int
    across_sources: int
    by_size: dict[int, int]
    largest: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A corpus in numbers.

    Attributes:
        totals: Sizes over all sources.
        tasks: Largest first.
        families: Largest first.
        blocks: Largest first.
        sizes: Distributions of the sizes.
        copies: Of the exact fingerprint, then of the topology.
    """

    totals: Totals
    tasks: tuple[Group, ...]
    families: tuple[Group, ...]
    blocks: tuple[Group, ...]
    sizes: tuple[Size, ...]
    copies: tuple[Copies, ...]


def summarise(cards: Sequence[Card]) -> Summary:
    """Count a corpus."""
    return Summary(
        totals=count_corpus(cards).totals,
        tasks=_groups(cards, lambda card: card.labels.task),
        families=_groups(cards, lambda card: card.labels.family),
        blocks=_groups(cards, lambda card: card.block),
        sizes=tuple(
            _size(name, [getattr(card, name) for card in cards])
            for name in ("parameters", "flops", "nodes", "edges")
        ),
        copies=(
            _copies("exact", cards, lambda card: card.exact),
            _copies("topology", cards, lambda card: card.topology),
        ),
    )


def _groups(cards: Iterable[Card], label: Callable[[Card], str]) -> tuple[Group, ...]:
    members = _by(cards, label)
    groups = (
        Group(
            name=name,
            raw=len(group),
            exact=len({card.exact for card in group}),
            topology=len({card.topology for card in group}),
            sources=tuple(sorted({card.labels.source for card in group})),
        )
        for name, group in members.items()
    )
    return tuple(sorted(groups, key=lambda group: (-group.raw, group.name)))


def _size(name: str, values: Sequence[int]) -> Size:
    if not values:
        return Size(name, 0, (0,) * len(PERCENTILES))
    percentiles = np.percentile(np.array(values, dtype=np.int64), PERCENTILES, method="nearest")
    return Size(name, sum(values), tuple(percentiles.tolist()))


def _copies(fingerprint: str, cards: Iterable[Card], code: Callable[[Card], str]) -> Copies:
    groups = _by(cards, code)
    shared = [group for group in groups.values() if len(group) > 1]
    largest = sorted(shared, key=lambda group: (-len(group), group[0].labels.name))
    return Copies(
        fingerprint=fingerprint,
        distinct=len(groups),
        groups=len(shared),
        members=sum(map(len, shared)),
        across_sources=sum(len({card.labels.source for card in group}) > 1 for group in shared),
        by_size=dict(sorted(Counter(map(len, groups.values())).items())),
        largest=tuple((len(group), group[0].labels.name) for group in largest[:_SHOWN_COPIES]),
    )


def _by(cards: Iterable[Card], key: Callable[[Card], str]) -> dict[str, list[Card]]:
    groups: defaultdict[str, list[Card]] = defaultdict(list)
    for card in cards:
        groups[key(card)].append(card)
    return groups
