"""One call of any transformers model: which inputs its forward takes, and of what shape.

Values matter where control flow reads them: ids stay below every vocabulary, masks hide nothing,
and a prompt holds a placeholder for every feature of its images and sounds.

Inputs that no shape describes have a function each in `COMPUTED`, under their names in the table of
inputs.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from itertools import count, islice
from typing import Any

import torch
from torch import Tensor

from nar.base.workspace import package_yaml
from nar.capture import CaptureInputs
from nar.capture.forward.placement import inference
from nar.capture.torch_internals import tree_map_only
from nar.zoo.example import Entry, made
from nar.zoo.sources.transformers.configs import Config, Model, parts, vocabulary_size

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


@dataclass(frozen=True, slots=True)
class _Modality:
    """A kind of content that may stand in a prompt beside text.

    Attributes:
        method: The model's method that makes features of it.
        marker: The input that brings it.
        token: Settings that name its placeholder.
        start: Settings that name the token before it.
        end: Settings that name the token after it.
        kind: What `mm_token_type_ids` calls it.
    """

    method: str
    marker: str
    token: tuple[str, ...]
    start: tuple[str, ...]
    end: tuple[str, ...]
    kind: int


_MODALITIES = (
    _Modality(
        "get_image_features", "pixel_values",
        ("image_token_id", "image_token_index", "media_placeholder_token_id"),
        ("vision_start_token_id", "image_start_token_id", "boi_token_id", "image_bos_token_id"),
        ("vision_end_token_id", "image_end_token_id", "eoi_token_id"),
        1,
    ),
    _Modality(
        "get_video_features", "pixel_values_videos",
        ("video_token_id", "video_token_index"),
        ("vision_start_token_id", "video_start_token_id"),
        ("vision_end_token_id", "video_end_token_id"),
        2,
    ),
    _Modality(
        "get_audio_features", "input_features",
        ("audio_token_id", "audio_token_index"),
        ("audio_bos_token_id", "audio_start_token_id"),
        ("audio_eos_token_id", "audio_end_token_id"),
        3,
    ),
    _Modality(
        "get_audio_features", "input_values",
        ("audio_token_id", "audio_token_index"),
        ("audio_bos_token_id", "audio_start_token_id"),
        ("audio_eos_token_id", "audio_end_token_id"),
        3,
    ),
)  # fmt: skip
# Settings that fix a number of features: what a tower gives is padded to it.
_FIXED = {"get_audio_features": ("audio_soft_tokens_per_image",)}


@dataclass(frozen=True, slots=True)
class Prompt:
    """Tokens of an example.

    Attributes:
        ids: Token ids, one sequence.
        kinds: 0 for text, 1 in an image, 2 in a video, 3 in a sound.
    """

    ids: Tensor
    kinds: Tensor


def text_ids(config: Config) -> Tensor:
    """Different ids, and the end of the sequence where classifiers look for it."""
    ids = torch.tensor(list(islice(_ordinary_tokens(config), TOKENS)))
    ids %= vocabulary_size(config)
    end = getattr(config, "eos_token_id", None)
    if isinstance(end, int):
        ids[-1] = end
    return ids


def prompt_of(model: Model, inputs: Mapping[str, object]) -> Prompt:
    """The tokens of an example: images, videos and sounds first, then text.

    Args:
        model: A ``PreTrainedModel``.
        inputs: Its other inputs.
    """
    text = text_ids(model.config)
    ids, kinds = [text[:1]], [torch.zeros(1, dtype=torch.long)]
    for modality in _MODALITIES:
        token = _token(model.config, modality.token)
        if token is None or inputs.get(modality.marker) is None:
            continue
        features = _number_of_features(model, modality.method, inputs)
        around = [_token(model.config, names) for names in (modality.start, modality.end)]
        span = [around[0], *[token] * features, around[1]]
        ids.append(torch.tensor([one for one in span if one is not None], dtype=torch.long))
        kinds.append(modality.kind * (ids[-1] == token))
    ids.append(text[1:])
    kinds.append(torch.zeros(TOKENS - 1, dtype=torch.long))
    return Prompt(torch.cat(ids)[None], torch.cat(kinds)[None])


def _number_of_features(model: Model, method: str, inputs: Mapping[str, object]) -> int:
    """Run the towers; where they need the prompt itself, ask the tower how much it would give."""
    fixed = setting(model.config, *_FIXED.get(method, ()))
    if fixed is not None:
        return int(fixed)
    inner = getattr(model, "model", None)
    encoder = getattr(inner or model, "encoder", None)
    candidates = (inner, model, getattr(model, "vlm", None), encoder)
    owner = next((part for part in candidates if hasattr(part, method)), None)
    if owner is None or "input_ids" in signature(getattr(owner, method)).parameters:
        return _number_of_frames(model, inputs)
    device = next(model.parameters()).device
    takes = signature(getattr(owner, method)).parameters
    chosen = {name: value for name, value in inputs.items() if name in takes}
    chosen = tree_map_only(Tensor, lambda tensor: tensor.to(device), chosen)
    with inference(model), device:
        features = getattr(owner, method)(**chosen)
    return sum(tensor.shape[:-1].numel() for tensor in _features(features))


def _number_of_frames(model: Model, inputs: Mapping[str, object]) -> int:
    tower = getattr(getattr(model, "model", model), "audio_tower", None)
    spectrogram = inputs.get("input_features")
    if tower is None or not isinstance(spectrogram, Tensor):
        return 0
    frames = torch.tensor(spectrogram.shape[-1], device="cpu")
    return int(tower._get_feat_extract_output_lengths(frames)[-1])


def _features(output: Any) -> Iterator[Tensor]:  # noqa: ANN401
    """The features in the output of a tower."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, list | tuple) and output and not hasattr(output, "pooler_output"):
        for part in output:
            yield from _features(part)
    elif getattr(output, "pooler_output", None) is not None:
        yield from _features(output.pooler_output)
    elif getattr(output, "deepstack_features", None):
        # Each depth gives as many features, for its own layer of the text model: one is counted.
        yield from _features(output.deepstack_features[0][1])
    elif hasattr(output, "last_hidden_state"):
        yield from _features(output.last_hidden_state)


