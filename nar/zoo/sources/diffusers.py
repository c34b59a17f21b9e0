"""The networks of diffusers: each class in its default configuration, and published checkpoints."""

from functools import cache, partial
from importlib.resources import files
from typing import Any

import yaml
from torch import nn

from nar.architecture import Labels
from nar.labels.families import family_of
from nar.zoo.building import Recipe, capture_recipe, on_fake_cpu, on_meta
from nar.zoo.libraries import import_library, library_version
from nar.zoo.sources.diffusers_inputs import described_classes, example_inputs, marked_classes
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "diffusers"

_CLASSES_OF_TASK: dict[str, str] = {
    "autoencoding": (
        "AsymmetricAutoencoderKL AutoencoderDC AutoencoderKL AutoencoderKLCogVideoX "
        "AutoencoderKLCosmos AutoencoderKLFlux2 AutoencoderKLHunyuanImageRefiner "
        "AutoencoderKLHunyuanVideo AutoencoderKLHunyuanVideo15 AutoencoderKLKVAE "
        "AutoencoderKLKVAEAudio AutoencoderKLKVAEVideo AutoencoderKLLTX2Audio "
        "AutoencoderKLLTX2Video AutoencoderKLLTXVideo AutoencoderKLMagvit "
        "AutoencoderKLMiniMaxH3Audio AutoencoderKLMochi AutoencoderKLQwenImage "
        "AutoencoderKLQwenImage21 AutoencoderKLTemporalDecoder AutoencoderKLWan "
        "AutoencoderOobleck AutoencoderRAE AutoencoderSAME AutoencoderTiny AutoencoderVidTok "
        "Cosmos3AVAEAudioTokenizer Kandinsky6SRVAE LongCatAudioDiTVae MMAudioVAE VQModel"
    ),
    "unconditional-image-generation": "DiTTransformer2DModel UNet2DModel",
    "text-to-audio": (
        "AceStepTransformer1DModel LongCatAudioDiTTransformer MMAudioVocoder "
        "MiniMaxMusic3ConditionEncoder MiniMaxMusic3RVQDepthDecoder "
        "MiniMaxMusic3Transformer1DModel MiniMaxMusic3Vocoder StableAudio3DiTModel "
        "StableAudioDiTModel T5FilmDecoder"
    ),
    "text-to-video": (
        "AllegroTransformer3DModel AnyFlowTransformer3DModel CogVideoXTransformer3DModel "
        "ConsisIDTransformer3DModel CosmosTransformer3DModel "
        "HeliosTransformer3DModel HunyuanVideoTransformer3DModel Kandinsky5Transformer3DModel "
        "LTX2VideoTransformer3DModel LTXVideoTransformer3DModel LatteTransformer3DModel "
        "MochiTransformer3DModel MotifVideoTransformer3DModel SanaVideoTransformer3DModel "
        "SkyReelsV2Transformer3DModel SparseControlNetModel "
        "UNet3DConditionModel UNetMotionModel WanTransformer3DModel WanVACETransformer3DModel"
    ),
    "image-to-video": (
        "HunyuanVideo15Transformer3DModel HunyuanVideoFramepackTransformer3DModel I2VGenXLUNet "
        "UNetSpatioTemporalConditionModel WanAnimateTransformer3DModel"
    ),
    "image-to-image": "ChronoEditTransformer3DModel JoyImageEditTransformer3DModel",
}
TASK_OF = {name: task for task, names in _CLASSES_OF_TASK.items() for name in names.split()}


def list_diffusers() -> list[str]:
    """Every class whose inputs are known, each followed by its published checkpoints."""
    library_version(SOURCE)
    names: list[str] = []
    for class_name in described_classes():
        if class_name not in marked_classes("only_published"):
            names.append(class_name)
        names += [f"{class_name}@{size}" for size in _sizes().get(class_name, ())]
    return [f"{SOURCE}:{name}" for name in names]


def resolve_diffusers(name: str) -> ArchitectureSpec:
    """The spec behind ``diffusers:<Class>`` or ``diffusers:<Class>@<checkpoint>``.

    Raises:
        UnknownArchitectureError: No such class or checkpoint is known, or not to this version.
    """
    if name not in list_diffusers():
        way_out = f"wanted {SOURCE}:<Class> or {SOURCE}:<Class>@<checkpoint>"
        raise unknown_architecture(name, list_diffusers(), way_out=way_out)
    class_name, _, size = name.removeprefix(f"{SOURCE}:").partition("@")
    published = _sizes()[class_name][size] if size else {}
    model_class = getattr(import_library(SOURCE), class_name, None)
    if model_class is None:
        way_out = f"{library_version(SOURCE)} has no {class_name}"
        raise unknown_architecture(name, (), way_out=way_out)
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version(SOURCE),
        family=family_of(SOURCE, model_class.__module__.rpartition(".")[2]),
        task=TASK_OF.get(class_name, "text-to-image"),
    )
    recipe = Recipe(
        partial(_build, model_class, published.get("config", {})),
        partial(example_inputs, more=published.get("inputs", {})),
    )
    place = on_fake_cpu if class_name in marked_classes("on_cpu") else on_meta
    return ArchitectureSpec(labels, partial(capture_recipe, name, recipe, place=place))


def _build(model_class: Any, config: dict[str, Any]) -> nn.Module:  # noqa: ANN401
    model: nn.Module = model_class(**config)
    return model


@cache
def _sizes() -> dict[str, dict[str, dict[str, Any]]]:
    text = files("nar.zoo.sources").joinpath("diffusers_sizes.yaml").read_text(encoding="utf-8")
    sizes: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(text)
    return sizes
