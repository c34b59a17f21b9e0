"""The parsers of SuPar: what they read beside words comes in a list."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("supar")
    assert len(names) == len(set(names)) == 7


@pytest.mark.parametrize(
    ("net", "task"),
    [
        ("BiaffineDependencyModel/tag", "dependency-parsing"),
        ("CRFConstituencyModel", "constituency-parsing"),
        ("BiaffineSemanticDependencyModel", "dependency-parsing"),  # three lists of features
    ],
)
def test_every_kind_of_features_is_captured(net, task):
    architecture = capture_architecture(f"supar:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, "biaffine_parser")


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="supar:BiaffineDependencyModel"):
        resolve("supar:BiaffineDependencyModels")
