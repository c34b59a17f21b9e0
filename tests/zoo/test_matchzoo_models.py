"""The networks of MatchZoo: two texts as words, letters, bags of their triples, histograms."""

import collections
import os
import sys

import pytest

from nar.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("matchzoo")
    assert len(names) == len(set(names)) == 19


@pytest.mark.parametrize(
    ("net", "family"),
    [
        ("ArcI", "arci"),  # says how many words it reads
        ("CDSSM", "cdssm"),  # bags of each word
        ("DIIN", "diin"),  # letters
        ("DRMM", "drmm"),  # a histogram
        ("DSSM", "dssm"),  # a bag
        ("ESIM", "esim"),  # asks what is hidden
        ("DenseBaseline", "mlp"),
    ],
)
def test_every_kind_of_columns_is_captured(net, family):
    architecture = capture_architecture(f"matchzoo:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == ("text-ranking", family)


def test_what_the_library_wants_to_find_is_gone_afterwards():
    home = os.environ.get("HOME")
    resolve("matchzoo:KNRM").capture()
    assert os.environ.get("HOME") == home
    assert "pytorch_transformers" not in sys.modules
    assert not hasattr(collections, "Iterable")


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="matchzoo:KNRM"):
        resolve("matchzoo:KNRMs")
