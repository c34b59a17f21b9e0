"""The models of transformers: every class of its auto tables, and its published sizes.

``transformers:bert/BertForMaskedLM`` is a class in its type's default configuration,
``transformers:bert/BertForMaskedLM@bert-large-uncased`` in that of a published checkpoint, and
``transformers:bert/BertForMaskedLM@hidden_act=relu`` with one setting that people change.
"""

from collections.abc import Callable
from functools import partial

from nar.zoo.source import Entry, Source
from nar.zoo.sources.transformers.capture import capture_config
from nar.zoo.sources.transformers.configs import Config, default_config
from nar.zoo.sources.transformers.sizes import (
    published_config,
    published_sizes,
    swept_settings,
    task_of_classes,
    with_trained_labels,
)
from nar.zoo.sources.transformers.tasks import task_of_pairs

MARK = "@"


def _names() -> list[str]:
    """Every class, then every published size and swept setting in the usual classes of its type.

    Raises:
        MissingLibraryError: transformers is not installed.
    """
    names = ["/".join(pair) for pair in task_of_pairs()]
    labelled = with_trained_labels().values()
    for size in (*published_sizes().values(), *labelled, *swept_settings().values()):
        names += [
            f"{size.model_type}/{class_name}{MARK}{size.checkpoint}"
            for class_name in task_of_classes(size)
        ]
    return names


def _entry(model: str) -> Entry | None:
    pair, mark, checkpoint = model.partition(MARK)
    model_type, _, class_name = pair.partition("/")
    task = task_of_pairs().get((model_type, class_name))
    config_of: Callable[[], Config] = partial(default_config, model_type)
    if mark:
        swept = swept_settings().get((model_type, checkpoint))
        size = swept or (published_sizes() | with_trained_labels()).get(checkpoint)
        if size is None or size.model_type != model_type:
            return None
        task, config_of = task_of_classes(size).get(class_name), partial(published_config, size)
    if task is None:
        return None
    capture = partial(capture_config, class_name=class_name, config_of=config_of)
    is_swept = bool(mark) and (model_type, checkpoint) in swept_settings()
    return Entry(model_type, task, capture, tier="swept" if is_swept else "named")


TRANSFORMERS = Source(
    name="transformers",
    library="transformers",
    licence="Apache-2.0",
    form=f"<type>/<class>[{MARK}<checkpoint> or {MARK}<setting>]",
    example="bert/BertForMaskedLM",
    names=_names,
    entry=_entry,
    parts=("timm",),  # whose models some types wrap
)
