"""Networks that label texts: what they read comes in a dictionary."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.graphs.ops import op_name
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("libmultilabel")
    assert len(names) == len(set(names)) == 24


@pytest.mark.parametrize(
    ("net", "family", "operator"),
    [
        ("KimCNN/rcv1", "text_cnn", "conv"),
        ("XMLCNN/rcv1", "xml_cnn", "adaptive_max_pool"),
        ("CNNLWAN/EUR-Lex", "caml", "softmax"),
        ("BiGRULWAN/MIMIC-50", "rnn_lwan", "gru"),
        ("AttentionXML_1/EUR-Lex", "attentionxml", "lstm"),  # candidates, too
    ],
)
def test_every_kind_of_network_is_captured(net, family, operator):
    architecture = capture_architecture(f"libmultilabel:{net}").architecture
    architecture.graph.validate()
    labels = architecture.labels
    assert (labels.task, labels.family) == ("text-classification", family)
    assert operator in {op_name(op) for op in architecture.graph.op_ids.tolist()}


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="libmultilabel:KimCNN/rcv1"):
        resolve("libmultilabel:KimCNN/rcv2")
