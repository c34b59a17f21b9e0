"""Models that transformers' own combination classes make from its parts, from a reviewed table.

``transformers_composed:vision_encoder_decoder/vit-base-patch16-224+gpt2`` is an encoder with a
decoder, ``transformers_composed:detr/swin-tiny-patch4-window7-224`` a head on a backbone.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import product
from typing import Any

from torch import nn

from nar.base.workspace import package_yaml
from nar.capture import Capture, CaptureInputs
from nar.zoo.building import Plan, capture_plan
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source
from nar.zoo.sources.transformers.composed_configs import (
    JOINT,
    LIBRARY,
    Composition,
    composed_config,
    family_of_part,
)
from nar.zoo.sources.transformers.configs import Model
from nar.zoo.sources.transformers.inputs import example_inputs
from nar.zoo.sources.transformers.known_values import known_values
from nar.zoo.sources.transformers.tasks import task_of_pairs

# Building and calling a composed model: each part is given what it takes when it stands alone.

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


@cache
def compositions() -> dict[str, Composition]:
    """Every combination of the table, by name, in its order."""
    table = package_yaml("zoo", "sources", "transformers", "tables/composed.yaml")
    combined = [composition for row in table["kinds"] for composition in _combined(row)]
    return {composition.name: composition for composition in combined}


def _combined(row: Mapping[str, Any]) -> Iterator[Composition]:
    lists = [_flat(row[side]) for side in ("encoders", "decoders") if side in row]
    for chosen in product(*lists):
        yield Composition(row["kind"], row["type"], row["class"], row["assemble"], chosen)


def _flat(names: Any) -> list[str]:  # noqa: ANN401
    """Lists inside a list come from anchors of the table."""
    if isinstance(names, str):
        return [names]
    return [name for part in names for name in _flat(part)]


def _names() -> list[str]:
    """Every combination of the table.

    Raises:
        MissingLibraryError: transformers is not installed.
    """
    import_library(LIBRARY)
    return list(compositions())


def _entry(model: str) -> Entry | None:
    composition = compositions().get(model)
    if composition is None:
        return None
    return Entry(
        composition.kind,
        task_of_pairs()[composition.model_type, composition.class_name],
        partial(capture_composed, composition=composition),
        tier="composed",
        backbone=family_of_part(composition.parts[0]),
    )


TRANSFORMERS_COMPOSED = Source(
    name="transformers_composed",
    library=LIBRARY,
    licence="Apache-2.0",
    form=f"<kind>/<encoder>[{JOINT}<decoder>]",
    example="detr/resnet-50",
    names=_names,
    entry=_entry,
    parts=("timm",),
)
