"""What tells configurations of OpenMMLab apart, and the size that their pipelines test at."""

import pytest

from nar.zoo.sources.openmmlab.configs import digest, plain_type
from nar.zoo.sources.openmmlab.images import cut_size, fitted_size

MODEL = {
    "type": "EncoderDecoder",
    "backbone": {"type": "ResNet", "depth": 50, "frozen_stages": 1, "init_cfg": {"type": "x"}},
    "decode_head": [{"type": "FCNHead", "num_classes": 19, "loss_decode": {"type": "Dice"}}],
    "train_cfg": {},
}


def test_training_and_weights_make_no_other_network():
    plain = {
        "decode_head": [{"type": "FCNHead", "num_classes": 19, "dropout_ratio": 0.1}],
        "backbone": {"depth": 50, "type": "ResNet"},
        "type": "EncoderDecoder",
    }
    assert digest(MODEL) == digest(plain)


def test_depth_classes_and_the_order_of_parts_do():
    deeper = {**MODEL, "backbone": {"type": "ResNet", "depth": 101}}
    finer = {**MODEL, "decode_head": [{"type": "FCNHead", "num_classes": 150}]}
    head = MODEL["decode_head"][0]
    cascade = [{**MODEL, "decode_head": heads} for heads in ([head, {}], [{}, head])]
    assert len(set(map(digest, [MODEL, deeper, finer, *cascade]))) == 5


def test_a_type_is_named_without_its_library():
    assert plain_type({"type": "mmpretrain.ConvNeXt"}) == "ConvNeXt"
    assert plain_type({"type": "ResNet"}) == "ResNet"


@pytest.mark.parametrize(
    ("steps", "size"),
    [
        ([], (224, 224)),
        (
            [{"type": "ResizeEdge", "scale": 256}, {"type": "CenterCrop", "crop_size": 192}],
            (192,) * 2,
        ),
        ([{"type": "Resize", "scale": (32, 48)}], (32, 48)),
        ([{"type": "mmpretrain.Resize", "scale": 384}], (384, 384)),
    ],
)
def test_a_classifier_gets_what_is_cut_out(steps, size):
    assert cut_size({"test_pipeline": steps}, 224) == size


@pytest.mark.parametrize(
    ("steps", "size"),
    [
        ([], (800, 1088)),
        # 4:3 with a short side of 800 pixels is 1067 wide, and 1088 as a multiple of 32.
        ([{"type": "Resize", "scale": (1333, 800), "keep_ratio": True}], (800, 1088)),
        ([{"type": "Resize", "scale": (640, 640), "keep_ratio": True}], (480, 640)),
        ([{"type": "Resize", "scale": (300, 300), "keep_ratio": False}], (300, 300)),
        (
            [
                {"type": "Resize", "scale": (640, 640), "keep_ratio": True},
                {"type": "Pad", "size": (640, 640)},
            ],
            (640, 640),
        ),
    ],
)
def test_a_detector_gets_a_photograph_of_4_to_3(steps, size):
    config = {"test_dataloader": {"dataset": {"pipeline": steps}}}
    assert fitted_size(config, (800, 1088)) == size
