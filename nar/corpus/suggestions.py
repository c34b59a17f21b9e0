"""Suggestions: names that look like one that nothing has, among tens of thousands in 0.05 s."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from heapq import nlargest
from typing import Final

import numpy as np

# Compared letter by letter are so many names, those that share most triples of letters.
_COMPARED: Final = 50
_ALIKE: Final = 0.6
_SEPARATORS: Final = re.compile(r"[:/@]")


def close_names(name: str, names: Sequence[str], count: int = 3) -> list[str]:
    """Names that are nearly this one, whole or behind their source, the nearest first.

    Args:
        name: As somebody wrote it.
        names: What it might have been.
        count: How many at most.

    Example:
        >>> close_names("resnet5O", ["timm:resnet50", "timm:vit_tiny", "torchvision:resnet50"])
        ['timm:resnet50', 'torchvision:resnet50']
    """
    text = name.lower()
    padded = [_padded(each.lower()) for each in names]
    shared = np.zeros(len(names), dtype=np.int64)
    # For each triple all names at once, which takes a quarter of the time of sets of triples.
    for triple in _triples(_padded(text)):
        shared += np.array([triple in each for each in padded], dtype=np.int64)
    counted = zip(shared.tolist(), names, strict=True)
    # Of names that share as much, the short ones: they have less that is not shared.
    near = nlargest(_COMPARED, ((count, -len(each), each) for count, each in counted if count))
    rated = [(_likeness(text, each.lower()), each) for *_, each in near]
    best = sorted((-rate, len(each), each) for rate, each in rated if rate >= _ALIKE)
    return [each for *_, each in best[:count]]


def _padded(text: str) -> str:
    # The ends count, too: short names have few triples.
    return f"^{text}$"


def _triples(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}


def _likeness(text: str, name: str) -> float:
    """The likeness to a whole name or to its last part, whichever is more."""
    candidates = {name, name.partition(":")[2], _SEPARATORS.split(name)[-1]}
    return max(SequenceMatcher(None, text, each).ratio() for each in candidates if each)
