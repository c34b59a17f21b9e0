"""ONNX files of packages: what is learned in one is counted without the capture."""

import onnx
import pytest
from faulty_onnx import MODELS

from benchmark.evidence.packaged import as_markdown, learned, packaged


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("base", 224 + 292),
        # Both sides have the weights of the net; one of them counts.
        ("if_whole", 224 + 292),
        # Of the norm, scale and shift; not what it has measured.
        ("plain_bn", 216 + 2 * 8 + 292),
        ("const_weights", 224 + 292),
    ],
)
def test_learned_numbers_of_a_file(name, numbers):
    assert sum(learned(MODELS[name].graph, {}).values()) == numbers


def test_the_page_has_a_row_for_each_file(tmp_path):
    about = tmp_path / "one" / "one-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: one\nVersion: 1.2\n")
    onnx.save(MODELS["base"], tmp_path / "one" / "a.onnx")
    model = onnx.ModelProto()
    onnx.save(model, tmp_path / "one" / "b.onnx")
    page = as_markdown(list(packaged(tmp_path)))
    assert "1 of 2 files captured, 1 with the parameters of the file." in page
    assert "| one 1.2 | a.onnx | 4 | 516 | 516 | 0; 0 |" in page
    assert "wanted an ONNX model with nodes, came none" in page
