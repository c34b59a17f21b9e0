"""Models of pytorchcv: one name a design, and one model of every kind of input."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs


def test_more_than_six_hundred_designs_are_listed_once():
    names = list_specs("pytorchcv")
    assert len(names) == len(set(names)) > 600


@pytest.mark.parametrize(
    ("kept", "left_out"),
    [
        ("resnet20_cifar10", "resnet20_svhn"),  # small images: the first data set
        ("resnet18", "resnet18_cub"),  # large images: the one without a data set
        ("pspnet_resnetd50b_voc", "pspnet_resnetd50b_cityscapes"),
        ("quartznet15x5_en", "quartznet15x5_ru34"),  # another alphabet
    ],
)
def test_data_sets_that_only_change_the_classes_are_left_out(kept, left_out):
    names = list_specs("pytorchcv")
    assert f"pytorchcv:{kept}" in names
    assert f"pytorchcv:{left_out}" not in names
    with pytest.raises(UnknownArchitectureError):
        resolve(f"pytorchcv:{left_out}")


@pytest.mark.parametrize(
    ("model", "task", "parameters"),
    [
        ("resnet18", "image-classification", 11_689_512),
        ("nin_cifar10", "image-classification", 966_986),
        ("lednet_cityscapes", "image-segmentation", None),
        ("simplepose_mobile_resnet18_coco", "keypoint-detection", None),
        ("lffd20x5s320v2_widerface", "object-detection", 1_520_606),
        ("quartznet5x5_en_ls", "automatic-speech-recognition", 6_713_181),
        ("raft_small", "optical-flow", 990_162),
        ("pfpcnet", "face-reconstruction", 9_299_329),
        ("voca8flame", "speech-driven-animation", 809_563),
    ],
)
def test_every_kind_of_model_gets_the_input_it_wants(model, task, parameters):
    architecture = capture_architecture(f"pytorchcv:{model}").architecture
    architecture.graph.validate()
    assert architecture.labels.task == task
    if parameters is not None:
        assert architecture.graph.parameters == parameters
