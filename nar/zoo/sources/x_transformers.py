"""Language models of x-transformers: documented options alone and in pairs.

``x_transformers:<kind>/depth=<layers>,<option>,<option>``; the options name the edits between two.
"""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib.resources import files
from itertools import combinations, product
from typing import Any

import torch
import yaml
from torch import nn

from nar.architecture import Labels
from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import Recipe, capture_recipe, on_fake_cpu
from nar.zoo.libraries import import_library, library_version
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "x_transformers"
VOCABULARY = 20_000
TOKENS = 64
DIM = 512
HEADS = 8

# Single options come in every kind and depth, pairs in the first of both.
DEPTHS = (6, 12)
_CLASS_AND_TASK = {"decoder": ("Decoder", "text-generation"), "encoder": ("Encoder", "fill-mask")}

Arguments = Mapping[str, Any]
Group = Mapping[str, Arguments]


def list_x_transformers() -> list[str]:
    """Plain networks and single options in every kind and depth, then pairs in the first ones."""
    library_version(SOURCE)
    return list(_specs())


def resolve_x_transformers(name: str) -> ArchitectureSpec:
    """The spec behind ``x_transformers:<kind>/depth=<layers>,<option>...``.

    Raises:
        UnknownArchitectureError: No such combination is listed.
    """
    if name not in _specs():
        way_out = f"wanted options in the table's order, as {SOURCE}:decoder/depth=6,rotary_pos_emb"
        raise unknown_architecture(name, list_x_transformers(), way_out=way_out)
    kind, depth, options = _specs()[name]
    class_name, task = _CLASS_AND_TASK[kind]
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version(SOURCE),
        family=family_of(SOURCE, class_name),
        task=task,
        tier="swept",
    )
    recipe = Recipe(partial(_build, class_name, depth, options), _inputs)
    # Rotary embeddings turn autocast off for the device that they are on.
    return ArchitectureSpec(labels, partial(capture_recipe, name, recipe, place=on_fake_cpu))


def _build(class_name: str, depth: int, options: Arguments) -> nn.Module:
    library = import_library(SOURCE)
    layers = getattr(library, class_name)(
        dim=DIM, depth=depth, heads=HEADS, verbose=False, **options
    )
    model: nn.Module = library.TransformerWrapper(
        num_tokens=VOCABULARY, max_seq_len=1_024, attn_layers=layers
    )
    return model


def _inputs(_model: nn.Module) -> CaptureInputs:
    return CaptureInputs((torch.ones(1, TOKENS, dtype=torch.long),))


@cache
def _specs() -> dict[str, tuple[str, int, Arguments]]:
    """Name -> kind, depth and arguments."""
    table = _options()
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
        ",".join((f"{SOURCE}:{kind}/depth={depth}", *chosen)): (kind, depth, _merged(chosen))
        for kind, depth, chosen in specs
    }


def _pairs(groups: list[Group]) -> Iterator[Group]:
    """Two options of different groups."""
    for first, second in combinations(groups, 2):
        for one, other in product(first, second):
            yield {one: first[one], other: second[other]}


def _merged(chosen: Group) -> Arguments:
    return {key: value for arguments in chosen.values() for key, value in arguments.items()}


@cache
def _options() -> dict[str, dict[str, Group]]:
    text = (
        files("nar.zoo.sources").joinpath("x_transformers_options.yaml").read_text(encoding="utf-8")
    )
    options: dict[str, dict[str, Group]] = yaml.safe_load(text)
    return options
