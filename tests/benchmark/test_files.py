"""Known models that are written as files are asked about as files, and the answers counted."""

import onnx
import pytest
import torch
from torch import nn

from benchmark.evidence.files import WRITERS, Asked, answers, as_markdown, parameters_of_file
from benchmark.rewriting.files import quiet


@pytest.mark.slow
def test_a_known_model_is_found_again_in_graphs_and_weights():
    chosen = [
        each for each in WRITERS if each.name in ("exported program", "checkpoint of PyTorch")
    ]
    asked = list(answers(["torchvision:squeezenet1_1"], chosen))
    assert len(asked) == len(chosen) == 2
    for each in asked:
        assert (each.is_written, each.is_named, each.fault) == (True, True, "")
        assert each.wanted == each.came == 1_235_496


@pytest.mark.parametrize(
    ("layers", "learned"),
    [
        # The scale and the shift of the norm become the bias that the convolution did not have.
        ((nn.Conv2d(3, 4, 1, bias=False), nn.BatchNorm2d(4)), 3 * 4 + 4),
        ((nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)), 3 * 4 + 4),
        # Nothing is before this norm that it could be folded into.
        ((nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 4, 1)), 2 * 3 + 3 * 4 + 4),
        ((nn.Conv2d(3, 4, 1), nn.ReLU(), nn.Flatten(), nn.Linear(4, 2)), 3 * 4 + 4 + 4 * 2 + 2),
    ],
)
def test_norms_that_an_exporter_folds_are_no_parameters_of_the_file(tmp_path, layers, learned):
    module, path = nn.Sequential(*layers).eval(), tmp_path / "model.onnx"
    with quiet():
        torch.onnx.export(module, (torch.zeros(1, 3, 1, 1),), path, dynamo=False)
    assert parameters_of_file(module, onnx.load(path).graph) == learned


def test_the_page_names_what_was_not_right():
    asked = [
        Asked("timm:a", "ONNX", is_named=True, wanted=1_000, came=1_000),
        Asked("timm:b", "ONNX", is_named=True, wanted=1_000, came=999),
        Asked("timm:c", "ONNX", wanted=1_000, fault="timm:c: no operator is known"),
        Asked("timm:d", "ONNX", is_written=False, fault="the exporter failed"),
    ]
    page = as_markdown(asked, "torch 2.13.0")
    assert "| ONNX | 3 | 1 | 0.667 (0.000-1.000) | 0.333 (0.000-1.000) |" in page
    assert "| timm:b | ONNX | yes | 1,000 | 999 |" in page
    assert "| timm:c | ONNX | no | 1,000 | timm:c: no operator is known |" in page
    assert "timm:a |" not in page
