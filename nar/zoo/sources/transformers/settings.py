"""What a model's configuration says of its inputs: settings, and sizes computed from them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nar.zoo.sources.transformers.configs import Config, parts

# Chosen: the length of a text, and sizes for inputs whose size no configuration fixes.
TOKENS = 16
FIRST_TOKEN = 5  # smaller ids often stand for padding, begin, end, the unknown and masks
IMAGE_SIZE = 224  # pixels; chosen: the side of most models of ImageNet
FRAMES = 16  # of a clip; chosen: the default of VideoMAE
# Rows and columns of patches of one image; every merge and every window in use fits.
GRID = 24
# 1.2 seconds at 16 kHz: whole frames for every stride in use.
SAMPLES = 19_200
# 4 seconds at 100 frames a second: whole chunks for every stride in use.
MEL_FRAMES = 400
MEL_BINS = 80  # frequency bands: the default of Whisper and most speech models

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


def quantity(config: Config, name: str) -> Any:  # noqa: ANN401
    """What a name of the table of inputs stands for: a size computed here, or else a setting."""
    if name in _NUMBERS:
        return _NUMBERS[name]
    compute = _QUANTITIES.get(name)
    return setting(config, name) if compute is None else compute(config)


def _channels(config: Config) -> int:
    return int(vision_setting(config, "num_channels", "in_channels", "in_chans", default=3))


def _patch_size(config: Config) -> tuple[int, int]:
    side = vision_setting(config, "patch_size", default=14)
    return (side, side) if isinstance(side, int) else tuple(side)


def _patch_values(config: Config) -> int:
    """Numbers in a patch, over the frames that are merged into it."""
    rows, columns = _patch_size(config)
    frames = vision_setting(config, "temporal_patch_size", "patch_temporal", default=1)
    return int(_channels(config) * frames * rows * columns)


def _image_patches(config: Config) -> int:
    """How many patches one image is cut into."""
    (height, width), (rows, columns) = image_size(config), _patch_size(config)
    return (height // rows) * (width // columns)


def _least_tiles(config: Config) -> int:
    side = image_size(config)[0]
    areas: list[int] = [height * width for height, width in config.image_grid_pinpoints]
    return min(areas) // side**2


def _mel_bins(config: Config) -> int:
    """Number of frequency bands of a spectrogram."""
    names = ("num_mel_bins", "feature_projection_input_dim", "input_feat_per_channel", "n_mels",
             "feature_size", "mel_bins", "input_feat_size", "input_dim")  # fmt: skip
    return int(audio_setting(config, *names, default=MEL_BINS))


def _window(config: Config) -> int:
    """As many frames as an encoder has positions for after its stride of 2."""
    names = ("max_source_positions", "max_position_embeddings")
    return int(2 * audio_setting(config, *names, default=MEL_FRAMES // 2))


_NUMBERS: Mapping[str, int] = {
    "first_token": FIRST_TOKEN,
    "grid": GRID,
    "mel_frames": MEL_FRAMES,
    "patches": GRID * GRID,
    "samples": SAMPLES,
    "tokens": TOKENS,
}
_QUANTITIES: Mapping[str, Callable[[Config], int]] = {
    "action_width": lambda config: int(config.dit_config.hidden_size),
    "channels": _channels,
    "decoder_codebooks": lambda config: int(config.decoder.num_codebooks),
    "frames": lambda config: int(
        vision_setting(config, "num_frames", "frames_per_clip", default=FRAMES)
    ),
    "half_height": lambda config: image_size(config)[0] // 2,
    "height": lambda config: image_size(config)[0],
    "high_resolution": lambda config: int(config.high_res_vision_config.image_size),
    "image_patches": _image_patches,
    "least_tiles": _least_tiles,
    "mel_bins": _mel_bins,
    "merged_side": lambda config: int(
        _patch_size(config)[0] * vision_setting(config, "spatial_merge_size")
    ),
    "most_tiles": lambda config: int(vision_setting(config, "max_num_tiles")),
    # The context of a series, and what its furthest lag looks back to.
    "past_length": lambda config: int(config.context_length + max(config.lags_sequence)),
    "patch_columns": lambda config: _patch_size(config)[1],
    "patch_rows": lambda config: _patch_size(config)[0],
    "patch_values": _patch_values,
    "stacked_frames": lambda config: int(audio_setting(config, "num_stacked_frames", default=4)),
    "target_layers": lambda config: len(config.target_layer_ids),
    "width": lambda config: image_size(config)[1],
    "window": _window,
}


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
