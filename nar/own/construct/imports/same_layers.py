"""Layers of libraries that are not installed, by the layers of torch with the same parameters."""

import importlib
import inspect
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional as F

from nar.own.construct.evidence.parsed import read_settings
from nar.own.construct.evidence.settings import MissingSettingError, Settings, settings_of


def _linear(inputs: int, outputs: int, bias: bool = True, **_: Any) -> nn.Module:  # noqa: ANN401
    """A parallel layer of one process; how its work is spread is left out."""
    return nn.Linear(inputs, outputs, bias=bias)


def _embedding(
    count: int,
    width: int,
    padding_idx: int | None = None,
    **_: Any,  # noqa: ANN401
) -> nn.Module:
    return nn.Embedding(count, width, padding_idx)


def _one(*_: Any) -> int:  # noqa: ANN401
    return 1


def _zero(*_: Any) -> int:  # noqa: ANN401
    return 0


def _divisible(width: float, divisor: int) -> int:
    return math.ceil(width / divisor) * divisor


class _Hyperparameters(nn.Module):
    """What Lightning's module adds to torch's, as far as constructors use it."""

    def __init__(self, *_: Any, **__: Any) -> None:  # noqa: ANN401
        super().__init__()

    def save_hyperparameters(self, *_: Any, **__: Any) -> None:  # noqa: ANN401
        """Keep nothing: hyperparameters are of training."""

    def log(self, *_: Any, **__: Any) -> None:  # noqa: ANN401
        """Log nothing."""


class _Mixin:
    """A base that adds nothing to a design."""

    def __init_subclass__(cls, **_: Any) -> None:  # noqa: ANN401
        super().__init_subclass__()


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    **kwargs: Any,  # noqa: ANN401
) -> torch.Tensor:
    """Attention of (batch, length, heads, width) tensors, as flash_attn and xformers take them."""
    query, key, value = (each.transpose(1, 2) for each in (query, key, value))
    is_causal = bool(kwargs.get("causal", False))
    return F.scaled_dot_product_attention(query, key, value, is_causal=is_causal).transpose(1, 2)


_FAIRSCALE = "fairscale.nn.model_parallel"
_APEX_PARALLEL = "apex.transformer.tensor_parallel"
_MEGATRON = "megatron.core.tensor_parallel"
# Keys under which versions of hydra name what is called.
_TARGET_KEYS: Final = ("_target_", "class", "cls", "target")
_OF_HYDRA: Final = re.compile(r"_\w+_$")  # its own keys: `_recursive_`, `_convert_`


class _OmegaConf:
    """What constructors use of omegaconf."""

    @staticmethod
    def load(path: str) -> Any:  # noqa: ANN401
        """The settings of a file."""
        return settings_of(read_settings(Path(path)))

    @staticmethod
    def create(values: Any = None) -> Any:  # noqa: ANN401
        """The settings of a mapping."""
        return settings_of({} if values is None else values)

    @staticmethod
    def to_container(values: Any, **_: Any) -> Any:  # noqa: ANN401
        """The settings themselves: they are a mapping."""
        return values

    structured = to_container


def instantiate(config: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
    """What a configuration of hydra names, called with what it holds.

    Raises:
        MissingSettingError: It lacks an argument that what it names requires.
    """
    given = config if isinstance(config, Settings) else settings_of(config)
    key = next((each for each in _TARGET_KEYS if isinstance(given.get(each), str)), None)
    if key is None:
        raise MissingSettingError(_TARGET_KEYS[0], given)
    module, _, name = given[key].rpartition(".")
    called = getattr(importlib.import_module(module), name)
    held = given["params"] if isinstance(given.get("params"), Settings) else given
    stated = {k: v for k, v in held.items() if k != key and not _OF_HYDRA.match(k)} | kwargs
    for each in list(inspect.signature(called).parameters.values())[len(args) :]:
        is_named = each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        if is_named and each.default is inspect.Parameter.empty and each.name not in stated:
            raise MissingSettingError(each.name, held)
    return called(*args, **stated)


SAME_LAYERS: Final[Mapping[str, Callable[..., Any]]] = {
    **{
        f"{place}.{layer}": stands
        for place in (f"{_FAIRSCALE}.layers", _APEX_PARALLEL, f"{_APEX_PARALLEL}.layers", _MEGATRON)
        for layer, stands in (
            ("ColumnParallelLinear", _linear),
            ("RowParallelLinear", _linear),
            ("ParallelEmbedding", _embedding),
            ("VocabParallelEmbedding", _embedding),
        )
    },
    f"{_FAIRSCALE}.initialize.get_model_parallel_world_size": _one,
    f"{_FAIRSCALE}.initialize.get_model_parallel_rank": _zero,
    "apex.normalization.FusedLayerNorm": nn.LayerNorm,
    "apex.normalization.FusedRMSNorm": nn.RMSNorm,
    "apex.normalization.MixedFusedLayerNorm": nn.LayerNorm,
    "apex.normalization.fused_layer_norm.FusedLayerNorm": nn.LayerNorm,
    "apex.contrib.layer_norm.FastLayerNorm": nn.LayerNorm,
    "apex.parallel.SyncBatchNorm": nn.SyncBatchNorm,
    "flash_attn.ops.rms_norm.RMSNorm": nn.RMSNorm,
    "flash_attn.flash_attn_func": _attention,
    "xformers.ops.memory_efficient_attention": _attention,
    "transformer_engine.pytorch.Linear": _linear,
    "transformer_engine.pytorch.LayerNorm": nn.LayerNorm,
    "transformer_engine.pytorch.RMSNorm": nn.RMSNorm,
    "ultralytics.utils.ops.make_divisible": _divisible,
    "pytorch_lightning.LightningModule": _Hyperparameters,
    "pytorch_lightning.core.LightningModule": _Hyperparameters,
    "lightning.LightningModule": _Hyperparameters,
    "lightning.pytorch.LightningModule": _Hyperparameters,
    "huggingface_hub.PyTorchModelHubMixin": _Mixin,
    # Configurations of libraries, which are mappings that answer as namespaces.
    **dict.fromkeys(
        (
            "addict.Dict",
            "easydict.EasyDict",
            "fvcore.common.config.CfgNode",
            "ml_collections.ConfigDict",
            "ml_collections.config_dict.ConfigDict",
            "mmcv.Config",
            "mmengine.Config",
            "munch.Munch",
            "omegaconf.DictConfig",
            "yacs.config.CfgNode",
        ),
        Settings,
    ),
    "omegaconf.OmegaConf": _OmegaConf,
    "hydra.utils.instantiate": instantiate,
    "hydra.utils.call": instantiate,
}
