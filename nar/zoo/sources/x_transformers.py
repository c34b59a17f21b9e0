"""Language models of x-transformers: documented options alone and in pairs.

``x_transformers:<kind>/depth=<layers>,<option>,<option>``; the options name the edits between two.
"""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import combinations, product
from typing import Any

from torch import nn

from nar.base.workspace import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.building import on_fake_cpu
from nar.zoo.example import made
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import Entry, Source, by_forward

VOCABULARY = 20_000  # of the library's README, as are width and heads
TOKENS = 64  # chosen: the operators are the same at any length
DIM = 512  # README
HEADS = 8  # README

# Single options come in every kind and depth, pairs in the first of both.
DEPTHS = (6, 12)
_CLASS_AND_TASK = {"decoder": ("Decoder", "text-generation"), "encoder": ("Encoder", "fill-mask")}

Arguments = Mapping[str, Any]
Group = Mapping[str, Arguments]
Table = Mapping[str, Mapping[str, Group]]


def _names() -> list[str]:
    """Plain networks and single options in every kind and depth, then pairs in the first ones."""
    library_version("x_transformers")
    return list(_specs())


def _entry(model: str) -> Entry | None:
    if model not in _specs():
        return None
    kind, depth, options = _specs()[model]
    class_name, task = _CLASS_AND_TASK[kind]
    # Rotary embeddings turn autocast off for the device that they are on.
    capture = by_forward(partial(_build, class_name, depth, options), _inputs, follow=on_fake_cpu)
    return Entry(class_name, task, capture, tier="swept")


def _build(class_name: str, depth: int, options: Arguments) -> nn.Module:
    library = import_library("x_transformers")
    layers = getattr(library, class_name)(
        dim=DIM, depth=depth, heads=HEADS, verbose=False, **options
    )
    model: nn.Module = library.TransformerWrapper(
        num_tokens=VOCABULARY, max_seq_len=1_024, attn_layers=layers
    )
    return model


def _inputs(_model: nn.Module) -> CaptureInputs:
    return CaptureInputs((made({"long": [1, TOKENS]}),))


@cache
def _specs() -> dict[str, tuple[str, int, Arguments]]:
    """Name -> kind, depth and arguments."""
    table: Table = package_yaml("zoo", "sources", "x_transformers_options.yaml")
    groups = (*table["paired"].values(), *table["alone"].values())
    singles = [{name: arguments} for group in groups for name, arguments in group.items()]
    specs: list[tuple[str, int, Group]] = [
        (kind, depth, chosen)
        for kind in _CLASS_AND_TASK
        for depth in DEPTHS
        for chosen in ({}, *singles)
    ]
    first = next(iter(_CLASS_AND_TASK))
    specs += [(first, DEPTHS[0], chosen) for chosen in _pairs(list(table["paired"].values()))]
    return {
        ",".join((f"{kind}/depth={depth}", *chosen)): (kind, depth, _merged(chosen))
        for kind, depth, chosen in specs
    }


def _pairs(groups: list[Group]) -> Iterator[Group]:
    """Two options of different groups."""
    for first, second in combinations(groups, 2):
        for one, other in product(first, second):
            yield {one: first[one], other: second[other]}


def _merged(chosen: Group) -> Arguments:
    return {key: value for arguments in chosen.values() for key, value in arguments.items()}


X_TRANSFORMERS = Source(
    name="x_transformers",
    library="x_transformers",
    licence="MIT",
    form="<kind>/depth=<layers>[,<option>...] in the table's order",
    example="decoder/depth=6,rotary_pos_emb",
    names=_names,
    entry=_entry,
)
