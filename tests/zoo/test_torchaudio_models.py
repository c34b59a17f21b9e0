"""Models of speech and music, without the C++ part of the library."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_every_name_is_listed_once_and_resolves():
    names = list_specs("torchaudio")
    assert len(names) == len(set(names)) >= 30
    assert all(resolve(name).labels.name == name for name in names[::10])


@pytest.mark.parametrize(
    ("model", "family", "parameters"),
    [
        ("conv_tasnet_base", "conv_tasnet", 4_984_881),
        # transformers has 768 more: what it puts where speech is masked.
        ("wav2vec2_base", "wav2vec2", 94_370_944),
    ],
)
def test_a_model_is_captured_whole(model, family, parameters):
    captured = capture_architecture(f"torchaudio:{model}")
    assert captured.architecture.labels.family == family
    assert captured.architecture.graph.parameters == parameters
    assert captured.unknown_operators == {}


def test_an_unknown_model_is_refused():
    with pytest.raises(UnknownArchitectureError, match="no such architecture"):
        resolve("torchaudio:NoSuchModel")
