"""Networks of Torch-RecHub: they read columns by name."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("torch_rechub")
    assert len(names) == len(set(names)) > 20


@pytest.mark.parametrize(
    ("net", "family"),
    [
        ("WideDeep", "wide_and_deep"),  # columns of numbers and of words apart
        ("DeepFFM", "deepffm"),  # an embedding for each other field
        ("EDCN/concatenation", "edcn"),
        ("PLE", "ple"),  # several tasks
    ],
)
def test_every_kind_of_columns_is_captured(net, family):
    architecture = capture_architecture(f"torch_rechub:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == ("click-through-rate", family)


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="torch_rechub:DeepFM"):
        resolve("torch_rechub:DeepFMs")
