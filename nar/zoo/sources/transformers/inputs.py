"""One call of any transformers model: which inputs its forward takes, and of what shape.

Values matter where control flow reads them: ids stay below every vocabulary, masks hide nothing,
and a prompt holds a placeholder for every feature of its images and sounds.

Inputs that no shape describes have a function each in `COMPUTED`, under their names in the table of
inputs.
"""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from nar.base.workspace import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.example import Entry, made
from nar.zoo.sources.transformers import settings
from nar.zoo.sources.transformers.configs import Model
from nar.zoo.sources.transformers.prompts import Prompt, prompt_of, text_ids

# Chosen: steps of features, codes and states, which are neither a text nor a waveform.
STEPS = 20


def _same_tokens(model: Model) -> Tensor:
    """(1, tokens): the tokens of the prompt."""
    return text_ids(model.config)[None]


def _words_of_two_classes(model: Model) -> Tensor:
    """(2, tokens)."""
    return text_ids(model.config).repeat(2, 1)


def _instruction(model: Model) -> Tensor:
    """(1, tokens): a token for each patch of what a robot sees, then its instruction."""
    patches, token = (
        settings.quantity(model.config, name) for name in ("image_patches", "image_token_id")
    )
    return torch.cat([torch.full((1, patches), token), _same_tokens(model)], dim=1)


def _perceived(model: Model) -> Tensor | None:
    """Tokens where a text preprocessor reads them, features where none does."""
    if type(model).__name__ == "PerceiverModel":
        return torch.ones(1, STEPS, model.config.d_model)
    is_of_text = type(model).__name__.endswith(("MaskedLM", "SequenceClassification"))
    return _same_tokens(model) if is_of_text else None


def _looking_everywhere(model: Model) -> Tensor | None:
    """The first token, where a class would look for separators instead."""
    name = type(model).__name__
    if not name.endswith(("QuestionAnswering", "MultipleChoice")):
        return None
    return (torch.arange(settings.TOKENS) == 0).long()[None]


def _half_masked_tubes(model: Model) -> Tensor:
    """(1, tubes): every other tube of a clip is masked."""
    config = model.config
    rows, columns = settings.image_size(config)
    tubes_at_once = (rows // config.patch_size) * (columns // config.patch_size)
    tubes = config.num_frames // config.tubelet_size * tubes_at_once
    return (torch.arange(tubes) % 2 == 0)[None]


def _patch_positions(_model: Model) -> Tensor:
    """(1, patches, 2): column and row of each patch."""
    steps = torch.arange(settings.GRID)
    return torch.stack(torch.meshgrid(steps, steps, indexing="xy"), dim=-1).reshape(1, -1, 2)


def _is_query(model: Model) -> Tensor:
    """(1, queries and tokens): which positions are queries, the others being tokens."""
    queries = int(model.config.latent_query_num)
    return (torch.arange(queries + settings.TOKENS) < queries).long()[None]


def _mel_without_text(model: Model) -> Tensor | None:
    """(1, frames, bins), or None where the model takes text: a mask cannot cover both."""
    if "input_ids" in signature(model.forward).parameters:
        return None
    return torch.ones(1, settings.MEL_FRAMES, settings.quantity(model.config, "mel_bins"))


def _heard(model: Model) -> Tensor:
    """(1, samples), or (1, steps, width) for the model without the network that reads samples."""
    if _is_bare_speech(model):
        return torch.ones(1, STEPS, model.config.hidden_size)
    return torch.ones(1, settings.SAMPLES)


def _spoken(model: Model) -> Tensor:
    config = model.config
    width = config.hidden_size if _is_bare_speech(model) else config.num_mel_bins
    return torch.ones(1, STEPS, width)


def _is_bare_speech(model: Model) -> bool:
    return type(model).__name__ == "SpeechT5Model"


def _series_context(model: Model) -> Tensor | list[Tensor]:
    series = torch.ones(model.config.context_length)
    return [series] if _is_forecaster(model) else series[None]


def _series_frequency(model: Model) -> Tensor | list[int]:
    return [0] if _is_forecaster(model) else torch.zeros(1, 1, dtype=torch.long)


def _is_forecaster(model: Model) -> bool:
    """The class with a head takes a list of series, the bare one a batch."""
    return type(model).__name__.endswith("ForPrediction")


COMPUTED: Mapping[str, Callable[[Model], object]] = {
    "half_masked_tubes": _half_masked_tubes,
    "heard": _heard,
    "instruction": _instruction,
    "is_query": _is_query,
    "looking_everywhere": _looking_everywhere,
    "mel_without_text": _mel_without_text,
    "patch_positions": _patch_positions,
    "perceived": _perceived,
    "same_tokens": _same_tokens,
    "series_context": _series_context,
    "series_frequency": _series_frequency,
    "spoken": _spoken,
    "words_of_two_classes": _words_of_two_classes,
}


CHOICES = 2  # of a multiple-choice model: the fewest to choose from


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
    """Entries of a model, the special replacing the general; a clip only if it takes no image."""
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
    return settings.quantity(model.config, name) if compute is None else compute(model)


def _tokens(prompt: Prompt) -> Mapping[str, Tensor]:
    return {
        "input_ids": prompt.ids,
        "attention_mask": torch.ones_like(prompt.ids),
        "mm_token_type_ids": prompt.kinds,
    }


def _for_each_choice(value: object) -> object:
    return torch.stack([value] * CHOICES, dim=1) if isinstance(value, Tensor) else value
