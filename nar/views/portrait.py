"""Portraits: one architecture of a corpus, its motifs, and the ones that share its design."""

from collections.abc import Iterable
from dataclasses import dataclass

from nar.corpus import Card, Found
from nar.graphs.architecture import Architecture
from nar.motifs.partition import MotifPartition, partition


@dataclass(frozen=True, slots=True)
class Portrait:
    """All that `nar corpus show` says of an architecture.

    Attributes:
        architecture: With its graph.
        card: What else the corpus says of it.
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
        aliases=_names(card for card in entry.same if card.exact == mine.exact),
        twins=_names(card for card in entry.same if card.labels.source != source),
        siblings=_names(
            card for card in entry.same if card.labels.source == source and card.exact != mine.exact
        ),
        published_twins=tuple(name for name in published_twins if name != mine.labels.name),
    )


def _names(cards: Iterable[Card]) -> tuple[str, ...]:
    return tuple(sorted(card.labels.name for card in cards))
