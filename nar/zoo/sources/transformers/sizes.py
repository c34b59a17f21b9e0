"""Published models of transformers at the sizes they were published in, from a reviewed table.

``transformers:bert/BertForMaskedLM@bert-large-uncased`` is that class in the configuration that
``tables/sizes.yaml`` cites for the checkpoint. Only sizes are read: there are no weights.
``...@attention_bias=true`` is the default configuration with a field of ``tables/flags.yaml``.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from nar.base.workspace import package_yaml
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.configs import Config, parts
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
    """

    checkpoint: str
    model_type: str
    overrides: Mapping[str, Any]
    cite: str
    tasks: tuple[str, ...]


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
def swept_settings() -> dict[tuple[str, str], PublishedSize]:
    """Rows of the table of flags, by model type and setting: no checkpoint, its default size.

    Example:
        >>> swept_settings()["phi", "qk_layernorm=true"].overrides
        {'qk_layernorm': True}
    """
    table = package_yaml("zoo", "sources", "transformers", "tables/flags.yaml")
    return {
        (model_type, setting): PublishedSize(
            setting, model_type, _fields(setting, row), _why(row), ()
        )
        for model_type, settings in table.items()
        for setting, row in settings.items()
    }


def _fields(setting: str, row: str | Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a setting names: ``norm_bias=true,mlp_bias=true``."""
    if not isinstance(row, str):
        return dict(row["set"])
    pairs = (field.partition("=") for field in setting.split(","))
    return {name: yaml.safe_load(value) for name, _, value in pairs}


def _why(row: str | Mapping[str, Any]) -> str:
    return row if isinstance(row, str) else str(row["why"])


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
