"""A body that was built for one head serves the next, and gives the graph that a new one gives."""

import pytest

from nar.own import capture_architecture
from nar.zoo.libraries import import_library
from nar.zoo.sources.timm import bodies_built_once, timm_body

HEADS = [
    "smp:unet/tu-resnet18",
    "smp:pan/tu-resnet18",
    "smp:fpn/tu-resnet18",
    "torchvision_detection:fcos/resnet18",
    "torchvision_segmentation:fcn/resnet18",
]


def fingerprints(names, *, forget):
    prints = {}
    timm_body.cache_clear()
    for name in names:
        if forget:
            timm_body.cache_clear()
        item = capture_architecture(name).architecture
        prints[name] = item.exact, item.topology
    return prints


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.slow
def test_a_shared_body_gives_the_same_graphs(order):
    alone = fingerprints(HEADS, forget=True)
    assert fingerprints(HEADS[::order], forget=False) == alone
    assert timm_body.cache_info().hits > 0


def test_the_library_has_its_own_function_back():
    timm = import_library("timm")
    create_model = timm.create_model
    with bodies_built_once():
        assert timm.create_model is timm_body
    assert timm.create_model is create_model
