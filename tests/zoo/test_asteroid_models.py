"""Networks of Asteroid, from their table."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("asteroid")
    assert len(names) == len(set(names)) > 20


@pytest.mark.parametrize(
    ("net", "task", "family"),
    [
        ("ConvTasNet/wham", "speech-separation", "conv_tasnet"),  # reads sizes from a tensor
        ("SuDORMRFNet/default", "speech-separation", "sudo_rm_rf"),
    ],
)
def test_every_kind_of_network_is_captured(net, task, family):
    architecture = capture_architecture(f"asteroid:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert architecture.labels.tier == "named"


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="asteroid:LSTMTasNet/whamr"):
        resolve("asteroid:LSTMTasNet/whamm")