def _token(config: Config, names: tuple[str, ...]) -> int | None:
    tokens = (getattr(part, name, None) for part in parts(config) for name in names)
    return next((token for token in tokens if isinstance(token, int)), None)


def _ordinary_tokens(config: Config) -> Iterator[int]:
    """Ids that stand for nothing special."""
    special = {
        value
        for part in parts(config)
        for name, value in vars(part).items()
        if name.endswith(("_token_id", "_token_index")) and isinstance(value, int)
    }
    return (token for token in count(FIRST_TOKEN) if token not in special)


# Chosen: steps of features, codes and states, which are neither a text nor a waveform.
STEPS = 20


def _same_tokens(model: Model) -> Tensor:
    """(1, tokens): the tokens of the prompt."""
    return text_ids(model.config)[None]


def _words_of_two_classes(model: Model) -> Tensor:
    """(2, tokens)."""
    return text_ids(model.config).repeat(2, 1)


def _instruction(model: Model) -> Tensor:
    """(1, tokens): a token for each patch of what a robot sees, then its instruction."""
    patches, token = (quantity(model.config, name) for name in ("image_patches", "image_token_id"))
    return torch.cat([torch.full((1, patches), token), _same_tokens(model)], dim=1)


def _perceived(model: Model) -> Tensor | None:
    """Tokens where a text preprocessor reads them, features where none does."""
    if type(model).__name__ == "PerceiverModel":
        return torch.ones(1, STEPS, model.config.d_model)
    is_of_text = type(model).__name__.endswith(("MaskedLM", "SequenceClassification"))
    return _same_tokens(model) if is_of_text else None


def _looking_everywhere(model: Model) -> Tensor | None:
    """The first token, where a class would look for separators instead."""
    name = type(model).__name__
    if not name.endswith(("QuestionAnswering", "MultipleChoice")):
        return None
    return (torch.arange(TOKENS) == 0).long()[None]


