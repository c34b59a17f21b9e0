"""Images and clips as pixels, in the layout that a model takes them in."""

import torch
from torch import Tensor

from nar.zoo.sources.transformers.configs import Model
from nar.zoo.sources.transformers.makers import Maker, counts, flags, in_batch, left_out, ones
from nar.zoo.sources.transformers.prompts import TOKENS
from nar.zoo.sources.transformers.settings import channels, image_size, vision_setting
from nar.zoo.sources.transformers.sounds import SAMPLES

FRAMES = 16


def image(model: Model) -> Tensor:
    """(1, channels, height, width)."""
    return torch.ones(1, channels(model.config), *image_size(model.config))


def clip(model: Model) -> Tensor:
    """(1, frames, channels, height, width)."""
    frames = vision_setting(model.config, "num_frames", "frames_per_clip", default=FRAMES)
    return torch.ones(1, frames, channels(model.config), *image_size(model.config))


def _two_images(model: Model) -> Tensor:
    """(1, 2, channels, height, width)."""
    return torch.stack([image(model)] * 2, dim=1)


def _image_and_tiles(model: Model) -> Tensor:
    """(1, 1 + tiles, channels, height, width): an image as a whole, and in the least tiles."""
    side = image_size(model.config)[0]
    areas = [height * width for height, width in model.config.image_grid_pinpoints]
    return image(model).repeat(1 + min(areas) // side**2, 1, 1, 1)[None]


def _image_sizes(model: Model) -> Tensor:
    return torch.tensor([image_size(model.config)])


def _pixel_mask(model: Model) -> Tensor:
    return torch.ones(1, *image_size(model.config), dtype=torch.long)


def _tile_mask(model: Model) -> Tensor:
    return torch.ones(1, 1, *image_size(model.config), dtype=torch.bool)


def _as_many_tiles_as_may_be(model: Model) -> Tensor:
    """(1, 1, tiles, channels, height, width)."""
    tiles = vision_setting(model.config, "max_num_tiles")
    return image(model)[:, None].repeat_interleave(tiles, dim=1)[None]


def _half_image(model: Model) -> Tensor:
    """The model puts a prompt and an image on top of each other."""
    height, width = image_size(model.config)
    return torch.ones(1, 3, height // 2, width)


def _high_resolution(model: Model) -> Tensor:
    side = model.config.high_res_vision_config.image_size
    return torch.ones(1, 3, side, side)


def _half_masked_tubes(model: Model) -> Tensor:
    """(1, tubes): every other tube of a clip is masked."""
    config = model.config
    rows, columns = image_size(config)
    places = (rows // config.patch_size) * (columns // config.patch_size)
    tubes = config.num_frames // config.tubelet_size * places
    return (torch.arange(tubes) % 2 == 0)[None]


IMAGE_MAKERS: dict[str, Maker] = {"pixel_values": image, "pixel_mask": _pixel_mask}

_CLIP: dict[str, Maker] = {"pixel_values": clip, "pixel_values_videos": clip}
_TILES: dict[str, Maker] = {"pixel_values": in_batch(image), "pixel_attention_mask": _tile_mask}
_SIZED: dict[str, Maker] = {"image_sizes": _image_sizes}
_WITH_TILES: dict[str, Maker] = {**_SIZED, "pixel_values": _image_and_tiles}
_PAIR: dict[str, Maker] = {"pixel_values": _two_images}
_TEXT_LINE: dict[str, Maker] = {"pixel_values": ones(1, 3, 48, 320)}
_LLAMA_TILES: dict[str, Maker] = {
    "pixel_values": _as_many_tiles_as_may_be,
    "aspect_ratio_ids": counts(1, 1),
    "aspect_ratio_mask": counts(1, 1, "max_num_tiles"),
    "cross_attention_mask": counts(1, TOKENS, 1, "max_num_tiles"),
}
_SEEN_AND_HEARD: dict[str, Maker] = {
    "input_values": ones(1, 1, SAMPLES),
    "pixel_values_videos": ones(1, FRAMES, 3, 336, 336),
}

_SHARED: tuple[tuple[tuple[str, ...], dict[str, Maker]], ...] = (
    (("colmodernvbert", "idefics2", "idefics3", "modernvbert", "smolvlm", "ultravbert"), _TILES),
    (("granite4_vision", "llava_next", "llava_next_video", "llava_onevision"), _WITH_TILES),
    (("emu3", "lighton_ocr", "mistral3", "mistral_large4", "pixtral"), _SIZED),
    (("timesformer", "videomt", "videoprism", "videoprism_vision_model", "vivit", "vjepa2",
      "xclip"), _CLIP),
    (("efficientloftr", "lightglue", "superglue"), _PAIR),
    (("pp_ocrv5_mobile_rec", "pp_ocrv5_server_rec"), _TEXT_LINE),
    (("mllama", "mllama_vision_model"), _LLAMA_TILES),
    (("pe_audio_video", "pe_audio_video_encoder", "pe_video", "pe_video_encoder"),
     _SEEN_AND_HEARD),
)  # fmt: skip

IMAGES: dict[str, dict[str, Maker]] = {
    **{model_type: layout for types, layout in _SHARED for model_type in types},
    "aria": {"pixel_values": ones(1, 3, 490, 490), "pixel_mask": left_out},
    "deepseek_vl_hybrid": {"high_res_pixel_values": _high_resolution},
    # The least that three scales of patches of 384 fit into.
    "depth_pro": {"pixel_values": ones(1, 3, 1_536, 1_536)},
    "granite_docling": {"pixel_values": in_batch(image), "pixel_attention_mask": flags(1, 1)},
    "idefics": {"pixel_values": in_batch(image), "image_attention_mask": counts(1, TOKENS, 1)},
    # facebook/Perception-LM-1B reads tiles of 448 pixels.
    "perception_lm": {"pixel_values": ones(1, 1, 3, 448, 448)},
    # What the image processor of Roboflow/rf-detr-base gives: whole windows of patches.
    "rf_detr": {"pixel_values": ones(1, 3, 560, 560), "pixel_mask": counts(1, 560, 560)},
    "radio": {"pixel_values": image, "image_grid_hw": left_out},
    "seggpt": {
        "pixel_values": _half_image,
        "prompt_pixel_values": _half_image,
        "prompt_masks": _half_image,
    },
    "tvp": {"pixel_values": ones(1, "num_frames", 3, "max_img_size", "max_img_size")},
    "videomae": {**_CLIP, "bool_masked_pos": _half_masked_tubes},
}
