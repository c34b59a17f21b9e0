"""Sources whose libraries no resolver can put beside the rest: captured where they are."""

from importlib import util

import pytest

from nar.base.errors import MissingLibraryError
from nar.own import capture_architecture
from nar.zoo.sources import list_specs
from nar.zoo.sources.openmmlab.configs import digest
from nar.zoo.sources.openmmlab.images import shown_size

# Source -> at least so many networks.
LISTED = {"libreyolo": 220, "mmaction": 60, "mmocr": 30, "mmpose": 200}
# Name -> family, task and learned scalars.
CAPTURED = {
    "libreyolo:YOLO3/b": ("yolov3", "object-detection", 61_949_149),  # as Darknet counts them
    "mmaction:skeleton/stgcn/stgcn_8xb16-bone-u100-80e_ntu60-xsub-keypoint-2d": (
        "stgcn", "video-classification", 3_088_704,
    ),
    "mmocr:textrecog/crnn/crnn_mini-vgg_5e_mj": ("crnn", "text-recognition", 8_331_301),
    "mmpose:body_2d_keypoint/rtmpose/coco/rtmpose-s_8xb256-420e_coco-256x192": (
        "rtmpose", "keypoint-detection", 5_473_251,
    ),
}  # fmt: skip


def skip_unless_installed(source):
    if util.find_spec(source) is None:
        pytest.skip(f"{source} is not installed")


@pytest.mark.parametrize("source", LISTED)
def test_an_absent_library_names_both_ways_to_install_it(source):
    if util.find_spec(source) is not None:
        assert len(list_specs(source)) >= LISTED[source]
    else:
        with pytest.raises(MissingLibraryError, match=rf"\[{source}\]' and pip install --no-deps"):
            list_specs(source)


@pytest.mark.slow
@pytest.mark.parametrize("name", CAPTURED)
def test_a_network_of_each_is_captured(name):
    skip_unless_installed(name.partition(":")[0])
    captured = capture_architecture(name)
    item = captured.architecture
    item.graph.validate()
    found = item.labels.family, item.labels.task, item.graph.parameters
    assert found == CAPTURED[name]
    assert captured.unknown_operators == {}


@pytest.mark.parametrize(
    ("steps", "size"),
    [
        ([], (32, 100)),
        ([{"type": "Resize", "scale": (256, 64)}], (64, 256)),  # a width and a height
        ([{"type": "Resize", "scale": (1280, 730), "keep_ratio": True}], (736, 1280)),
        ([{"type": "RescaleToHeight", "height": 48, "max_width": 160}], (48, 160)),
        ([{"type": "RescaleToHeight", "height": 32, "max_width": None}], (32, 128)),
    ],
)
def test_a_line_of_text_is_shown_as_its_pipeline_shows_it(steps, size):
    assert shown_size({"test_pipeline": steps}, (32, 100)) == size


def test_the_number_of_keypoints_makes_another_network():
    body, hand = ({"type": "HeatmapHead", "out_channels": points} for points in (17, 21))
    assert digest(body) != digest(hand)
