"""Published models of transformers at the sizes they were published in, from a reviewed table.

``transformers:bert/BertForMaskedLM@bert-large-uncased`` is that class in the configuration that
``tables/sizes.yaml`` cites for the checkpoint. Only sizes are read: there are no weights.
``...@attention_bias=true`` is the default configuration with a field of ``tables/flags.yaml``.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import yaml

from nar.base.workspace import package_yaml
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.configs import Config, completion, parts
from nar.zoo.sources.transformers.tasks import task_of_pairs

# Tasks that trained models are rarely used for. Pretraining is none of them: encoders are published
# with its heads.
_UNUSUAL = frozenset(
    (
        "any-to-any",
        "decision",
        "keypoint-matching",
        "next-sentence-prediction",
    )
)
# If a type has a class for such a task, its generator serves that task.
_MAIN_GENERATION = frozenset(
    ("fill-mask", "text2text-generation", "automatic-speech-recognition", "image-text-to-text")
)
_OF_WORDS = frozenset(
    ("automatic-speech-recognition", "fill-mask", "text-generation", "text2text-generation")
)
# Fields that only some heads read.
_OF_HEADS: Mapping[str, frozenset[str]] = {
    "classifier_pooling": frozenset(("text-classification",)),
    "decoder_bias": _OF_WORDS,
    "final_logit_softcapping": _OF_WORDS,
    "summary_type": frozenset(("multiple-choice",)),
    "tie_word_embeddings": _OF_WORDS,
    "use_weighted_layer_sum": frozenset(("audio-classification",)),
}
# Task -> number of classes -> types whose checkpoints are fine-tuned for so many, as model cards
# say: AudioSet; ImageNet-1k, with a class for nothing in MobileNets; ADE20K; COCO without gaps, and
# as DETR numbers it; Kinetics-400.
_TRAINED_LABELS: Mapping[str, Mapping[int, str]] = {
    "audio-classification": {527: "audio-spectrogram-transformer"},
    "image-classification": {
        1_000: (
            "beit convnext convnextv2 cvt data2vec-vision deit dinov2 dinov2_with_registers "
            "efficientnet focalnet hiera levit mobilevit mobilevitv2 poolformer pvt pvt_v2 regnet "
            "resnet segformer swiftformer swin swinv2 vit"
        ),
        1_001: "mobilenet_v1 mobilenet_v2",
    },
    "image-segmentation": {150: "beit segformer upernet"},
    "object-detection": {80: "d_fine rt_detr rt_detr_v2", 91: "deformable_detr detr yolos"},
    "video-classification": {400: "timesformer videomae"},
}
# Copies of a base model that keep other states of the same forward.
_COPIES = ("Backbone", "WithTeacher")


@dataclass(frozen=True, slots=True)
class PublishedSize:
    """A row of the table.

    Attributes:
        checkpoint: Name it is published under, without its owner; or the setting that is swept.
        model_type: Type of its configuration.
        overrides: Fields in which it differs from the type's default configuration.
        cite: Where its numbers stand.
        tasks: The only tasks to take; empty for the usual ones of the type.
        seen_in: The only of these tasks whose heads show what is set; empty for all.
    """

    checkpoint: str
    model_type: str
    overrides: Mapping[str, Any]
    cite: str
    tasks: tuple[str, ...]
    seen_in: frozenset[str] = frozenset()


@cache
def published_sizes() -> dict[str, PublishedSize]:
    """All rows of the table, by checkpoint.

    Raises:
        ValueError: A row has another number of values than its columns, or is there twice.
    """
    sizes: dict[str, PublishedSize] = {}
    for group in package_yaml("zoo", "sources", "transformers", "tables/sizes.yaml"):
        for size in _rows(group):
            if size.checkpoint in sizes:
                raise ValueError(f"{size.checkpoint}: wanted one row, came another")
            sizes[size.checkpoint] = size
    return sizes


@cache
def with_trained_labels() -> dict[str, PublishedSize]:
    """Published sizes with as many classes as their checkpoints name, beside those with two.

    ``vit-base-patch16-224,num_labels=1000``: what people download has the classes of its data set.
    """
    sizes: dict[str, PublishedSize] = {}
    for size, (task, counts) in product(published_sizes().values(), _TRAINED_LABELS.items()):
        count = next((n for n, types in counts.items() if size.model_type in types.split()), None)
        if count is None or task not in task_of_classes(size).values():
            continue
        name = f"{size.checkpoint},num_labels={count}"
        overrides = {**size.overrides, "num_labels": count}
        sizes[name] = replace(
            size, checkpoint=name, overrides=overrides, seen_in=frozenset((task,))
        )
    return sizes


@cache
def swept_settings() -> dict[tuple[str, str], PublishedSize]:
    """Rows of the table of flags, by model type and setting: no checkpoint, its default size.

    Example:
        >>> swept_settings()["phi", "qk_layernorm=true"].overrides
        {'qk_layernorm': True}
    """
    table = package_yaml("zoo", "sources", "transformers", "tables/flags.yaml")
    return {
        (model_type, setting): _swept(model_type, setting, row)
        for model_type, settings in table.items()
        for setting, row in settings.items()
    }


def _swept(model_type: str, setting: str, row: str | Mapping[str, Any]) -> PublishedSize:
    fields = _fields(setting, row)
    heads = [_OF_HEADS.get(name) for name in fields]
    seen_in = frozenset[str]().union(*filter(None, heads)) if all(heads) else frozenset[str]()
    why = row if isinstance(row, str) else str(row["why"])
    overrides = {**completion(model_type), **fields}
    return PublishedSize(setting, model_type, overrides, why, (), seen_in)


def _fields(setting: str, row: str | Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a setting names: ``norm_bias=true,mlp_bias=true``."""
    if not isinstance(row, str):
        return dict(row["set"])
    pairs = (field.partition("=") for field in setting.split(","))
    return {name: yaml.safe_load(value) for name, _, value in pairs}


