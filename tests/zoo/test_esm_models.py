"""Language models of proteins: they ask whether any of their words is padding."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("esm")
    assert len(names) == len(set(names)) == 10


@pytest.mark.parametrize(
    ("net", "family", "millions"),
    [
        ("ESM2/t6_8M", "esm", 7.5),
        ("ProteinBertModel/esm1_t6_43M", "esm", 42.6),
        ("ProteinBertModel/esm1b_t33_650M", "esm", 652.4),
        ("MSATransformer/t12_100M", "msa_transformer", 115.6),
    ],
)
def test_networks_have_the_size_that_they_are_named_by(net, family, millions):
    architecture = capture_architecture(f"esm:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == ("fill-mask", family)
    assert architecture.graph.parameters / 1e6 == pytest.approx(millions, abs=0.1)


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="esm:ESM2/t6_8M"):
        resolve("esm:ESM2/t6_9M")
