"""Networks of neuraloperator, from their table."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("neuralop")
    assert len(names) == len(set(names)) > 15


@pytest.mark.parametrize(
    ("net", "task", "family"),
    [
        ("FNO/small2d", "operator-learning", "fno"),  # complex weights
        ("UNO/test", "operator-learning", "uno"),
        ("CODANO/test", "operator-learning", "codano"),
    ],
)
def test_every_kind_of_network_is_captured(net, task, family):
    architecture = capture_architecture(f"neuralop:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert architecture.labels.tier == "named"


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="neuralop:FNO/small2d"):
        resolve("neuralop:FNO/small2e")
