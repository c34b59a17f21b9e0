"""What the inputs of a model follow from its configuration: sizes, channels, bins, vocabularies."""

from collections.abc import Iterator
from typing import Any

from nar.zoo.sources.transformers.configs import Config, parts

IMAGE_SIZE = 224
MEL_BINS = 80

_VISION_PARTS = ("vision_config", "visual_config", "vit_config", "vision", "backbone_config")
_AUDIO_PARTS = ("audio_config", "encoder_config", "audio_encoder_config", "audio_tower_config")


def setting(config: Config, *names: str, default: object = None) -> Any:  # noqa: ANN401
    """The first of some settings that a configuration has or, where it has none, one inside it."""
    values = (getattr(part, name, None) for part in parts(config) for name in names)
    return next((value for value in values if value is not None), default)


def vision_setting(config: Config, *names: str, default: object = None) -> Any:  # noqa: ANN401
    """As `setting`, where the part of a configuration that describes images comes first."""
    return _preferring(config, _VISION_PARTS, names, default)


def audio_setting(config: Config, *names: str, default: object = None) -> Any:  # noqa: ANN401
    """As `setting`, where the part of a configuration that describes sounds comes first."""
    return _preferring(config, _AUDIO_PARTS, names, default)


def image_size(config: Config) -> tuple[int, int]:
    """Height and width of the images that a model is configured for."""
    size = vision_setting(config, "image_size", default=IMAGE_SIZE)
    if isinstance(size, dict):
        return size["height"], size["width"]
    return (size, size) if isinstance(size, int) else tuple(size[:2])


def channels(config: Config) -> int:
    """Number of channels of the images of a model."""
    return int(vision_setting(config, "num_channels", "in_channels", "in_chans", default=3))


def mel_bins(config: Config) -> int:
    """Number of frequency bands of the spectrograms of a model."""
    names = ("num_mel_bins", "feature_projection_input_dim", "input_feat_per_channel", "n_mels",
             "feature_size", "mel_bins", "input_feat_size", "input_dim")  # fmt: skip
    return int(audio_setting(config, *names, default=MEL_BINS))


def _preferring(
    config: Config, preferred: tuple[str, ...], names: tuple[str, ...], default: object
) -> object:
    for part in _named(config, preferred):
        value = setting(part, *names)
        if value is not None:
            return value
    return setting(config, *names, default=default)


def _named(config: Config, names: tuple[str, ...]) -> Iterator[Config]:
    for part in parts(config):
        for name in names:
            inner = getattr(part, name, None)
            if hasattr(inner, "sub_configs"):
                yield inner
