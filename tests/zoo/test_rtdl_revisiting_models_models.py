"""Networks that read tables: numbers, and numbers beside categories."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("rtdl_revisiting_models")
    assert len(names) == len(set(names)) > 35


@pytest.mark.parametrize(
    ("net", "task", "family"),
    [
        ("MLP/california", "tabular-prediction", "mlp"),
        ("ResNet/california", "tabular-prediction", "tabular_resnet"),
        ("FTTransformer/adult_categories", "tabular-prediction", "ft_transformer"),
    ],
)
def test_every_kind_of_network_is_captured(net, task, family):
    architecture = capture_architecture(f"rtdl_revisiting_models:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert architecture.labels.tier == "named"


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="rtdl_revisiting_models:MLP/adult"):
        resolve("rtdl_revisiting_models:MLP/adults")
