"""Building and calling a composed model: each part is given what it takes when it stands alone."""

from collections.abc import Callable, Mapping
from functools import partial

from torch import nn

from nar.capture import Capture, CaptureInputs
from nar.zoo.building import Plan, capture_plan
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.composed_configs import LIBRARY, Composition, composed_config
from nar.zoo.sources.transformers.configs import Model
from nar.zoo.sources.transformers.inputs import example_inputs
from nar.zoo.sources.transformers.known_values import known_values

Call = Callable[[Model], dict[str, object]]


def capture_composed(name: str, composition: Composition) -> Capture:
    """Capture a combination class over some parts, at full width without weights.

    Args:
        name: Name of the model, for errors.
        composition: The class and its parts.

    Raises:
        CaptureError: The parts do not fit, or the model cannot be captured.
    """
    call = _CALLS.get(composition.assemble, _alone)
    plan = Plan(partial(_build, composition), lambda model: CaptureInputs(kwargs=call(model)))
    with known_values():
        return capture_plan(name, plan)


def _build(composition: Composition) -> nn.Module:
    model_class = getattr(import_library(LIBRARY), composition.class_name)
    model: nn.Module = model_class._from_config(composed_config(composition))
    return model


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
