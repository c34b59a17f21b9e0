"""Token ids of a prompt: text, and one placeholder for every feature of an image or a sound.

The model itself says how many features there are: its towers run on the example's inputs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from itertools import count, islice
from typing import Any

import torch
from torch import Tensor

from nar.capture.forward.placement import inference
from nar.capture.torch_internals import tree_map_only
from nar.zoo.sources.transformers.configs import Config, Model, parts, vocabulary_size
from nar.zoo.sources.transformers.settings import FIRST_TOKEN, TOKENS, setting


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