def _half_masked_tubes(model: Model) -> Tensor:
    """(1, tubes): every other tube of a clip is masked."""
    config = model.config
    rows, columns = image_size(config)
    tubes_at_once = (rows // config.patch_size) * (columns // config.patch_size)
    tubes = config.num_frames // config.tubelet_size * tubes_at_once
    return (torch.arange(tubes) % 2 == 0)[None]


def _patch_positions(_model: Model) -> Tensor:
    """(1, patches, 2): column and row of each patch."""
    steps = torch.arange(GRID)
    return torch.stack(torch.meshgrid(steps, steps, indexing="xy"), dim=-1).reshape(1, -1, 2)


def _is_query(model: Model) -> Tensor:
    """(1, queries and tokens): which positions are queries, the others being tokens."""
    queries = int(model.config.latent_query_num)
    return (torch.arange(queries + TOKENS) < queries).long()[None]


def _mel_without_text(model: Model) -> Tensor | None:
    """(1, frames, bins), or None where the model takes text: a mask cannot cover both."""
    if "input_ids" in signature(model.forward).parameters:
        return None
    return torch.ones(1, MEL_FRAMES, quantity(model.config, "mel_bins"))


def _heard(model: Model) -> Tensor:
    """(1, samples), or (1, steps, width) for the model without the network that reads samples."""
    if _is_bare_speech(model):
        return torch.ones(1, STEPS, model.config.hidden_size)
    return torch.ones(1, SAMPLES)


def _spoken(model: Model) -> Tensor:
    config = model.config
    width = config.hidden_size if _is_bare_speech(model) else config.num_mel_bins
    return torch.ones(1, STEPS, width)


def _is_bare_speech(model: Model) -> bool:
    return type(model).__name__ == "SpeechT5Model"


def _series_context(model: Model) -> Tensor | list[Tensor]:
    series = torch.ones(model.config.context_length)
    return [series] if _is_forecaster(model) else series[None]


def _series_frequency(model: Model) -> Tensor | list[int]:
    return [0] if _is_forecaster(model) else torch.zeros(1, 1, dtype=torch.long)


def _is_forecaster(model: Model) -> bool:
    """The class with a head takes a list of series, the bare one a batch."""
    return type(model).__name__.endswith("ForPrediction")


COMPUTED: Mapping[str, Callable[[Model], object]] = {
    "half_masked_tubes": _half_masked_tubes,
    "heard": _heard,
    "instruction": _instruction,
    "is_query": _is_query,
    "looking_everywhere": _looking_everywhere,
    "mel_without_text": _mel_without_text,
    "patch_positions": _patch_positions,
    "perceived": _perceived,
    "same_tokens": _same_tokens,
    "series_context": _series_context,
    "series_frequency": _series_frequency,
    "spoken": _spoken,
    "words_of_two_classes": _words_of_two_classes,
}


CHOICES = 2  # of a multiple-choice model: the fewest to choose from


def example_inputs(model: Model) -> CaptureInputs:
    """Everything that the model's forward wants, one example of it, on the default device.

    Args:
        model: A ``PreTrainedModel``.
    """
    takes = signature(model.forward).parameters
    entries = {name: entry for name, entry in _entries(model, takes).items() if name in takes}
    values = {name: made(entry, partial(_known, model)) for name, entry in entries.items()}
    kwargs = {name: value for name, value in values.items() if value is not None}
    if "input_ids" in takes and "input_ids" not in entries:
        for name, value in _tokens(prompt_of(model, kwargs)).items():
            if name in takes:
                kwargs.setdefault(name, value)
    if type(model).__name__.endswith("ForMultipleChoice"):
        kwargs = {name: _for_each_choice(value) for name, value in kwargs.items()}
    return CaptureInputs((), kwargs)


def _entries(model: Model, takes: Mapping[str, object]) -> dict[str, Entry]:
    """Entries of a model, the special replacing the general; a clip only if it takes no image."""
    table = _table()
    entries = dict(table["usual"])
    if "pixel_values" not in takes:
        entries |= table["clips"]
    for marker, layout in table["marked"].items():
        if marker in takes:
            entries |= layout
    own: dict[str, Entry] = table["types"].get(model.config.model_type, {})
    return entries | own


def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = package_yaml(
        "zoo", "sources", "transformers", "tables/inputs.yaml"
    )
    return table


def _known(model: Model, name: str) -> object:
    compute = COMPUTED.get(name)
    return quantity(model.config, name) if compute is None else compute(model)


def _tokens(prompt: Prompt) -> Mapping[str, Tensor]:
    return {
        "input_ids": prompt.ids,
        "attention_mask": torch.ones_like(prompt.ids),
        "mm_token_type_ids": prompt.kinds,
    }


def _for_each_choice(value: object) -> object:
    return torch.stack([value] * CHOICES, dim=1) if isinstance(value, Tensor) else value
