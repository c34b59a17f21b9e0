"""Which classes transformers offers for which model type, and for what: its auto-class tables.

The tables are lists of names: reading them imports no model. A table of ours has what they lack.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from nar.base.workspace import package_yaml
from nar.graphs.architecture import UNKNOWN
from nar.labels.families import family_of
from nar.zoo.libraries import import_library

_TABLES = "transformers.models.auto.modeling_auto"

# A class may stand in several tables: the most telling one names its task.
_SPECIFIC_FIRST = (
    "FOR_SPEECH_SEQ_2_SEQ",
    "FOR_DOCUMENT_QUESTION_ANSWERING",
    "FOR_VISUAL_QUESTION_ANSWERING",
    "FOR_IMAGE_TEXT_TO_TEXT",
    "FOR_TEXT_TO_WAVEFORM",
    "FOR_MULTIMODAL_LM",
    "FOR_SEQ_TO_SEQ_CAUSAL_LM",
)
_GENERAL_LAST = ("FOR_PRETRAINING", "FOR_TEXT_ENCODING", "FOR_BACKBONE", "FOR_IMAGE", "")

# The names under which people look for a task, where a table is called otherwise.
_TASK_OF = {
    "": "feature-extraction",
    "FOR_BACKBONE": "feature-extraction",
    "FOR_IMAGE": "feature-extraction",
    "FOR_TEXT_ENCODING": "feature-extraction",
    "FOR_AUDIO_XVECTOR": "speaker-verification",
    "FOR_CAUSAL_LM": "text-generation",
    "FOR_CTC": "automatic-speech-recognition",
    "FOR_INSTANCE_SEGMENTATION": "image-segmentation",
    "FOR_MASKED_LM": "fill-mask",
    "FOR_MULTIMODAL_LM": "any-to-any",
    "FOR_RNNT": "automatic-speech-recognition",
    "FOR_SEMANTIC_SEGMENTATION": "image-segmentation",
    "FOR_SEQUENCE_CLASSIFICATION": "text-classification",
    "FOR_SEQ_TO_SEQ_CAUSAL_LM": "text2text-generation",
    "FOR_SPEECH_SEQ_2_SEQ": "automatic-speech-recognition",
    "FOR_TDT": "automatic-speech-recognition",
    "FOR_UNIVERSAL_SEGMENTATION": "image-segmentation",
}

Pair = tuple[str, str]
# Names of tasks are short words; anything else that stands in their place is none.
_TASK = re.compile(r"[a-z0-9]+(-[a-z0-9]+){0,7}")
# How a class that no table has says what it is for: BertForMaskedLM, GPT2LMHeadModel.
_NAMED_FOR = re.compile(r"For[A-Z]\w*")
_TEXT_GENERATION = "LMHeadModel"


@cache
def task_of_pairs() -> dict[Pair, str]:
    """Task of every (model type, class name), sorted by pair.

    Beside the auto tables, `tables/classes.yaml` says of more classes what they are for.
    """
    tables, stems = import_library(_TABLES), _stems()
    tasks: dict[Pair, str] = {}
    for stem in sorted(stems, key=_rank):
        for model_type, classes in getattr(tables, stems[stem]).items():
            for class_name in (classes,) if isinstance(classes, str) else classes:
                tasks.setdefault((model_type, class_name), _task(stem))
    further = package_yaml("zoo", "sources", "transformers", "tables/classes.yaml")
    for task, classes_of in further.items():
        for model_type, named in classes_of.items():
            tasks |= {(model_type, class_name): task for class_name in named.split()}
    return dict(sorted(tasks.items()))


@cache
def _stems() -> dict[str, str]:
    """What the auto tables are for, as their names say it, and their names."""
    return {
        name.removeprefix("MODEL").removesuffix("_MAPPING_NAMES").lstrip("_"): name
        for name in vars(import_library(_TABLES))
        if name.startswith("MODEL_") and name.endswith("_MAPPING_NAMES")
    }


def labels_of_config(content: Mapping[str, Any]) -> tuple[str, str]:
    """The family and the task that a ``config.json`` states, each unknown where it does not.

    A task is stated by its name in the pipelines of the hub, or by the class of the model.

    Args:
        content: The configuration, with a ``model_type``.

    Raises:
        MissingLibraryError: transformers is not installed.
    """
    return family_of("transformers", content["model_type"]), next(_stated_tasks(content), UNKNOWN)


def _stated_tasks(content: Mapping[str, Any]) -> Iterator[str]:
    """The tasks that a configuration states, the most telling one first."""
    named = (content.get("pipeline_tag"), *(content.get("custom_pipelines") or ()))
    yield from (name for name in named if isinstance(name, str) and _TASK.fullmatch(name))
    known = task_of_pairs()
    for class_name in content.get("architectures") or ():
        if (task := known.get((content["model_type"], class_name))) is not None:
            yield task
        # A type of somebody's own may take the class of another type, or call its own alike.
        yield from (task for (_, each), task in known.items() if each == class_name)
        yield from _tasks_of_name(class_name)


def _tasks_of_name(class_name: str) -> Iterator[str]:
    named = _NAMED_FOR.search(class_name)
    stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", named.group()).upper() if named else ""
    if stem in _stems() and named:
        yield _task(stem)
    if class_name.endswith(_TEXT_GENERATION):
        yield _TASK_OF["FOR_CAUSAL_LM"]


def _rank(stem: str) -> tuple[int, str]:
    if stem in _SPECIFIC_FIRST:
        return _SPECIFIC_FIRST.index(stem), stem
    last = _GENERAL_LAST.index(stem) + 1 if stem in _GENERAL_LAST else 0
    return len(_SPECIFIC_FIRST) + last, stem


def _task(stem: str) -> str:
    return _TASK_OF.get(stem, stem.removeprefix("FOR_").lower().replace("_", "-"))
