"""Draws the frozen list of models that are changed: some of each of many families.

``python -m benchmark draw-edited TARGET`` draws it anew from a corpus: a decision. Families and
models come in the order of a hash, so that what a corpus gets later moves little even then.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmark.tasks.frozen import without_aliases
from benchmark.tasks.splits import order
from nar.base.files import write_whole
from nar.corpus import Card, Corpus, shipped_corpus

FAMILIES = 320
MIN_NODES, MAX_NODES = 30, 1_000
# A family of so many designs gives one model more.
_MORE = (4, 16)
_SEED = 0
_HEAD = "# One to three models a family, drawn by `python -m benchmark draw-edited`. Frozen."


def draw(cards: Sequence[Card]) -> list[str]:
    """Named models of moderate size, no two of one topology."""
    designs: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for card in sorted(without_aliases(cards), key=lambda card: order(_SEED, card.labels.name)):
        if card.labels.tier == "named" and MIN_NODES <= card.nodes <= MAX_NODES:
            designs[card.labels.family].setdefault(card.topology, card.labels.name)
    families = sorted(designs, key=lambda family: order(_SEED, family))[:FAMILIES]
    return sorted(name for family in families for name in _some(list(designs[family].values())))


def _some(names: list[str]) -> list[str]:
    return names[: 1 + sum(len(names) >= enough for enough in _MORE)]


def write_selection(target: Path, corpus: Path | None = None) -> str:
    """Draw the list from a corpus, the shipped one unless told; says how many.

    Raises:
        CorpusError: The corpus is missing or damaged.
    """
    names = draw(list(Corpus(corpus or shipped_corpus()).cards()))
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, lambda part: part.write_text("\n".join([_HEAD, *names, ""])))
    return f"{len(names):,} models, in {target}"
