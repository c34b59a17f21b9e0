"""Which classes are asked about: drawn by a seed from what the libraries' own examples show."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmark.asked.asking import ask_all
from benchmark.asked.classes import AskedClass, AskedLibrary, asked_libraries, write_libraries
from nar.zoo.libraries import library_version

# Classes in all, and at most of one library while others have some left.
CLASSES: Final = 300
_OF_A_LIBRARY: Final = 12
# Libraries at a time: a process of each takes one or two gigabytes.
_AT_ONCE: Final = 2
_SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Mined:
    """What the examples of one library show.

    Attributes:
        name: Its import name.
        distribution: Package that installs it.
        classes: Paths of its public classes.
        shown: Path -> its true calls, the best evidence first.
        without_text: Paths of classes that are called in ways that have no text.
    """

    name: str
    distribution: str
    classes: frozenset[str]
    shown: Mapping[str, tuple[AskedClass, ...]]
    without_text: frozenset[str]


def _rank(call: AskedClass) -> int:
    """Docstrings and pages first, then tests, then the zoo's tables."""
    return {"test": 1, "zoo": 2}.get(call.place.split()[0], 0)


def read_mined(folder: Path, name: str, distribution: str) -> Mined:
    """Put together what all examples of a library show.

    Args:
        folder: Holds ``<library>*.json`` as `benchmark.asked.mining` writes them.
        name: The library.
        distribution: Package that installs it.
    """
    classes: set[str] = set()
    without_text: set[str] = set()
    shown: dict[str, list[AskedClass]] = {}
    for path in sorted(folder.glob(f"{name}.*.json")):
        content: Mapping[str, Any] = json.loads(path.read_text())
        classes.update(content["classes"])
        without_text.update(content["without_text"])
        for each in content["found"]:
            found = AskedClass(**{**each, "imports": tuple(each["imports"])})
            shown.setdefault(found.path, []).append(found)
    ranked = {path: tuple(sorted(calls, key=_rank)) for path, calls in shown.items()}
    return Mined(name, distribution, frozenset(classes), ranked, frozenset(without_text))


def halves(names: Sequence[str]) -> dict[str, str]:
    """Library -> its half: every other one of them, in an order that the seed draws."""
    shuffled = sorted(names)
    random.Random(_SEED).shuffle(shuffled)
    return {name: ("validation", "test")[n % 2] for n, name in enumerate(shuffled)}


def draw(mined: Sequence[Mined], target: Path) -> None:
    """Draw the table and write it."""
    known = [each for each in mined if each.shown]
    half = halves([each.name for each in known])
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda each: _library(each, half[each.name]), known))
    write_libraries(target, list(_in_rounds([each for each in found if each.classes])))


def draw_more(mined: Sequence[Mined], target: Path, half: str) -> None:
    """Add to a table what was not drawn before: what nobody has asked about yet.

    Args:
        mined: Libraries of the half that tests, and others that were not in the table.
        target: File that gets the table.
        half: How what is added is called.
    """
    known = list(asked_libraries())
    drawn = {each.path for library in known for each in library.classes}
    chooses = {library.name for library in known if library.half == "validation"}
    left = [
        replace(each, shown={path: each.shown[path] for path in each.shown.keys() - drawn})
        for each in mined
        if each.name not in chooses and each.shown.keys() - drawn
    ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda each: _library(each, half), left)
        write_libraries(target, [*known, *(each for each in found if each.classes)])


def _library(mined: Mined, half: str) -> AskedLibrary:
    """Go through a library's classes in an order that the seed draws, until enough have a truth."""
    order = sorted(mined.shown)
    random.Random(f"{_SEED} {mined.name}").shuffle(order)
    calls = [mined.shown[path][0] for path in order]
    taken: list[AskedClass] = []
    left_out = 0
    truths = ask_all([call.question for call in calls], are_asked=False)
    for call, truth in zip(calls, truths, strict=True):
        is_true = truth.verdict == "right"
        taken += [call] * is_true
        left_out += not is_true
        if len(taken) == _OF_A_LIBRARY:
            truths.close()
            break
    return AskedLibrary(
        name=mined.name,
        version=library_version(mined.name, mined.distribution),
        half=half,
        public=len(mined.classes),
        shown=len(mined.shown),
        without_text=len(mined.without_text - mined.shown.keys()),
        without_truth=left_out,
        classes=tuple(taken),
    )


def _in_rounds(found: Sequence[AskedLibrary]) -> Iterator[AskedLibrary]:
    """Each library with as many classes that all together are `CLASSES`, shared evenly."""
    most, total = 0, 0
    while total < CLASSES and most < _OF_A_LIBRARY:
        most += 1
        total = sum(min(most, len(each.classes)) for each in found)
    spare = max(0, total - CLASSES)
    for each in sorted(found, key=lambda each: each.name):
        number = min(most, len(each.classes))
        if spare and number == most:
            number, spare = number - 1, spare - 1
        yield AskedLibrary(
            each.name, each.version, each.half, each.public, each.shown,
            each.without_text, each.without_truth, each.classes[:number],
        )  # fmt: skip
