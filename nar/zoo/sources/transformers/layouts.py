"""Model types whose inputs have a layout of their own: images, sounds, series, and all the rest."""

import torch
from torch import Tensor

from nar.zoo.sources.transformers.configs import Model
from nar.zoo.sources.transformers.images import IMAGES, clip, image
from nar.zoo.sources.transformers.makers import (
    Maker,
    counts,
    flags,
    in_batch,
    left_out,
    ones,
    value_of,
)
from nar.zoo.sources.transformers.patches import PATCHES
from nar.zoo.sources.transformers.prompts import TOKENS, text_ids
from nar.zoo.sources.transformers.series import SERIES
from nar.zoo.sources.transformers.settings import image_size, setting, vision_setting
from nar.zoo.sources.transformers.sounds import SOUNDS

REGIONS = 36
QUERIES = 32
IMAGE_STATES = 257
FEATURES = 20


def _boxes(_model: Model) -> Tensor:
    return torch.tensor([10, 10, 20, 20]).repeat(1, TOKENS, 1)


def same_tokens(model: Model) -> Tensor:
    """(1, tokens): those of the prompt."""
    return text_ids(model.config)[None]


def _words_of_two_classes(model: Model) -> Tensor:
    return text_ids(model.config).repeat(2, 1)


def _perceived(model: Model) -> Tensor | None:
    """Tokens where a text preprocessor reads them, features where none does."""
    if type(model).__name__ == "PerceiverModel":
        return torch.ones(1, FEATURES, model.config.d_model)
    is_of_text = type(model).__name__.endswith(("MaskedLM", "SequenceClassification"))
    return same_tokens(model) if is_of_text else None


def _accepted(model: Model) -> Tensor:
    """(1, tokens, widths): states of some layers of the target model, side by side."""
    config = model.config
    return torch.ones(1, TOKENS, config.hidden_size * len(config.target_layer_ids))


def _actions(model: Model) -> Tensor:
    """(1, state and actions, width)."""
    config = model.config
    return torch.ones(1, 1 + config.chunk_size, config.dit_config.hidden_size)


def _instruction(model: Model) -> Tensor:
    """(1, tokens): one for each patch of what a robot sees, then what it is told."""
    height, width = image_size(model.config)
    side = vision_setting(model.config, "patch_size")
    seen = torch.full(
        (1, (height // side) * (width // side)), setting(model.config, "image_token_id")
    )
    return torch.cat([seen, same_tokens(model)], dim=1)


def _instruction_mask(model: Model) -> Tensor:
    return torch.ones_like(_instruction(model))


def _looking_everywhere(model: Model) -> Tensor | None:
    """The first token, where a class would look for separators instead."""
    name = type(model).__name__
    if not name.endswith(("QuestionAnswering", "MultipleChoice")):
        return None
    return (torch.arange(TOKENS) == 0).long()[None]


_BOXES: dict[str, Maker] = {"bbox": _boxes}
_QFORMER: dict[str, Maker] = {
    "query_embeds": ones(1, QUERIES, "hidden_size"),
    "encoder_hidden_states": ones(1, IMAGE_STATES, "encoder_hidden_size"),
    "qformer_input_ids": same_tokens,
}

LAYOUTS: dict[str, dict[str, Maker]] = {
    **IMAGES,
    **PATCHES,
    **SOUNDS,
    **SERIES,
    **dict.fromkeys(("bros", "layoutlm", "layoutlmv2", "layoutlmv3", "lilt", "udop"), _BOXES),
    **dict.fromkeys(
        ("blip_2_qformer", "instructblip", "instructblip_qformer",
         "instructblipvideo_qformer"), _QFORMER
    ),
    "instructblipvideo": {**_QFORMER, "pixel_values": clip},
    "flava": {"return_loss": value_of(value=False), "input_ids_masked": same_tokens},
    # One question of two options, asked at the last token.
    "jev": {
        "marks": counts(1, 1, value=TOKENS),
        "num_options": counts(1, 1, value=2),
        "question_type_ids": counts(1, 1, value=0),
    },
    "longformer": {"global_attention_mask": _looking_everywhere},
    "lxmert": {
        "visual_feats": ones(1, REGIONS, "visual_feat_dim"),
        "visual_pos": ones(1, REGIONS, 4),
    },
    "muse_glimmer_assistant": {
        "noise_embeds": ones(1, "block_size", "hidden_size"),
        "context_hidden_states": _accepted,
    },
    "omdet-turbo": {
        "classes_input_ids": _words_of_two_classes,
        "classes_attention_mask": counts(2, TOKENS),
        "tasks_input_ids": same_tokens,
        "tasks_attention_mask": counts(1, TOKENS),
        "classes_structure": counts(1, value=2),
    },
    "oneformer": {"task_inputs": counts(1, "task_seq_len")},
    # The state of a robot and its next actions, of which one more token tells the time.
    "pi0": {
        "state": ones(1, "max_state_dim"),
        "noise": ones(1, "chunk_size", "max_action_dim"),
        "timestep": ones(1),
        "action_embeds": _actions,
        "pixel_values": in_batch(image),
        "pixel_attention_mask": flags(1, 1),
        "input_ids": _instruction,
        "attention_mask": _instruction_mask,
    },
    "perceiver": {"inputs": _perceived, "input_ids": left_out},
    "splinter": {"question_positions": counts(1, 1)},
    "xmod": {"lang_ids": counts(1, value=0)},
}  # fmt: skip
