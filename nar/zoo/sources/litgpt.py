"""The language models of LitGPT: one GPT class, and a configuration for each published model.

Configurations that differ in name only, as a model and its chat variant do, are one network here,
named after the first. Mixtures of experts are left out: which tokens an expert reads depends on
values, and no graph of one pass shows it.
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache, partial
from typing import Any

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import Entry, Source, by_forward

# Chosen: the operators are the same at any length, and operations of attention grow with it.
TOKENS = 64

# What a configuration says of its name, of its longest text, of rotation angles and of tokens that
# pad the vocabulary: no operator follows from it.
_NO_NETWORK = frozenset({
    "name", "hf_config", "block_size", "norm_eps", "padding_multiple", "rope_adjustments",
    "rope_base", "rope_condense_ratio", "rope_local_base_freq", "vocab_size",
})  # fmt: skip

_Config = Mapping[str, Any]


def _names() -> list[str]:
    library_version("litgpt")
    return list(_configs())


def _entry(model: str) -> Entry | None:
    config = _configs().get(model)
    if config is None:
        return None
    capture = by_forward(partial(_built, config), _inputs)
    return Entry(model, "text-generation", capture, entrypoint=model)


def _built(config: _Config) -> nn.Module:
    settings = import_library("litgpt.config").Config(**config)
    network: nn.Module = import_library("litgpt.model").GPT(settings)
    return network


def _inputs(_network: nn.Module) -> CaptureInputs:
    return CaptureInputs((torch.zeros(1, TOKENS, dtype=torch.long),))


@cache
def _configs() -> Mapping[str, _Config]:
    """Name -> configuration, for the first configuration of every network."""
    library = import_library("litgpt.config")
    first: dict[str, _Config] = {}
    for config in library.configs:
        whole = asdict(library.Config(**config))
        if not whole["n_expert"]:
            first.setdefault(_network_of(whole), config)
    return {config["name"]: config for config in first.values()}


def _network_of(config: _Config) -> str:
    return repr(sorted((key, value) for key, value in config.items() if key not in _NO_NETWORK))


LITGPT = Source(
    name="litgpt",
    library="litgpt",
    licence="Apache-2.0",
    form="<configuration>",
    example="pythia-160m",
    names=_names,
    entry=_entry,
)
