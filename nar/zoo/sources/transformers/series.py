"""Time series, and the steps of an agent, in the layout that a model takes them in."""

import torch
from torch import Tensor

from nar.zoo.sources.transformers.configs import Config, Model
from nar.zoo.sources.transformers.makers import Maker, counts, ones, steps

STEPS = 20


def _past_length(config: Config) -> int:
    """The context, and what its furthest lag looks back to."""
    return int(config.context_length + max(config.lags_sequence))


def _past(model: Model) -> Tensor:
    return torch.ones(1, _past_length(model.config))


def _past_times(model: Model) -> Tensor:
    return torch.ones(1, _past_length(model.config), model.config.num_time_features)


def _is_forecaster(model: Model) -> bool:
    """The class with a head takes a list of series, the bare one a batch."""
    return type(model).__name__.endswith("ForPrediction")


def _context(model: Model) -> Tensor | list[Tensor]:
    series = torch.ones(model.config.context_length)
    return [series] if _is_forecaster(model) else series[None]


def _frequency(model: Model) -> Tensor | list[int]:
    return [0] if _is_forecaster(model) else torch.zeros(1, 1, dtype=torch.long)


_FORECAST: dict[str, Maker] = {
    "past_values": _past,
    "past_time_features": _past_times,
    "past_observed_mask": _past,
    "future_values": ones(1, "prediction_length"),
    "future_time_features": ones(1, "prediction_length", "num_time_features"),
}
_PATCHED: dict[str, Maker] = {"past_values": ones(1, "context_length", "num_input_channels")}
_DECODED: dict[str, Maker] = {
    "past_values": _context,
    "past_values_padding": counts(1, "context_length", value=0),
    "freq": _frequency,
}

SERIES: dict[str, dict[str, Maker]] = {
    "autoformer": _FORECAST,
    "decision_transformer": {
        "states": ones(1, STEPS, "state_dim"),
        "actions": ones(1, STEPS, "act_dim"),
        "rewards": ones(1, STEPS, 1),
        "returns_to_go": ones(1, STEPS, 1),
        "timesteps": steps(STEPS),
        "attention_mask": counts(1, STEPS),
    },
    "informer": _FORECAST,
    "patchtsmixer": _PATCHED,
    "patchtst": _PATCHED,
    "time_series_transformer": _FORECAST,
    "timesfm": _DECODED,
    "timesfm2_5": _DECODED,
}
