"""One call of any transformers model: which inputs its forward takes, and of what shape.

Values matter where control flow reads them: ids stay below every vocabulary, masks hide nothing,
and a prompt holds a placeholder for every feature of its images and sounds.
"""

from collections.abc import Mapping
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from nar.base.workspace import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.example import Entry, made
from nar.zoo.sources.transformers.computed import COMPUTED
from nar.zoo.sources.transformers.configs import Model
from nar.zoo.sources.transformers.prompts import Prompt, prompt_of
from nar.zoo.sources.transformers.settings import quantity

CHOICES = 2


def example_inputs(model: Model) -> CaptureInputs:
    """Everything that the model's forward wants, one example of it, on the default device.

    Args:
        model: A ``PreTrainedModel``.
    """
    takes = signature(model.forward).parameters
    entries = {name: entry for name, entry in _entries(model, takes).items() if name in takes}
    values = {name: made(entry, partial(_known, model)) for name, entry in entries.items()}
    kwargs = {name: value for name, value in values.items() if value is not None}
    if "input_ids" in takes and "input_ids" not in entries:
        for name, value in _tokens(prompt_of(model, kwargs)).items():
            if name in takes:
                kwargs.setdefault(name, value)
    if type(model).__name__.endswith("ForMultipleChoice"):
        kwargs = {name: _for_each_choice(value) for name, value in kwargs.items()}
    return CaptureInputs((), kwargs)


def _entries(model: Model, takes: Mapping[str, object]) -> dict[str, Entry]:
    """From the general to the special; a clip only where no image will do."""
    table = _table()
    entries = dict(table["usual"])
    if "pixel_values" not in takes:
        entries |= table["clips"]
    for marker, layout in table["marked"].items():
        if marker in takes:
            entries |= layout
    own: dict[str, Entry] = table["types"].get(model.config.model_type, {})
    return entries | own


def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = package_yaml(
        "zoo", "sources", "transformers", "tables/inputs.yaml"
    )
    return table


def _known(model: Model, name: str) -> object:
    compute = COMPUTED.get(name)
    return quantity(model.config, name) if compute is None else compute(model)


def _tokens(prompt: Prompt) -> Mapping[str, Tensor]:
    return {
        "input_ids": prompt.ids,
        "attention_mask": torch.ones_like(prompt.ids),
        "mm_token_type_ids": prompt.kinds,
    }


def _for_each_choice(value: object) -> object:
    return torch.stack([value] * CHOICES, dim=1) if isinstance(value, Tensor) else value
