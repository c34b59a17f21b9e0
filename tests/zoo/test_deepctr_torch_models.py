"""Networks of DeepCTR-Torch: columns of numbers, of words, and of what somebody did before."""

import sys

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs


def test_the_table_names_every_network_once():
    names = list_specs("deepctr_torch")
    assert len(names) == len(set(names)) > 35


@pytest.mark.slow
@pytest.mark.parametrize(
    ("net", "family"),
    [
        ("DeepFM", "deepfm"),
        ("AFM", "afm"),  # words only
        ("DIN", "din"),  # a history
        ("PLE", "ple"),  # several tasks
        ("DCN/v2", "dcn"),
    ],
)
def test_every_kind_of_columns_is_captured(net, family):
    architecture = capture_architecture(f"deepctr_torch:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == ("click-through-rate", family)


def test_nobody_asks_for_a_newer_version():
    resolve("deepctr_torch:DeepFM").capture()
    assert not hasattr(sys.modules["deepctr_torch"], "check_version")


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="deepctr_torch:DeepFM"):
        resolve("deepctr_torch:DeepFMs")
