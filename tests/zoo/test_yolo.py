"""YOLO networks that NAR draws: with the parameters that were published for them."""

import pytest
import torch

from nar.base.errors import UnknownArchitectureError
from nar.graphs.ops import op_name
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs
from nar.zoo.sources.yolo import Yolo, _rows

# Of the fixed convolution that reads a distribution over the side of a box: decoding is left out.
DECODING = 16
# As the tables of models and the summaries of the usual implementations give them.
PUBLISHED = {
    "yolov5n": 1_872_157,
    "yolov5s": 7_235_389,
    "yolov5x": 86_749_405,
    "yolov8n": 3_157_200 - DECODING,
    "yolov8m": 25_902_640 - DECODING,
    "yolov8x": 68_229_648 - DECODING,
    "yolov8n-seg": 3_409_968 - DECODING,
    "yolov8n-pose": 3_295_470 - DECODING,
    "yolov8n-cls": 2_719_288,
    "yolo11n": 2_624_080 - DECODING,
    "yolo11m": 20_114_688 - DECODING,
    "yolo11x": 56_966_176 - DECODING,
    "yolo11n-seg": 2_876_848 - DECODING,
    "yolo12n": 2_602_288 - DECODING,
    "yolo12s": 9_284_096 - DECODING,
}
# In millions, of arXiv:2405.14458, table 1: as deployed, with one head.
MILLIONS = {"yolov10n": 2.3, "yolov10s": 7.2, "yolov10m": 15.4, "yolov10b": 19.1, "yolov10x": 29.5}


def network(name):
    _, task, settings = _rows()[name]
    with torch.device("meta"):
        return Yolo(settings, task).eval()


def parameters(name):
    return sum(weight.numel() for weight in network(name).parameters())


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_network_has_the_parameters_that_were_published(name):
    assert parameters(name) == PUBLISHED[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", MILLIONS)
def test_yolov10_has_what_its_paper_says(name):
    assert parameters(name) / 1e6 == pytest.approx(MILLIONS[name], abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        # Three anchors, each a box, an objectness and 80 classes.
        ("yolov5n", [(255, 80), (255, 40), (255, 20)]),
        ("yolov8n", [(144, 80), (144, 40), (144, 20)]),  # 16 bins of four sides, and 80 classes
        ("yolov8n-obb", [(80, 80), (80, 40), (80, 20)]),  # 15 classes, and an angle
        ("yolo11n-pose", [(116, 80), (116, 40), (116, 20)]),  # one class, and 17 keypoints
        ("yolo12n-seg", [(176, 80), (176, 40), (176, 20), (32, 160)]),  # and the masks of all
    ],
)
def test_each_scale_predicts_for_each_of_its_places(name, shapes):
    with torch.device("meta"):
        predictions = network(name)(torch.empty(1, 3, 640, 640))
    assert [tuple(each.shape[1:3]) for each in predictions] == shapes


@pytest.mark.slow
def test_a_captured_detector_attends_where_its_paper_says():
    def operators(name):
        item = capture_architecture(f"yolo:{name}").architecture
        item.graph.validate()
        return {op_name(op) for op in item.graph.op_ids.tolist()}

    assert "attention" not in operators("yolov8n")
    assert all("attention" in operators(name) for name in ("yolov10n", "yolo11n", "yolo12n"))


def test_names_say_family_size_and_task():
    names = list_specs("yolo")
    assert len(names) == len(set(names)) > 100
    assert {"yolo:yolov5s6", "yolo:yolov5su", "yolo:yolov10b", "yolo:yolo12x-obb"} <= set(names)
    labels = resolve("yolo:yolo11s-pose").labels
    assert (labels.family, labels.task) == ("yolo11", "keypoint-detection")
    with pytest.raises(UnknownArchitectureError, match="yolo:yolov8n"):
        resolve("yolo:yolov8z")
