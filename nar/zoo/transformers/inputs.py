"""One call of any transformers model: which inputs its forward takes, and of what shape.

Values matter only where a model runs with real weights: ids stay below every vocabulary, and masks
hide nothing. Shapes come from the configuration.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from nar.capture import CaptureInputs
from nar.zoo.transformers.configs import Config, parts

TOKENS = 16
CHOICES = 2
REGIONS = 36
FRAMES = 16
IMAGE_SIZE = 224
SAMPLES = 16_000
MEL_FRAMES = 512
MEL_BINS = 80

Maker = Callable[[Config], object]


def example_inputs(model: nn.Module) -> CaptureInputs:
    """Everything that the model's forward wants, one example of it, on the default device.

    Args:
        model: A ``PreTrainedModel``.
    """
    config: Config = model.config
    takes = signature(model.forward).parameters
    makers = _MAKERS | _MAKERS_OF.get(config.model_type, {})
    if "input_ids" in takes:
        makers = {**makers, "attention_mask": _token_mask}
    kwargs = {name: make(config) for name, make in makers.items() if name in takes}
    if type(model).__name__.endswith("ForMultipleChoice"):
        kwargs = {name: _for_each_choice(value) for name, value in kwargs.items()}
    return CaptureInputs((), kwargs)


def _for_each_choice(value: object) -> object:
    return torch.stack([value] * CHOICES, dim=1) if isinstance(value, Tensor) else value


def _token_ids(config: Config) -> Tensor:
    """Different ids, and the end of the sequence where classifiers look for it."""
    ids = torch.arange(5, 5 + TOKENS)
    end = getattr(config, "eos_token_id", None)
    if isinstance(end, int):
        ids[-1] = end
    return ids[None]


def _token_mask(_config: Config) -> Tensor:
    return torch.ones(1, TOKENS, dtype=torch.long)


def _boxes(_config: Config) -> Tensor:
    return torch.tensor([10, 10, 20, 20]).repeat(1, TOKENS, 1)


def _image(config: Config) -> Tensor:
    return torch.zeros(1, _channels(config), *image_size(config))


def _clip(config: Config) -> Tensor:
    frames = _setting(config, "num_frames", FRAMES)
    return torch.zeros(1, frames, _channels(config), *image_size(config))


def _samples(_config: Config) -> Tensor:
    return torch.zeros(1, SAMPLES)


def _spectrogram(config: Config) -> Tensor:
    return torch.zeros(1, config.max_length, config.num_mel_bins)


def _mel(config: Config) -> Tensor:
    return torch.zeros(1, MEL_FRAMES, _mel_bins(config))


def _mel_by_bins(config: Config) -> Tensor:
    """Bins before frames, as many frames as the encoder has positions for after its stride of 2."""
    frames = 2 * _setting(config, "max_source_positions", MEL_FRAMES)
    return torch.zeros(1, _mel_bins(config), frames)


def _series(config: Config) -> Tensor:
    return torch.zeros(1, config.context_length, config.num_input_channels)


def _regions(config: Config) -> Tensor:
    return torch.zeros(1, REGIONS, config.visual_feat_dim)


def _region_boxes(_config: Config) -> Tensor:
    return torch.zeros(1, REGIONS, 4)


def image_size(config: Config) -> tuple[int, int]:
    """Height and width of the images that a model is configured for."""
    size = _setting(config, "image_size", IMAGE_SIZE)
    if isinstance(size, dict):
        return size["height"], size["width"]
    return (size, size) if isinstance(size, int) else tuple(size)


def _channels(config: Config) -> int:
    return int(_setting(config, "num_channels", 3))


def _mel_bins(config: Config) -> int:
    names = ("num_mel_bins", "feature_projection_input_dim", "input_feat_per_channel")
    bins = (_setting(config, name, None) for name in names)
    return next((number for number in bins if number is not None), MEL_BINS)


def _setting(config: Config, name: str, default: object) -> Any:  # noqa: ANN401
    """A setting of the configuration or, where that has none, of one inside it."""
    values = (getattr(part, name, None) for part in parts(config))
    return next((value for value in values if value is not None), default)


_MAKERS: dict[str, Maker] = {
    "input_ids": _token_ids,
    "decoder_input_ids": _token_ids,
    "bbox": _boxes,
    "pixel_values": _image,
    "input_values": _samples,
    "input_features": _mel,
    "past_values": _series,
    "visual_feats": _regions,
    "visual_pos": _region_boxes,
}

# Model types whose inputs have another shape under the same name.
_MAKERS_OF: dict[str, dict[str, Maker]] = {
    "audio-spectrogram-transformer": {"input_values": _spectrogram},
    "timesformer": {"pixel_values": _clip},
    "videomae": {"pixel_values": _clip},
    "vivit": {"pixel_values": _clip},
    "whisper": {"input_features": _mel_by_bins},
}
