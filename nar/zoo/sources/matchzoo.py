"""The networks of MatchZoo: does this text answer that one? Settings are the library's defaults."""

import collections
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from nar.capture import CaptureInputs
from nar.files import package_yaml
from nar.zoo.building import for_real
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import Entry, Source, by_forward

# Words of the two texts, where a network does not say how many it reads; letters of a word; bins of
# a histogram of similarities.
LEFT = 10
RIGHT = 40
LETTERS = 16
BINS = 30
# Some networks squeeze a single row away.
ROWS = 2


def _names() -> list[str]:
    library_version("matchzoo", "matchzoo-py")
    return list(_nets())


def _entry(net: str) -> Entry | None:
    reads = _nets().get(net)
    if reads is None:
        return None
    # Some networks ask whether a mask hides anything.
    capture = by_forward(partial(_built, net), partial(_inputs, reads), place=for_real)
    return Entry(net, "text-ranking", capture)


def _built(net: str) -> nn.Module:
    with _as_of_its_time():
        models = import_library("matchzoo.models")
    network: nn.Module = getattr(models, net)()
    network.guess_and_fill_missing_params(verbose=0)  # type: ignore[operator]
    network.build()  # type: ignore[operator]
    return network


@contextmanager
def _as_of_its_time() -> Iterator[None]:
    """What the library wants while it is imported, and a home that it may write into.

    It takes from `collections` what left it with Python 3.10, and BERT from a library that is now
    `transformers`; that network is not listed.
    """
    bert = ModuleType("pytorch_transformers")
    bert.__dict__.update(BertModel=None, BertTokenizer=None)
    with (
        TemporaryDirectory() as home,
        _holding(os.environ, "HOME", home),
        _holding(sys.modules, bert.__name__, bert),
        _holding(vars(collections), "Iterable", Iterable),
    ):
        yield


@contextmanager
def _holding(held: MutableMapping[str, Any], key: str, value: object) -> Iterator[None]:
    """Let a mapping hold a value under a key, and what it had before again after that."""
    before = {key: held[key]} if key in held else {}
    held[key] = value
    try:
        yield
    finally:
        del held[key]
        held.update(before)


def _inputs(reads: Mapping[str, str], network: nn.Module) -> CaptureInputs:
    table: Any = network.params
    settings = {name: table[name] for name in table.keys()}  # noqa: SIM118 - it is no mapping
    lengths = {
        "left": settings.get("left_length", LEFT),
        "right": settings.get("right_length", RIGHT),
    }
    data = {
        column: _COLUMNS[kind](lengths.get(column.partition("_")[2], LEFT), settings)
        for column, kind in reads.items()
    }
    return CaptureInputs((data,))


def _words(length: int, _settings: Mapping[str, Any]) -> Tensor:
    return torch.ones(ROWS, length, dtype=torch.long)


def _letters(length: int, _settings: Mapping[str, Any]) -> Tensor:
    return torch.ones(ROWS, length, LETTERS, dtype=torch.long)


def _bag(_length: int, settings: Mapping[str, Any]) -> Tensor:
    """How often a text has each triple of letters."""
    return torch.zeros(ROWS, settings["vocab_size"])


def _bags(length: int, settings: Mapping[str, Any]) -> Tensor:
    """How often each word of a text has each triple of letters."""
    return torch.zeros(ROWS, length, settings["vocab_size"])


def _histogram(length: int, _settings: Mapping[str, Any]) -> Tensor:
    return torch.zeros(ROWS, length, BINS)


_COLUMNS: Mapping[str, Callable[[int, Mapping[str, Any]], Tensor]] = {
    "words": _words,
    "letters": _letters,
    "bag": _bag,
    "bags": _bags,
    "histogram": _histogram,
}


def _nets() -> Mapping[str, Mapping[str, str]]:
    table = package_yaml("zoo", "sources", "matchzoo_nets.yaml")
    nets: Mapping[str, Mapping[str, str]] = table["nets"]
    return nets


MATCHZOO = Source(
    name="matchzoo",
    library="matchzoo",
    distribution="matchzoo-py",
    licence="Apache-2.0",
    form="<Class>",
    example="KNRM",
    names=_names,
    entry=_entry,
)
