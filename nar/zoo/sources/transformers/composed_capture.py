"""Building and calling a composed model: each part is given what it takes when it stands alone."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import nn

from nar.capture import Capture, CaptureInputs
from nar.zoo.building import Recipe, capture_recipe
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.composed_configs import LIBRARY, composed_config
from nar.zoo.sources.transformers.inputs import example_inputs
from nar.zoo.sources.transformers.known_values import known_values

# A pretrained model: its parts are attributes that only its class knows.
Model = Any
Call = Callable[[Model], dict[str, object]]


def capture_composed(
    name: str, class_name: str, assemble: str, model_type: str, parts: tuple[str, ...]
) -> Capture:
    """Capture a combination class over some parts, at full width without weights.

    Args:
        name: Name of the model, for errors.
        class_name: The combination class.
        assemble: How its configuration comes from those of its parts.
        model_type: Type of that configuration.
        parts: Names of its parts, encoder first.

    Raises:
        CaptureError: The parts do not fit, or the model cannot be captured.
    """
    build = partial(_build, class_name, assemble, model_type, parts)
    recipe = Recipe(build, partial(_inputs, _CALLS.get(assemble, _alone)))
    with known_values():
        return capture_recipe(name, recipe)


def _build(class_name: str, assemble: str, model_type: str, parts: tuple[str, ...]) -> nn.Module:
    config = composed_config(assemble, model_type, parts)
    model: nn.Module = getattr(import_library(LIBRARY), class_name)._from_config(config)
    return model


def _inputs(call: Call, model: nn.Module) -> CaptureInputs:
    return CaptureInputs((), call(model))


def _alone(model: Model) -> dict[str, object]:
    return dict(example_inputs(model).kwargs)


def _sequence_to_sequence(model: Model) -> dict[str, object]:
    """The encoder's main input, and text for the decoder."""
    encoder, decoder = (_alone(part) for part in (model.encoder, model.decoder))
    main = str(model.encoder.main_input_name)
    return {
        **_among(encoder, (main,)),
        **(_among(encoder, ("attention_mask",)) if main == "input_ids" else {}),
        "decoder_input_ids": decoder["input_ids"],
    }


def _image_and_text(model: Model) -> dict[str, object]:
    return {
        **_among(_alone(model.vision_model), ("pixel_values",)),
        **_among(_alone(model.text_model), ("input_ids", "attention_mask")),
    }


def _image_in_text(model: Model) -> dict[str, object]:
    """The towers that tile an image want its size; these do not."""
    return {name: value for name, value in _alone(model).items() if name != "image_sizes"}


_CALLS: dict[str, Call] = {
    "encoder_decoder": _sequence_to_sequence,
    "dual_encoder": _image_and_text,
    "vision_language": _image_in_text,
}


def _among(values: Mapping[str, object], names: tuple[str, ...]) -> dict[str, object]:
    return {name: values[name] for name in names if name in values}
