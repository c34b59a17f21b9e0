"""The networks of diffusers: each class in its default configuration, and published checkpoints."""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, cast

from torch import nn

from nar.base.errors import CaptureError
from nar.base.model_folders import read_json
from nar.base.suggestions import close_names
from nar.base.workspace import package_yaml
from nar.capture import Capture, CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import on_fake_cpu, on_meta
from nar.zoo.example import Entry as InputEntry
from nar.zoo.example import made
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import CaptureNamed, Entry, Source, by_forward
from nar.zoo.sources.tables import knowing_values

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


# Class -> checkpoint -> its settings and further inputs.
Checkpoints = Mapping[str, Mapping[str, Mapping[str, Any]]]


def described_classes() -> list[str]:
    """Classes whose inputs the table knows, in its order."""
    return list(_table()["classes"])


def _names() -> list[str]:
    """Every class whose inputs are known, each followed by its published checkpoints."""
    library_version("diffusers")
    names: list[str] = []
    for class_name in described_classes():
        if class_name not in _table()["only_published"]:
            names.append(class_name)
        names += [f"{class_name}@{size}" for size in _checkpoints().get(class_name, ())]
    return names


def _entry(model: str) -> Entry | None:
    class_name, _, checkpoint = model.partition("@")
    model_class = getattr(import_library("diffusers"), class_name, None)
    if model not in _names() or model_class is None:
        return None
    published = _checkpoints()[class_name][checkpoint] if checkpoint else {}
    build = partial(model_class, **published.get("config", {}))
    capture = _capture(class_name, build, partial(_inputs, more=published.get("inputs", {})))
    return Entry(_module(model_class), _task(class_name), capture)


def labels_of_config(content: Mapping[str, Any]) -> tuple[str, str]:
    """The family and the task that a ``config.json`` of diffusers states by its class.

    Args:
        content: The configuration, with a ``_class_name``.

    Raises:
        MissingLibraryError: diffusers is not installed.
    """
    class_name = content["_class_name"]
    model_class: type = getattr(import_library("diffusers"), class_name)
    return family_of("diffusers", _module(model_class)), _task(class_name)


def _module(model_class: type) -> str:
    return model_class.__module__.rpartition(".")[2]


def _task(class_name: str) -> str:
    return TASK_OF.get(class_name, "text-to-image")


def capture_diffusers_config(path: Path, *, name: str) -> Capture:
    """The graph of the network that a ``config.json`` of diffusers describes.

    Args:
        path: The file: a ``_class_name`` and its settings.
        name: Name of the model, for errors.

    Raises:
        CaptureError: NAR knows no inputs for the class, or diffusers has none; the nearest names
            and the version that wrote the file are given.
        MissingLibraryError: diffusers is not installed.
    """
    content = read_json(path)
    library = import_library("diffusers")
    class_name = str(content["_class_name"])
    if class_name not in described_classes() or not hasattr(library, class_name):
        near = ", ".join(close_names(class_name, described_classes())) or "none"
        wrote = content.get("_diffusers_version", "unknown")
        reason = (
            f"wanted a network of diffusers {library.__version__} whose inputs are known, came "
            f"{class_name}, of version {wrote}; near: {near}"
        )
        raise CaptureError(name, "-", reason)
    settings = {key: each for key, each in content.items() if not key.startswith("_")}
    build = partial(getattr(library, class_name).from_config, settings)
    return _capture(class_name, build, partial(_inputs, more={}))(name)


def _capture(
    class_name: str,
    build: Callable[[], nn.Module],
    inputs: Callable[[nn.Module], CaptureInputs],
) -> CaptureNamed:
    """How a class is captured, as the table says."""
    follow = on_fake_cpu if class_name in _table()["on_cpu"] else on_meta
    by_shapes = by_forward(build, inputs, follow=follow)
    by_values = partial(knowing_values, capture=by_shapes)
    return by_values if class_name in _table()["by_values"] else by_shapes


def _inputs(model: nn.Module, *, more: Mapping[str, InputEntry]) -> CaptureInputs:
    """Everything that a model's forward wants.

    Args:
        model: A ``ModelMixin`` of a class that the table describes.
        more: Further entries, for what its configuration asks for.
    """
    settings = cast("Mapping[str, Any]", model.config)
    wanted = signature(model.forward).parameters.values()
    required = {parameter.name for parameter in wanted if parameter.default is Parameter.empty}
    usual = {name: entry for name, entry in _table()["defaults"].items() if name in required}
    entries = usual | _table()["classes"][type(model).__name__] | more
    return CaptureInputs(
        kwargs={name: made(entry, settings.get) for name, entry in entries.items()}
    )


def _table() -> dict[str, Any]:
    table: dict[str, Any] = package_yaml("zoo", "sources", "diffusers_inputs.yaml")
    return table


def _checkpoints() -> Checkpoints:
    checkpoints: Checkpoints = package_yaml("zoo", "sources", "diffusers_sizes.yaml")
    return checkpoints


DIFFUSERS = Source(
    name="diffusers",
    library="diffusers",
    licence="Apache-2.0",
    form="<Class>[@<checkpoint>]",
    example="UNet2DModel@ddpm-cifar10-32",
    names=_names,
    entry=_entry,
    capture_version=2,  # a step is no data, be it an integer or a float
)
