"""Models of torchsr: a network and the scale it enlarges by."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo.sources.torchsr import TORCHSR


def test_a_network_is_captured_at_its_scale():
    """EDSR baseline at x2: 1.37 M parameters, two mean shifts of 12 among them."""
    spec = TORCHSR.resolve("torchsr:edsr_r16f64/x2")
    capture = spec.capture()
    assert (spec.labels.family, spec.labels.task) == ("edsr", "image-to-image")
    assert capture.graph.parameters == 1_369_883
    assert capture.unknown_operators == {}


def test_scales_are_different_networks():
    graphs = [TORCHSR.resolve(f"torchsr:ninasr_b0/x{scale}").capture().graph for scale in (2, 3)]
    assert graphs[0].parameters != graphs[1].parameters


def test_every_network_is_listed_once():
    names = TORCHSR.specs()
    assert len(names) == len(set(names)) == 35


@pytest.mark.parametrize("name", ["torchsr:edsr_r16f64", "torchsr:edsr_r16f64/x8"])
def test_a_scale_that_is_not_published_is_refused(name):
    with pytest.raises(UnknownArchitectureError, match="edsr_r16f64/x"):
        TORCHSR.resolve(name)
