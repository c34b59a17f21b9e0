"""ONNX files that are larger than a message of protobuf may be, and weights in other files."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from nar.base.errors import CaptureError
from nar.capture.onnx import file
from nar.capture.onnx.file import capture_onnx

ROWS, COLUMNS = 30_000, 20_000  # 2.4 GB in 32 bits
DTYPE = TensorProto.FLOAT


def weight(name, shape, **how):
    return TensorProto(name=name, data_type=DTYPE, dims=shape, **how)


def model(nodes, weights):
    """A model of two layers from 20,000 features to 7, whose first weight is given or made."""
    graph = helper.make_graph(
        [
            *nodes,
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("MatMul", ["r", "v"], ["y"]),
        ],
        "g",
        [helper.make_tensor_value_info("x", DTYPE, ["batch", COLUMNS])],
        [helper.make_tensor_value_info("y", DTYPE, ["batch", 7])],
        [*weights, weight("v", [ROWS, 7], raw_data=b"\1" * (4 * ROWS * 7))],
    )
    return helper.make_model(graph)


def layer(weight_name="w"):
    return helper.make_node("MatMul", ["x", weight_name], ["h"])


def varint(number):
    content = []
    while number > 0x7F:
        content.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*content, number])


def with_hole(path, made, mark, length):
    """Write a model whose bytes ``mark`` are a hole of so many bytes: the file takes no disk.

    The lengths of the messages around grow with it: what stands before the mark in each of them.
    """
    content = made.SerializeToString()
    at = content.index(mark)
    before = grown(content, at, length - len(mark))
    with path.open("wb") as target:
        target.write(before)
        target.seek(len(before) + length)
        target.write(content[at + len(mark) :])
        target.truncate()


def number_at(content, start):
    """A number of seven bits a byte, and where it ends."""
    number = shift = 0
    while content[start] > 0x7F:
        number |= (content[start] & 0x7F) << shift
        start, shift = start + 1, shift + 7
    return number | content[start] << shift, start + 1


def lengths_around(content, at):
    """(where it begins, where it ends, length) of each message that holds a place, outside in."""
    start = 0
    while start < at:
        key, begin = number_at(content, start)
        length, start = number_at(content, begin)
        if key & 7 == 2 and start + length > at:
            yield begin, start, length
        elif key & 7 == 2:
            start += length


def grown(before, at, more):
    """The bytes before a place, where every message that holds it is longer by so many bytes."""
    parts, last = [], at
    for begin, end, length in reversed(list(lengths_around(before, at))):
        size = varint(length + more)
        parts = [size, before[end:last], *parts]
        more += len(size) - (end - begin)  # a longer number moves what is around it
        last = begin
    return b"".join([before[:last], *parts])


MARK = b"the numbers of a weight that is too large for a message"


@pytest.fixture
def large(tmp_path):
    def write(made):
        path = tmp_path / "large.onnx"
        with_hole(path, made, MARK, 4 * ROWS * COLUMNS)
        assert path.stat().st_size > 2**31
        return path

    return write


SHAPE = [COLUMNS, ROWS]
PARAMETERS = ROWS * COLUMNS + ROWS * 7


def operators(captured, text_of):
    return text_of(captured.graph), captured.graph.parameters, captured.unread


RIGHT = ("input; linear 0; relu 1; linear 2", PARAMETERS, None)


def test_weights_in_the_file_itself(large, text_of):
    path = large(model([layer()], [weight("w", SHAPE, raw_data=MARK)]))
    assert operators(capture_onnx(path, name="large"), text_of) == RIGHT


def test_weights_in_a_constant(large, text_of):
    made = helper.make_node("Constant", [], ["w"], value=weight("w", SHAPE, raw_data=MARK))
    assert (
        operators(capture_onnx(large(model([made, layer()], [])), name="large"), text_of) == RIGHT
    )


def test_weights_in_a_branch(large, text_of):
    branch = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["inside"])],
        "branch",
        [],
        [helper.make_tensor_value_info("inside", DTYPE, None)],
        [weight("w", SHAPE, raw_data=MARK)],
    )
    other = helper.make_graph(
        [helper.make_node("MatMul", ["x", "small"], ["inside"])],
        "other",
        [],
        [helper.make_tensor_value_info("inside", DTYPE, None)],
    )
    small = weight("small", [COLUMNS, 1], raw_data=b"\1" * (4 * COLUMNS))
    yes = helper.make_node(
        "Constant", [], ["yes"], value=onnx.numpy_helper.from_array(np.array(True))
    )
    choice = helper.make_node("If", ["yes"], ["h"], then_branch=branch, else_branch=other)
    captured = capture_onnx(large(model([yes, choice], [small])), name="large")
    assert text_of(captured.graph) == RIGHT[0]


def test_weights_in_another_file_that_is_not_there(tmp_path, text_of):
    elsewhere = weight("w", SHAPE, data_location=TensorProto.EXTERNAL)
    elsewhere.external_data.add(key="location", value="absent.bin")
    onnx.save(model([layer()], [elsewhere]), tmp_path / "a.onnx")
    assert operators(capture_onnx(tmp_path / "a.onnx", name="a"), text_of) == RIGHT


@pytest.mark.parametrize("content", [b"\xff" * 64, b"\x3a\xff\xff\xff\xff\xff\xff\x7f", b"\x0f\1"])
def test_a_large_file_that_is_no_model_is_refused(tmp_path, monkeypatch, content):
    monkeypatch.setattr(file, "_MOST_BYTES", 1)
    (tmp_path / "a.onnx").write_bytes(content)
    with pytest.raises(CaptureError, match="wanted a model of ONNX"):
        capture_onnx(tmp_path / "a.onnx", name="a")
