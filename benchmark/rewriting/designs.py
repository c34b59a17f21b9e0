"""Rewrites that change the design a little: wider, one block deeper, another head."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from torch import nn

from benchmark.rewriting.rewrite import Knobs, NotApplicableError, Original, Rewrite, captured
from nar.base.workspace import package_yaml
from nar.graphs.graph import ComputationalGraph
from nar.zoo.sources.transformers.configs import Config, parts
from nar.zoo.sources.transformers.tasks import task_of_pairs

CLASSES = 10
# What a transformers configuration calls its widths, with its heads, and its depth.
_WIDTHS = (
    "d_model", "d_ff", "hidden_size", "intermediate_size", "num_attention_heads",
    "num_key_value_heads", "num_heads", "n_embd", "n_head", "dim", "hidden_dim", "n_heads",
    "encoder_ffn_dim", "decoder_ffn_dim", "encoder_attention_heads", "decoder_attention_heads",
    "embed_dim", "hidden_sizes",
)  # fmt: skip
_DEPTHS = (
    "num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers",
)  # fmt: skip


def design_rewrites() -> tuple[Rewrite, ...]:
    """Neighbours of a design."""
    return (
        Rewrite("width_2", "near", partial(_rebuilt, "width", _wider)),
        Rewrite("depth_1", "near", partial(_rebuilt, "depth", _deeper)),
        Rewrite("other_head", "near", other_head),
    )


def _rebuilt(
    kind: str, of_config: Callable[[Config], Iterator[tuple[str, object]]], original: Original
) -> ComputationalGraph:
    knobs = knobs_of(original.name).get(kind)
    if knobs is None and original.library == "transformers":
        module, _ = original.build()
        knobs = dict(setting for part in parts(module.config) for setting in of_config(part))
    if not knobs:
        raise NotApplicableError(f"knobs.yaml names no {kind} of it")
    module, inputs = original.build(**knobs)
    return captured(original.name, module, inputs)


def _table() -> dict[str, dict[str, Knobs]]:
    table: dict[str, dict[str, Knobs]] = package_yaml(
        "rewriting", "knobs.yaml", package="benchmark"
    )
    return table


def knobs_of(name: str) -> dict[str, Knobs]:
    """Settings that make a model wider or deeper, by ``width`` and ``depth``; empty if unknown."""
    return _table().get(name, {})


def _wider(config: Config) -> Iterator[tuple[str, object]]:
    for name in _own_names(config, _WIDTHS):
        value: Any = getattr(config, name)
        if isinstance(value, int):
            yield name, 2 * value
        elif isinstance(value, list | tuple) and all(isinstance(part, int) for part in value):
            yield name, [2 * part for part in value]


def _deeper(config: Config) -> Iterator[tuple[str, object]]:
    """One layer more, of the kind of the last one."""
    for name in _own_names(config, _DEPTHS):
        value = getattr(config, name)
        if isinstance(value, int):
            yield name, value + 1
    stages = getattr(config, "depths", None)
    if stages:
        deepest = max(range(len(stages)), key=stages.__getitem__)
        yield "depths", [depth + (stage == deepest) for stage, depth in enumerate(stages)]
    kinds = getattr(config, "layer_types", None)
    if kinds:
        yield "layer_types", [*kinds, kinds[-1]]


def _own_names(config: Config, names: tuple[str, ...]) -> list[str]:
    """Those names that the configuration stores; the others are its own other names for them."""
    return [name for name in names if name in vars(config)]


def other_head(original: Original) -> ComputationalGraph:
    """Another class on the same trunk; elsewhere two layers instead of the last one."""
    if original.library == "transformers":
        return _with_other_class(original)
    module, inputs = original.build()
    name = _last_linear(module)
    last = module.get_submodule(name)
    if not isinstance(last, nn.Linear):
        raise NotApplicableError("its head is no single linear layer")
    width = last.in_features
    head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, CLASSES))
    owner, _, child = name.rpartition(".")
    module.get_submodule(owner).add_module(child, head.to("meta"))
    return captured(original.name, module, inputs)


def _last_linear(module: nn.Module) -> str:
    """Name of the linear layer that classifies: timm says which, elsewhere the last one does."""
    config = getattr(module, "pretrained_cfg", None)
    if config is not None:
        named = config["classifier"]
        is_linear = isinstance(named, str) and type(module.get_submodule(named)) is nn.Linear
        return named if is_linear else ""
    names = [name for name, child in module.named_modules() if type(child) is nn.Linear]
    return names[-1] if names else ""


def _with_other_class(original: Original) -> ComputationalGraph:
    model_type, _, class_name = original.name.partition(":")[2].partition("/")
    others = [
        name
        for (kind, name) in task_of_pairs()
        if kind == model_type and name != class_name and "For" in name
    ]
    if not others:
        raise NotApplicableError("transformers has no other head for it")
    module, inputs = original.build(class_name=others[0])
    return captured(original.name, module, inputs)
