"""Edits by a setting: heads of attention that share keys, positions that turn query and key."""

from copy import deepcopy
from typing import Any

from torch import nn

from nar.capture import CaptureInputs
from nar.evaluation.editing.surgery import at_home
from nar.evaluation.rewriting.rewrite import NotApplicableError
from nar.zoo.building import Built
from nar.zoo.sources.transformers.configs import Config, parts

QUERIES_A_KEY = 4
_EXPERTS = "batched_mm"  # as transformers are captured


def grouped_queries(module: nn.Module, inputs: CaptureInputs) -> Built:
    """Four heads share one key and value, where each has its own."""
    config = _config(module)
    changed = sum(map(_group, parts(config)))
    if not changed:
        raise NotApplicableError("its configuration has no heads to share keys")
    return _again(module, config), inputs


def _group(config: Config) -> bool:
    heads, keys = (
        getattr(config, name, None) for name in ("num_attention_heads", "num_key_value_heads")
    )
    if not isinstance(heads, int) or heads != keys:
        return False
    if heads % QUERIES_A_KEY or heads == QUERIES_A_KEY:
        return False
    config.num_key_value_heads = heads // QUERIES_A_KEY
    return True


def _config(module: nn.Module) -> Config:
    config: Any = getattr(module, "config", None)
    if config is None or not hasattr(type(module), "_from_config"):
        raise NotApplicableError("it is not made from a configuration")
    return deepcopy(config)


def _again(module: nn.Module, config: Config) -> nn.Module:
    model_class: Any = type(module)
    with at_home(module):
        made: nn.Module = model_class._from_config(config, experts_implementation=_EXPERTS)
    return made
