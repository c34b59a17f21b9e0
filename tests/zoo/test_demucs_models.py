"""Networks of Demucs, from their table."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("demucs")
    assert len(names) == len(set(names)) > 10


@pytest.mark.parametrize(
    ("net", "task", "family"),
    [
        ("Demucs/v3", "music-source-separation", "demucs"),
        ("HTDemucs/htdemucs", "music-source-separation", "demucs"),
    ],
)
def test_every_kind_of_network_is_captured(net, task, family):
    architecture = capture_architecture(f"demucs:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert architecture.labels.tier == "named"


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="demucs:Demucs/v3"):
        resolve("demucs:Demucs/v33")
