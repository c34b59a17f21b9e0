"""Forecasters: one window of a series, or of several."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs


@pytest.mark.slow
def test_every_name_is_listed_once_and_resolves():
    names = list_specs("neuralforecast")
    assert len(names) == len(set(names)) >= 400
    assert all(resolve(name).labels.name == name for name in names[::10])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "family", "parameters"),
    [
        # 24 -> 12 steps of one of two series: read off by one linear layer.
        ("NLinear/docs-12", "nlinear", 300),
        # Two layers of 4 gates of 128 units, two biases each; a decoder of 128 and of 1.
        ("LSTM/docs-12", "lstm", 67_072 + 132_096 + 16_512 + 129),
        # 2 x 24 steps, twice 1024 units, 2 x 12 steps.
        ("MLPMultivariate/docs-12", "mlp", 50_176 + 1_049_600 + 24_600),
    ],
)
def test_a_model_is_captured_whole(model, family, parameters):
    captured = capture_architecture(f"neuralforecast:{model}")
    assert captured.architecture.labels.family == family
    assert captured.architecture.graph.parameters == parameters
    assert captured.unknown_operators == {}


def test_horizons_that_no_paper_of_the_model_states_are_swept():
    assert resolve("neuralforecast:NBEATS/m4-monthly").labels.tier == "named"
    assert resolve("neuralforecast:GRU/m4-monthly").labels.tier == "swept"


def test_an_unknown_model_is_refused():
    with pytest.raises(UnknownArchitectureError, match="no such architecture"):
        resolve("neuralforecast:NoSuchModel")
