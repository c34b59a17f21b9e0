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
from nar.own.construct.evidence.settings import MissingSettingError, StatedSettings, settings_of


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
    """Attention of (batch, length, heads, width) tensors, as flash_attn and xformers take them.

    Keys and values may have fewer heads. xformers also takes (batch, length, width).
    """
    if query.dim() == _WITHOUT_HEADS:
        return F.scaled_dot_product_attention(query, key, value)
    query, key, value = (each.transpose(1, 2) for each in (query, key, value))
    is_causal = bool(kwargs.get("causal", False))
    shares = query.shape[1] != key.shape[1]
    result = F.scaled_dot_product_attention(
        query, key, value, is_causal=is_causal, enable_gqa=shares
    )
    return result.transpose(1, 2)


_WITHOUT_HEADS: Final = 3  # axes


def _packed_attention(qkv: torch.Tensor, *_: Any, **kwargs: Any) -> torch.Tensor:  # noqa: ANN401
    """Attention of one tensor (batch, length, 3, heads, width)."""
    return _attention(*qkv.unbind(2), **kwargs)


def _key_value_attention(
    query: torch.Tensor,
    key_value: torch.Tensor,
    *_: Any,  # noqa: ANN401
    **kwargs: Any,  # noqa: ANN401
) -> torch.Tensor:
    """Attention of a query and one tensor (batch, length, 2, heads, width)."""
    return _attention(query, *key_value.unbind(2), **kwargs)


def _causal_convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    *_: Any,  # noqa: ANN401
    activation: str | None = None,
    **__: Any,  # noqa: ANN401
) -> torch.Tensor:
    """A convolution by channel that looks back: (batch, channels, length)."""
    width = weight.shape[-1]
    padded = F.conv1d(x, weight[:, None], bias, padding=width - 1, groups=weight.shape[0])
    result = padded[..., : x.shape[-1]]
    return F.silu(result) if activation in ("silu", "swish") else result


def _selective_scan(
    u: torch.Tensor,
    delta: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor,
    d: torch.Tensor | None = None,
    z: torch.Tensor | None = None,
    delta_bias: torch.Tensor | None = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
) -> Any:  # noqa: ANN401
    """The selective state space of Mamba (arXiv:2312.00752, algorithm 2), step by step.

    Args:
        u: Shape (batch, channels, length), as delta and z.
        delta: Step sizes.
        a: Shape (channels, states).
        b: Shape (batch, states, length) or (batch, groups, states, length), as c.
        c: What is read of the states.
        d: Shape (channels,), a shortcut.
        z: A gate.
        delta_bias: Shape (channels,).
        delta_softplus: Whether step sizes pass a softplus.
        return_last_state: Whether the last states are a second result.
    """
    if delta_bias is not None:
        delta = delta + delta_bias[:, None]
    delta = F.softplus(delta) if delta_softplus else delta
    b, c = (each if each.dim() == _WITHOUT_HEADS else each[:, 0] for each in (b, c))
    state = u.new_zeros(u.shape[0], u.shape[1], a.shape[1])
    results = []
    for step in range(u.shape[-1]):
        size = delta[:, :, step, None]
        driven = size * b[:, None, :, step] * u[:, :, step, None]
        state = torch.exp(size * a) * state + driven
        results.append((state * c[:, None, :, step]).sum(-1))
    result = torch.stack(results, -1)
    result = result if d is None else result + u * d[:, None]
    result = result if z is None else result * F.silu(z)
    return (result, state) if return_last_state else result


