"""Suggestions for a name that does not exist: similar ones, of tens of thousands in 0.05 s."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

# Chosen: comparing letter by letter is slow, so it is done for this many names, which share most
# triples of letters with the wanted name.
_COMPARED: Final = 50
_ALIKE: Final = 0.6  # the least likeness that is suggested: the default of difflib
# Chosen: a name is compared with this many, in no order; larger folders are no folders of models.
_BESIDE: Final = 10_000
_SEPARATORS: Final = re.compile(r"[:/@]")


def close_names(name: str, names: Sequence[str], count: int = 3) -> list[str]:
    """Names that are nearly this one, whole or behind their source, the nearest first.

    Args:
        name: The name as somebody wrote it.
        names: All names that it might have been.
        count: How many to give at most.

    Example:
        >>> close_names("resnet5O", ["timm:resnet50", "timm:vit_tiny", "torchvision:resnet50"])
        ['timm:resnet50', 'torchvision:resnet50']
    """
    text = name.lower()
    padded = [_padded(each.lower()) for each in names]
    shared = np.zeros(len(names), dtype=np.int64)
    # Each triple is looked up in all names: a quarter of the time that sets of triples take.
    for triple in _triples(_padded(text)):
        shared += np.array([triple in each for each in padded], dtype=np.int64)
    counted = zip(shared.tolist(), names, strict=True)
    # Among names that share equally many, short names come first: they have fewer other triples.
    near = nlargest(_COMPARED, ((count, -len(each), each) for count, each in counted if count))
    rated = [(_likeness(text, each.lower()), each) for *_, each in near]
    best = sorted((-rate, len(each), each) for rate, each in rated if rate >= _ALIKE)
    return [each for *_, each in best[:count]]


def close_files(path: Path) -> list[str]:
    """What lies where a path points to nothing, and has nearly its name, the nearest first.

    Args:
        path: A path at which there is nothing.
    """
    folder = path.parent
    beside = [each.name for each in islice(folder.iterdir(), _BESIDE)] if folder.is_dir() else []
    return [str(folder / each) for each in close_names(path.name, beside)]


def _padded(text: str) -> str:
    # The ends count, too: short names have few triples.
    return f"^{text}$"


def _triples(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}


def _likeness(text: str, name: str) -> float:
    """The likeness to a whole name or to its last part, whichever is more.

    A source that both names begin with makes no name like another.
    """
    source, colon, rest = text.partition(":")
    if colon and rest and name.startswith(f"{source}:"):
        text, name = rest, name.partition(":")[2]
    candidates = {name, name.partition(":")[2], _SEPARATORS.split(name)[-1]}
    return max(SequenceMatcher(None, text, each).ratio() for each in candidates if each)
