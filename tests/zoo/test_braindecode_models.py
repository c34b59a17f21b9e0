"""Networks for recordings of brain and muscles."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_every_name_is_listed_once_and_resolves():
    names = list_specs("braindecode")
    assert len(names) == len(set(names)) >= 50
    assert all(resolve(name).labels.name == name for name in names[::10])


@pytest.mark.parametrize(
    ("model", "family", "parameters"),
    [
        ("ShallowFBCSPNet", "shallowfbcspnet", 46_084),
        ("SPARCNet", "sparcnet", 1_141_921),
    ],
)
def test_a_model_is_captured_whole(model, family, parameters):
    captured = capture_architecture(f"braindecode:{model}")
    assert captured.architecture.labels.family == family
    assert captured.architecture.graph.parameters == parameters
    assert captured.unknown_operators == {}


def test_an_unknown_model_is_refused():
    with pytest.raises(UnknownArchitectureError, match="no such architecture"):
        resolve("braindecode:NoSuchModel")
