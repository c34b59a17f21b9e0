"""Model types whose inputs have a layout of their own: images, sounds, series, and all the rest."""

import torch
from torch import Tensor

from nar.zoo.transformers.configs import Model
from nar.zoo.transformers.images import IMAGES, clip
from nar.zoo.transformers.makers import Maker, counts, ones, value_of
from nar.zoo.transformers.patches import PATCHES
from nar.zoo.transformers.prompts import TOKENS, text_ids
from nar.zoo.transformers.series import SERIES
from nar.zoo.transformers.sounds import SOUNDS

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
    "lxmert": {
        "visual_feats": ones(1, REGIONS, "visual_feat_dim"),
        "visual_pos": ones(1, REGIONS, 4),
    },
    "omdet-turbo": {
        "classes_input_ids": _words_of_two_classes,
        "classes_attention_mask": counts(2, TOKENS),
        "tasks_input_ids": same_tokens,
        "tasks_attention_mask": counts(1, TOKENS),
        "classes_structure": counts(1, value=2),
    },
    "oneformer": {"task_inputs": counts(1, "task_seq_len")},
    "perceiver": {"inputs": _perceived},
    "splinter": {"question_positions": counts(1, 1)},
    "xmod": {"lang_ids": counts(1, value=0)},
}  # fmt: skip
