"""One call of any transformers model: which inputs its forward takes, and of what shape.

Values matter where control flow reads them: ids stay below every vocabulary, masks hide nothing,
and a prompt holds a placeholder for every feature of its images and sounds.
"""

from collections.abc import Mapping
from inspect import signature

import torch
from torch import Tensor

from nar.capture import CaptureInputs
from nar.zoo.sources.transformers.configs import Model
from nar.zoo.sources.transformers.images import IMAGE_MAKERS, clip
from nar.zoo.sources.transformers.layouts import LAYOUTS, same_tokens
from nar.zoo.sources.transformers.makers import Maker
from nar.zoo.sources.transformers.patches import MARKED
from nar.zoo.sources.transformers.prompts import Prompt, prompt_of
from nar.zoo.sources.transformers.sounds import SOUND_MAKERS

CHOICES = 2


def example_inputs(model: Model) -> CaptureInputs:
    """Everything that the model's forward wants, one example of it, on the default device.

    Args:
        model: A ``PreTrainedModel``.
    """
    takes = signature(model.forward).parameters
    makers = {name: make for name, make in _makers(model, takes).items() if name in takes}
    made = {name: make(model) for name, make in makers.items()}
    kwargs = {name: value for name, value in made.items() if value is not None}
    if "input_ids" in takes and "input_ids" not in makers:
        for name, value in _tokens(prompt_of(model, kwargs)).items():
            if name in takes:
                kwargs.setdefault(name, value)
    if type(model).__name__.endswith("ForMultipleChoice"):
        kwargs = {name: _for_each_choice(value) for name, value in kwargs.items()}
    return CaptureInputs((), kwargs)


def _makers(model: Model, takes: Mapping[str, object]) -> dict[str, Maker]:
    """From the general to the special; a clip only where no image will do."""
    makers = {**IMAGE_MAKERS, **SOUND_MAKERS, "decoder_input_ids": same_tokens}
    if "pixel_values" not in takes:
        makers["pixel_values_videos"] = clip
    for marker, layout in MARKED.items():
        if marker in takes:
            makers |= layout
    return makers | LAYOUTS.get(model.config.model_type, {})


def _tokens(prompt: Prompt) -> Mapping[str, Tensor]:
    return {
        "input_ids": prompt.ids,
        "attention_mask": torch.ones_like(prompt.ids),
        "mm_token_type_ids": prompt.kinds,
    }


def _for_each_choice(value: object) -> object:
    return torch.stack([value] * CHOICES, dim=1) if isinstance(value, Tensor) else value
