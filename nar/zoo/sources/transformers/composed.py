"""Models that transformers' own combination classes make from its parts, from a reviewed table.

``transformers_composed:vision_encoder_decoder/vit-base-patch16-224+gpt2`` is an encoder with a
decoder, ``transformers_composed:detr/swin-tiny-patch4-window7-224`` a head on a backbone. A part is
a checkpoint of ``tables/sizes.yaml``, a model type in its default configuration, or
``timm.<model>``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any

import torch
from torch import nn

from nar.base.workspace import package_yaml
from nar.capture import Capture, CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import Plan, capture_plan
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source
from nar.zoo.sources.timm import timm_family
from nar.zoo.sources.transformers.configs import Config, Model, default_config
from nar.zoo.sources.transformers.inputs import example_inputs
from nar.zoo.sources.transformers.known_values import known_values
from nar.zoo.sources.transformers.sizes import as_published, published_config, published_sizes
from nar.zoo.sources.transformers.tasks import task_of_pairs

TIMM = "timm."
JOINT = "+"
LIBRARY = "transformers"
STAGES = 4  # feature maps of a backbone: the stages of a ResNet, at strides 4 to 32
LAST_STAGES = 3  # feature maps that real-time and deformable detectors read, strides 8 to 32
DENSE_WIDTHS = (96, 192, 384, 768)

ConfigClass = Any


@dataclass(frozen=True, slots=True)
class Composition:
    """One combination class with one choice of parts.

    Attributes:
        kind: Which combination, and the family of the result.
        model_type: Type of its configuration.
        class_name: Its model class.
        assemble: How its configuration is made from its parts' configurations: a key of
            `_ASSEMBLE`.
        parts: Names of its parts, encoder first.
    """

    kind: str
    model_type: str
    class_name: str
    assemble: str
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name after the colon."""
        return f"{self.kind}/{JOINT.join(self.parts)}"


def part_config(part: str) -> Config:
    """The configuration of a part."""
    if part.startswith(TIMM):
        return _config_class("timm_backbone")(
            backbone=part.removeprefix(TIMM), use_pretrained_backbone=False
        )
    size = published_sizes().get(part)
    return published_config(size) if size else default_config(part)


def family_of_part(part: str) -> str:
    """The family of a part, as its own library would label it."""
    if part.startswith(TIMM):
        return timm_family(part.removeprefix(TIMM))
    size = published_sizes().get(part)
    return family_of(LIBRARY, size.model_type if size else part)


def composed_config(composition: Composition) -> Config:
    """The configuration of a composed model, without a cache of past tokens."""
    assemble = _ASSEMBLE[composition.assemble]
    composed = _config_class(composition.model_type)
    return as_published(assemble(composed, *map(part_config, composition.parts)))


def _config_class(model_type: str) -> ConfigClass:
    return import_library(LIBRARY).CONFIG_MAPPING[model_type]


def _encoder_decoder(composed: ConfigClass, encoder: Config, decoder: Config) -> Config:
    """The decoder reads the encoder, and begins as its own generation does."""
    config = composed.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id = getattr(decoder, "bos_token_id", None) or 0
    config.pad_token_id = getattr(decoder, "pad_token_id", None) or 0
    return config


def _dual_encoder(composed: ConfigClass, vision: Config, text: Config) -> Config:
    return composed.from_vision_text_configs(vision, text)


def _vision_language(composed: ConfigClass, vision: Config, text: Config) -> Config:
    """As LLaVA builds it: a CLIP tower drops its class token, any other keeps all patches."""
    strategy = "default" if vision.model_type in ("clip_vision_model", "dinov2") else "full"
    return composed(
        vision_config=vision,
        text_config=text,
        image_token_index=text.vocab_size - 1,
        vision_feature_select_strategy=strategy,
    )


def _backbone(composed: ConfigClass, backbone: Config) -> Config:
    return composed(backbone_config=_reading(backbone, STAGES))


def _levels(composed: ConfigClass, backbone: Config) -> Config:
    return composed(backbone_config=_reading(backbone, LAST_STAGES))


def _real_time(composed: ConfigClass, backbone: Config) -> Config:
    backbone = _reading(backbone, LAST_STAGES)
    return composed(backbone_config=backbone, encoder_in_channels=_channels(backbone))


def _pyramid_parser(composed: ConfigClass, backbone: Config) -> Config:
    """The auxiliary head of UperNet reads the third of four stages."""
    backbone = _reading(backbone, STAGES)
    return composed(backbone_config=backbone, auxiliary_in_channels=_channels(backbone)[2])


def _dense_prediction(composed: ConfigClass, backbone: Config) -> Config:
    """A reassembling neck reads tokens of equal width at four depths."""
    backbone = _reading(backbone, STAGES)
    backbone.reshape_hidden_states = False
    return composed(
        backbone_config=backbone,
        reassemble_hidden_size=backbone.hidden_size,
        patch_size=backbone.patch_size,
        neck_hidden_sizes=list(DENSE_WIDTHS),
    )


def _matting(composed: ConfigClass, backbone: Config) -> Config:
    """The image comes with its trimap as a fourth channel."""
    backbone.num_channels = 4
    return composed(backbone_config=backbone, hidden_size=backbone.hidden_size)


_ASSEMBLE: dict[str, Callable[..., Config]] = {
    "encoder_decoder": _encoder_decoder,
    "dual_encoder": _dual_encoder,
    "vision_language": _vision_language,
    "backbone": _backbone,
    "levels": _levels,
    "real_time": _real_time,
    "pyramid_parser": _pyramid_parser,
    "dense_prediction": _dense_prediction,
    "matting": _matting,
}


def _reading(backbone: Config, count: int) -> Config:
    """Let a backbone give ``count`` feature maps: its last stages, or depths at equal distances."""
    if backbone.model_type == "timm_backbone":
        stages = _timm_stages(backbone.backbone)
        backbone.out_indices = list(range(stages - count, stages))
        return backbone
    names = [name for name in backbone.stage_names if name != "stem"]
    if hasattr(backbone, "depths"):
        backbone.out_features = names[-count:]
    else:
        step = len(names) // count
        backbone.out_features = names[step - 1 :: step][-count:]
    return backbone


def _timm_stages(model: str) -> int:
    """How many feature maps a timm model offers, the stem's counted where it is one."""
    with torch.device("meta"):
        built = import_library("timm").create_model(model, pretrained=False, features_only=True)
    return len(built.feature_info)


def _channels(backbone: Config) -> list[int]:
    """Widths of the feature maps that a backbone gives, shallow first."""
    with torch.device("meta"):
        model = import_library(LIBRARY).AutoBackbone.from_config(backbone)
    return [int(width) for width in model.channels]


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
    """Without the size of the image, which only towers that tile an image take."""
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
