"""Networks of speechbrain: recipes for speech and speakers."""

import sys

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs


def test_every_name_is_listed_once_and_resolves():
    names = list_specs("speechbrain")
    assert len(names) == len(set(names)) >= 35
    assert all(resolve(name).labels.name == name for name in names)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "family", "parameters"),
    [
        # Five convolutions of 40 x 512, 512 x 512 and 512 x 1500 with their norms, 3000 x 512.
        ("Xvector", "x_vector", 4_252_564),
        # 40 -> 512 -> 512, with biases.
        ("VanillaNN", "mlp", 41 * 512 + 513 * 512),
    ],
)
def test_a_network_is_captured_whole(model, family, parameters):
    captured = capture_architecture(f"speechbrain:{model}")
    assert captured.architecture.labels.family == family
    assert captured.architecture.graph.parameters == parameters
    assert captured.unknown_operators == {}


@pytest.mark.slow
def test_a_network_that_reads_values_is_run_for_real():
    captured = capture_architecture("speechbrain:CRDNN@vad").architecture
    assert captured.labels.task == "voice-activity-detection"


def test_an_unknown_network_is_refused():
    with pytest.raises(UnknownArchitectureError, match="no such architecture"):
        resolve("speechbrain:NoSuchModel")


def test_no_module_is_left_that_fails_when_it_is_looked_at():
    list_specs("speechbrain")
    for module in list(sys.modules.values()):
        getattr(module, "__file__", None)
