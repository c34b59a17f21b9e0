"""What is known of the values of an ONNX graph, and that the rest is counted."""

import numpy as np
import onnx
import pytest
from onnx import parser

from nar.capture.onnx.facts import facts_of

HEADER = '<ir_version: 8, opset_import: ["": 17, "mine": 1]>'


def facts(nodes, *, stated="float[] y"):
    return facts_of(parser.parse_model(f"{HEADER} g (float[2, 8] x) => ({stated}) {{ {nodes} }}"))


def test_shapes_and_numbers():
    known = facts("y = Relu(x)  extents = Shape(x)")
    assert known.shape("y") == (2, 8)
    np.testing.assert_array_equal(known.numbers["extents"], [2, 8])
    assert not known.unknown


@pytest.mark.parametrize(
    ("nodes", "unknown"),
    [
        ("t = mine.Twist(x)  y = Relu(t)", {"shape of mine::Twist": 1, "shape of onnx::Relu": 1}),
        ("y = MatMul(x, x)", {"shape of onnx::MatMul": 1}),
        ("y = Concat(x, x)", {"shape of onnx::Concat": 1}),
        ("y = Cast<to = 99>(x)", {"shape of onnx::Cast": 1}),
        (
            "five = Constant<value_ints = [5]>()  two = Constant<value_ints = [2]>()"
            "extent = Gather(five, two)  shift = Cast<to = 1>(extent)  y = Add(x, shift)",
            {"number of onnx::Gather": 1},
        ),
    ],
    ids=["foreign operator", "no fit", "no axis", "no type", "no such element"],
)
def test_what_could_not_be_worked_out_is_counted(nodes, unknown):
    assert facts(nodes).unknown == unknown


def test_what_the_file_states_is_known():
    assert not facts("y = mine.Twist(x)", stated="float[2, 4] y").unknown


def test_a_sequence_has_no_shape_to_know():
    nodes = "first = Constant<value_int = 0>()  parts = SplitToSequence(x)"
    assert not facts(f"{nodes}  y = SequenceAt(parts, first)").unknown


def test_a_failure_that_nobody_expects_is_no_missing_fact(monkeypatch):
    def broken(*_, **__):
        raise OSError("broken")

    monkeypatch.setattr(onnx.shape_inference, "infer_node_outputs", broken)
    with pytest.raises(OSError, match="broken"):
        facts("y = Relu(x)")
