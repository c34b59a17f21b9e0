"""Networks of PyPOTS: their trainers make them, for series with gaps."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("pypots")
    assert len(names) == len(set(names)) > 200


@pytest.mark.parametrize(
    ("net", "task", "family"),
    [
        ("SAITS/imputation/ett_h1", "time-series-imputation", "saits"),
        ("BRITS/imputation/italyair", "time-series-imputation", "brits"),  # read both ways
        ("GRUD/classification", "time-series-classification", "grud"),
        ("PatchTST/anomaly_detection", "anomaly-detection", "patchtst"),
        ("VaDER/clustering", "time-series-clustering", "vader"),
        ("SegRNN/forecasting", "time-series-forecasting", "segrnn"),
    ],
)
def test_every_kind_of_network_is_captured(net, task, family, capfd):
    architecture = capture_architecture(f"pypots:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert capfd.readouterr().out == ""  # the library greets whoever imports it


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="pypots:SAITS"):
        resolve("pypots:SAITS/imputation/ett_h2")
