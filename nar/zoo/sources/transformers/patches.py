"""Images that come as patches: packed, batched or as pixels, with the grid that they lie in."""

import torch
from torch import Tensor

from nar.zoo.sources.transformers.configs import Config, Model
from nar.zoo.sources.transformers.makers import Maker, counts, flags, in_batch, ones, value_of
from nar.zoo.sources.transformers.prompts import FIRST_TOKEN, TOKENS
from nar.zoo.sources.transformers.settings import channels, image_size, vision_setting
from nar.zoo.sources.transformers.sounds import MEL_FRAMES

# Rows and columns of patches of one image; every merge and every window in use fits.
GRID = 24
FLAT_PATCHES = 256
POOLED_TOKENS = 16


def _packed(model: Model) -> Tensor:
    """(patches, values of a patch): all patches of one image, without a batch."""
    return torch.ones(GRID * GRID, _patch_values(model.config))


def _patch_values(config: Config) -> int:
    """Numbers in a patch, over the frames that are merged into it."""
    rows, columns = _patch_size(config)
    frames = vision_setting(config, "temporal_patch_size", "patch_temporal", default=1)
    return int(channels(config) * frames * rows * columns)


def _patch_size(config: Config) -> tuple[int, int]:
    side = vision_setting(config, "patch_size", default=14)
    return (side, side) if isinstance(side, int) else tuple(side)


def _square(model: Model) -> Tensor:
    """(patches, channels, rows, columns): all patches of one image."""
    return torch.ones(GRID * GRID, channels(model.config), *_patch_size(model.config))


def _in_a_row(model: Model) -> Tensor:
    """(1, channels, rows of a patch, columns of all patches): patches side by side."""
    rows, columns = _patch_size(model.config)
    return torch.ones(1, channels(model.config), rows, GRID * GRID * columns)


def _of_one_token_each(model: Model) -> Tensor:
    """(tokens, rows, columns, channels): the patches that are merged into a token, in one."""
    side = _patch_size(model.config)[0] * vision_setting(model.config, "spatial_merge_size")
    return torch.ones(GRID * GRID, side, side, channels(model.config))


def _positions(_model: Model) -> Tensor:
    """(1, patches, 2): column and row of each patch."""
    places = torch.arange(GRID)
    return torch.stack(torch.meshgrid(places, places, indexing="xy"), dim=-1).reshape(1, -1, 2)


def _of_one_crop(model: Model) -> Tensor:
    """(crops, patches, values of a patch)."""
    (height, width), (rows, columns) = image_size(model.config), _patch_size(model.config)
    return torch.ones(1, (height // rows) * (width // columns), _patch_values(model.config))


def _pooled(_model: Model) -> Tensor:
    """(tokens, 4): which patches each token pools."""
    return torch.arange(POOLED_TOKENS * 4).reshape(POOLED_TOKENS, 4)


def _prompt_of_queries(model: Model) -> Tensor:
    """What an image becomes, then text."""
    return torch.full((1, model.config.latent_query_num + TOKENS), FIRST_TOKEN)


def _is_image(model: Model) -> Tensor:
    queries = int(model.config.latent_query_num)
    return (torch.arange(queries + TOKENS) < queries).long()[None]


def _grid(_model: Model) -> Tensor:
    """(1, 3): frames, rows and columns of the patches of one image."""
    return torch.tensor([[1, GRID, GRID]])


_ROWS_AND_COLUMNS = counts(1, 2, value=GRID)

# Layouts that an input asks for by being there.
MARKED: dict[str, dict[str, Maker]] = {
    "image_grid_thw": {"image_grid_thw": _grid, "pixel_values": _packed},
    "grid_thw": {"grid_thw": _grid, "pixel_values": _packed, "hidden_states": _packed},
    "image_grid_hw": {"image_grid_hw": _ROWS_AND_COLUMNS, "pixel_values": _packed},
    "target_sizes": {"target_sizes": _ROWS_AND_COLUMNS, "pixel_values": _in_a_row},
    "spatial_shapes": {
        "spatial_shapes": _ROWS_AND_COLUMNS,
        "pixel_values": in_batch(_packed),
        "pixel_attention_mask": counts(1, GRID * GRID),
    },
}

# The feature extractor gives 128 bins: no configuration says how many.
_GEMMA4: dict[str, Maker] = {
    "pixel_values": in_batch(_packed),
    "image_position_ids": _positions,
    "pixel_position_ids": _positions,
    "input_features": ones(1, MEL_FRAMES, 128),
    "input_features_mask": flags(1, MEL_FRAMES),
}
# Row, column and values of every patch of 16 x 16 pixels.
_FLAT: dict[str, Maker] = {"flattened_patches": ones(1, FLAT_PATCHES, 2 + 3 * 16 * 16)}

_QUERIED: dict[str, Maker] = {
    "input_ids": _prompt_of_queries,
    "image_embeds_position_mask": _is_image,
}

PATCHES: dict[str, dict[str, Maker]] = {
    **dict.fromkeys(("embedding_gemma2", "gemma4", "gemma4_audio", "gemma4_vision"), _GEMMA4),
    # Three by three patches of 16 pixels are one.
    "gemma4_unified": {
        **_GEMMA4,
        "pixel_values": ones(1, GRID * GRID, 3 * 48 * 48),
        "input_features": ones(1, MEL_FRAMES, "audio_embed_dim"),
    },
    "colqwen2": {"pixel_values": in_batch(_packed)},
    "fuyu": {"pixel_values": in_batch(_packed)},
    "neomme": {"pixel_values": _packed},
    # Patches of two equal frames, channels last.
    "inkling_mm_model": {
        "pixel_values": ones(
            POOLED_TOKENS, "temporal_patch_size", "patch_size", "patch_size", "num_channels"
        )
    },
    "inkling2": {"pixel_values": _of_one_token_each},
    "inkling2_vision": {"pixel_values": _of_one_token_each},
    "kimi_k25": {"pixel_values": _square},
    "kimi_k25_vision": {"pixel_values": _square},
    "kosmos-2": _QUERIED,
    "kosmos-2.5": {**_FLAT, **_QUERIED},
    "molmo2": {
        "pixel_values": _of_one_crop,
        "image_token_pooling": _pooled,
        "image_grids": value_of(torch.tensor([[4, 4, 0, 0]])),
        "image_num_crops": counts(1),
    },
    "paddleocr_vl": {"pixel_values": _square},
    "paddleocr_vl_vision": {"pixel_values": in_batch(_square)},
    "pix2struct": {**_FLAT, "attention_mask": counts(1, FLAT_PATCHES)},
    "video_llama_3": {"image_merge_sizes": counts(1)},
    "video_llama_3_vision": {"merge_sizes": counts(1)},
}