class _Mamba(nn.Module):
    """The block of Mamba (arXiv:2312.00752), with the parameters of ``mamba_ssm.Mamba``."""

    def __init__(
        self,
        d_model: int,
        d_state: int = 16,
        d_conv: int = 4,
        expand: int = 2,
        dt_rank: int | str = "auto",
        *,
        conv_bias: bool = True,
        bias: bool = False,
        **_: Any,  # noqa: ANN401
    ) -> None:
        super().__init__()
        inner = int(expand * d_model)
        rank = math.ceil(d_model / 16) if isinstance(dt_rank, str) else dt_rank  # as the paper
        self._sizes = (rank, d_state, d_state)
        self.in_proj = nn.Linear(d_model, 2 * inner, bias=bias)
        self.conv1d = nn.Conv1d(
            inner, inner, d_conv, bias=conv_bias, groups=inner, padding=d_conv - 1
        )
        self.x_proj = nn.Linear(inner, sum(self._sizes), bias=False)
        self.dt_proj = nn.Linear(rank, inner)
        self.A_log = nn.Parameter(torch.zeros(inner, d_state))
        self.D = nn.Parameter(torch.ones(inner))
        self.out_proj = nn.Linear(inner, d_model, bias=bias)

    def forward(self, hidden_states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:  # noqa: ANN401
        """(batch, length, width) to the same."""
        x, z = self.in_proj(hidden_states).transpose(1, 2).chunk(2, 1)
        x = F.silu(self.conv1d(x)[..., : x.shape[-1]])
        delta, b, c = self.x_proj(x.transpose(1, 2)).split(self._sizes, -1)
        delta, b, c = self.dt_proj(delta).transpose(1, 2), b.transpose(1, 2), c.transpose(1, 2)
        a = -torch.exp(self.A_log)
        scanned = _selective_scan(x, delta, a, b, c, self.D, z, delta_softplus=True)
        result: torch.Tensor = self.out_proj(scanned.transpose(1, 2))
        return result


def _layer_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    *_: Any,  # noqa: ANN401
    residual: torch.Tensor | None = None,
    prenorm: bool = False,
    **__: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """A layer norm as a function, of a sum where there is a residual."""
    total = x if residual is None else x + residual
    result = F.layer_norm(total, weight.shape, weight, bias)
    return (result, total) if prenorm else result


def _rms_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    *_: Any,  # noqa: ANN401
    residual: torch.Tensor | None = None,
    prenorm: bool = False,
    **__: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """An RMS norm as a function, of a sum where there is a residual."""
    total = x if residual is None else x + residual
    result = F.rms_norm(total, weight.shape, weight)
    return (result, total) if prenorm else result


class _Spectrogram(nn.Module):
    """The spectrogram of torchlibrosa: two convolutions, of which nothing is learned.

    Args:
        n_fft: Samples of a window.
        hop_length: Samples between windows; a quarter of a window by default.
        center: Whether half a window is reflected at both ends.
        pad_mode: How it is.
        power: Of the magnitude.
    """

    def __init__(
        self,
        n_fft: int = 2048,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: str = "hann",
        center: bool = True,
        pad_mode: str = "reflect",
        power: float = 2.0,
        freeze_parameters: bool = True,
    ) -> None:
        super().__init__()
        hop = n_fft // 4 if hop_length is None else hop_length
        self.padding, self.pad_mode = n_fft // 2 if center else 0, pad_mode
        self.power = power
        parts = [nn.Conv1d(1, n_fft // 2 + 1, n_fft, hop, bias=False) for _ in range(2)]
        self.conv_real, self.conv_imag = parts
        self.requires_grad_(not freeze_parameters)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, samples) to (batch, 1, frames, frequencies)."""
        x = x[:, None]
        if self.padding:
            x = F.pad(x, (self.padding, self.padding), mode=self.pad_mode)
        magnitude: torch.Tensor = self.conv_real(x) ** 2 + self.conv_imag(x) ** 2
        magnitude = magnitude if self.power == 2 else magnitude ** (self.power / 2)
        return magnitude[:, None].transpose(2, 3)


class _MelFilters(nn.Module):
    """The bank of filters of torchlibrosa, in decibels; nothing of it is learned."""

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 2048,
        n_mels: int = 64,
        fmin: float = 0.0,
        fmax: float | None = None,
        is_log: bool = True,
        ref: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = 80.0,
        freeze_parameters: bool = True,
    ) -> None:
        super().__init__()
        self.is_log, self.amin = is_log, amin
        self.offset = 10 * math.log10(max(amin, ref))
        self.melW = nn.Parameter(torch.zeros(n_fft // 2 + 1, n_mels))
        self.requires_grad_(not freeze_parameters)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., frequencies) to (..., filters)."""
        mel: torch.Tensor = torch.matmul(x, self.melW)
        return 10 * torch.log10(mel.clamp(min=self.amin)) - self.offset if self.is_log else mel


class _OfTraining(nn.Identity):
    """What changes its input while a model is trained, and not afterwards."""


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
    given = config if isinstance(config, StatedSettings) else settings_of(config)
    key = next((each for each in _TARGET_KEYS if isinstance(given.get(each), str)), None)
    if key is None:
        raise MissingSettingError(_TARGET_KEYS[0], given)
    module, _, name = given[key].rpartition(".")
    called = getattr(importlib.import_module(module), name)
    held = given["params"] if isinstance(given.get("params"), StatedSettings) else given
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
    "apex.normalization.fused_layer_norm.FusedRMSNorm": nn.RMSNorm,
    "apex.normalization.fused_layer_norm.fused_layer_norm_affine": _layer_norm,
    "apex.normalization.fused_layer_norm.fused_rms_norm_affine": _rms_norm,
    "apex.fused_dense.FusedDense": _linear,
    **{
        f"flash_attn{place}.{name}": stands
        for place in ("", ".flash_attn_interface")
        for name, stands in (
            ("flash_attn_func", _attention),
            ("flash_attn_qkvpacked_func", _packed_attention),
            ("flash_attn_kvpacked_func", _key_value_attention),
        )
    },
    "flash_attn.ops.rms_norm.RMSNorm": nn.RMSNorm,
    "flash_attn.ops.rms_norm.rms_norm": _rms_norm,
    "flash_attn.ops.triton.layer_norm.RMSNorm": nn.RMSNorm,
    "xformers.ops.memory_efficient_attention": _attention,
    "causal_conv1d.causal_conv1d_fn": _causal_convolution,
    "mamba_ssm.Mamba": _Mamba,
    "mamba_ssm.modules.mamba_simple.Mamba": _Mamba,
    "mamba_ssm.ops.selective_scan_interface.selective_scan_fn": _selective_scan,
    "mamba_ssm.ops.selective_scan_interface.selective_scan_ref": _selective_scan,
    **{
        f"mamba_ssm.ops.{place}.{name}": stands
        for place in ("triton.layer_norm", "triton.layernorm")
        for name, stands in (
            ("RMSNorm", nn.RMSNorm),
            ("layer_norm_fn", _layer_norm),
            ("rms_norm_fn", _rms_norm),
        )
    },
    "torchlibrosa.stft.Spectrogram": _Spectrogram,
    "torchlibrosa.stft.LogmelFilterBank": _MelFilters,
    "torchlibrosa.augmentation.SpecAugmentation": _OfTraining,
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
            "attrdict.AttrDict",
            "attridict.AttriDict",
            "box.Box",
            "dotmap.DotMap",
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
        StatedSettings,
    ),
    "omegaconf.OmegaConf": _OmegaConf,
    "hydra.utils.instantiate": instantiate,
    "hydra.utils.call": instantiate,
}
