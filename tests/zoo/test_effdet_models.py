"""Models of effdet: backbone, BiFPN and heads at the size of the configuration."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo.sources.effdet import EFFDET


def test_a_detector_is_captured_with_both_heads():
    """The published D0 has 3,880,067 parameters, and biases that its batch norms make redundant."""
    spec = EFFDET.resolve("effdet:tf_efficientdet_d0")
    capture = spec.capture()
    assert (spec.labels.family, spec.labels.task) == ("efficientdet", "object-detection")
    assert capture.graph.parameters == 3_880_067
    assert capture.unknown_operators == {}


def test_all_configurations_are_listed():
    assert len(EFFDET.specs()) >= 47


def test_an_unknown_name_gets_its_neighbours():
    with pytest.raises(UnknownArchitectureError, match="efficientdet_d5"):
        EFFDET.resolve("effdet:efficientdet_d9")