def _rows(group: Mapping[str, Any]) -> Iterator[PublishedSize]:
    columns = group.get("columns", [])
    for checkpoint, values in group["rows"].items():
        if len(values) != len(columns):
            raise ValueError(f"{checkpoint}: wanted {len(columns)} values, came {len(values)}")
        overrides = dict(group.get("shared", {}))
        for column, value in zip(columns, values, strict=True):
            fields = [column] if isinstance(column, str) else column
            overrides |= dict.fromkeys(fields, value)
        tasks = tuple(group.get("tasks", ()))
        yield PublishedSize(checkpoint, group["type"], overrides, group["cite"], tasks)


def task_of_classes(size: PublishedSize) -> dict[str, str]:
    """Task of every class that a published model is taken in, sorted by class."""
    tasks = {
        class_name: task
        for (model_type, class_name), task in task_of_pairs().items()
        if model_type == size.model_type and not class_name.endswith(_COPIES)
    }
    wanted = size.tasks or _usual(frozenset(tasks.values()))
    if size.seen_in:
        wanted = size.seen_in.intersection(wanted)
    return {class_name: task for class_name, task in tasks.items() if task in wanted}


def _usual(tasks: frozenset[str]) -> frozenset[str]:
    usual = tasks - _UNUSUAL
    return usual - {"text-generation"} if usual & _MAIN_GENERATION else usual


def published_config(size: PublishedSize) -> Config:
    """The configuration of a row, without a cache of past tokens."""
    config_class = import_library("transformers").CONFIG_MAPPING[size.model_type]
    overrides = deepcopy(dict(size.overrides))
    kind = overrides.get("layer_types")
    if isinstance(kind, str):  # the same for every layer
        overrides["layer_types"] = [kind] * config_class().num_hidden_layers
    return as_published(config_class(**overrides))


def as_published(config: Config) -> Config:
    """A configuration as its checkpoint's JSON gives it, without a cache of past tokens.

    JSON has lists where some defaults are tuples, and some models add lists to them.

    Args:
        config: Changed in place, and so are the configurations inside it.
    """
    for part in parts(config):
        if hasattr(part, "use_cache"):
            part.use_cache = False
        for name, value in list(vars(part).items()):
            if isinstance(value, tuple) and not name.startswith("_"):
                setattr(part, name, list(value))
    return config
