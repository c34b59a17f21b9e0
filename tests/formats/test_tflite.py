"""TensorFlow Lite: files of its own converter, and files that no converter writes."""

import random
import struct
from collections import deque
from pathlib import Path

import pytest
from formats.twins import TWINS, of_onnx, of_torch

from nar.answers.naming import known_or_captured
from nar.base.errors import CaptureError
from nar.capture.tflite import capture_tflite
from nar.capture.tflite_file import BUILT_IN
from nar.graphs.ops import op_name

HERE = Path(__file__).parent
# Keras has one bias for each gate of its LSTM, and torch two.
WITHOUT = {"recurrent": 4 * 10}


def captured(name):
    return capture_tflite(HERE / f"{name}.tflite", name=name)


def operators(capture):
    return [op_name(int(each)) for each in capture.graph.op_ids]


@pytest.mark.parametrize("name", TWINS)
def test_a_file_has_the_graph_of_its_design(name):
    capture, torch_graph = captured(name), of_torch(name)
    assert capture.network.topology == torch_graph.network.topology
    assert capture.graph.parameters == torch_graph.graph.parameters - WITHOUT.get(name, 0)
    assert capture.unread is None


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_onnx_gives_the_same(name, tmp_path):
    assert of_onnx(name, tmp_path).network.topology == captured(name).network.topology


@pytest.mark.parametrize("name", ["separable_int8", "separable_half"])
def test_a_quantised_file_is_its_float_design(name):
    assert captured(name).network.exact == of_torch("separable").network.exact


def test_a_layer_of_both_directions_is_one_layer():
    capture = captured("both_ways")
    assert operators(capture) == ["input", "linear", "tanh", "lstm", "linear"]
    assert capture.graph.parameters == 8 * 4 + 2 * 4 * (10 * 8 + 10 * 10 + 10) + 3 * 20


def test_a_loop_over_cells_is_their_layer():
    assert operators(captured("looped")) == ["input", "gru", "linear"]
    assert captured("looped").graph.parameters == 3 * (4 * 5 + 5 * 5 + 2 * 5) + 5 * 3 + 3


def test_a_file_is_asked_by_its_path():
    asked = known_or_captured(None, str(HERE / "separable.tflite"))
    assert asked.architecture.parameters == 1570


class Written:
    """A file, written table after table: a table leads to what stands behind it."""

    def __init__(self, root):
        self.content, self.places, self.waiting = bytearray(b"\0\0\0\0TFL3"), {}, deque()
        struct.pack_into("<I", self.content, 0, self.placed(root))
        while self.waiting:
            at, child = self.waiting.popleft()
            struct.pack_into("<I", self.content, at, self.placed(child) - at)

    def placed(self, child):
        """Where a value lies, which lies there once, however often it is named."""
        if id(child) not in self.places:
            self.places[id(child)] = (child, self._write(child))
        return self.places[id(child)][1]

    def _write(self, child):
        if isinstance(child, dict):
            return self._table(child)
        at = len(self.content)
        entries = child if isinstance(child, list) else list(child)
        self.content += struct.pack("<I", len(entries))
        if isinstance(child, bytes | str):
            self.content += child if isinstance(child, bytes) else child.encode()
            self.content += b"\0" * (-len(child) % 4)
        else:
            self._entries(entries)
        return at

    def _table(self, fields):
        count = max(fields, default=-1) + 1
        start = len(self.content)
        offsets = [4 + 4 * field if field in fields else 0 for field in range(count)]
        self.content += struct.pack(f"<HH{count}H", 4 + 2 * count, 4 + 4 * count, *offsets)
        at = len(self.content)
        self.content += struct.pack("<i", at - start)
        self._entries([fields.get(field, 0) for field in range(count)])
        return at

    def _entries(self, entries):
        for entry in entries:
            if not isinstance(entry, int):
                self.waiting.append((len(self.content), entry))
            self.content += struct.pack("<i", entry if isinstance(entry, int) else 0)


def tensor(*shape, buffer=0):
    return {0: list(shape), 2: buffer}


def graph(tensors, operators, inputs=(0,), outputs=(1,)):
    return {0: tensors, 1: list(inputs), 2: list(outputs), 3: operators}


def operator(code, inputs, outputs, options=None, kind=1):
    return {0: code, 1: list(inputs), 2: list(outputs)} | ({3: kind, 4: options} if options else {})


def written(tmp_path, graphs, codes, sizes=()):
    """A file with graphs and operators by name; a name that is not built in is a file's own.

    Buffers from the first on have as many floats as ``sizes`` says.
    """
    known = [{3: BUILT_IN.index(code)} if code in BUILT_IN else {1: code, 3: 32} for code in codes]
    path = tmp_path / "model.tflite"
    buffers = [{}, *({0: bytes(4 * size)} for size in sizes)]
    path.write_bytes(Written({0: 3, 1: known, 2: graphs, 4: buffers}).content)
    return path


def refused(path, match):
    with pytest.raises(CaptureError, match=match):
        capture_tflite(path, name="it")


def test_unknown_operators_are_counted(tmp_path):
    tensors = [tensor(1, 4), tensor(1, 4), tensor(1, 4)]
    steps = [operator(0, [0], [1]), operator(1, [1], [2])]
    path = written(tmp_path, [graph(tensors, steps, outputs=[2])], ["RELU", "MyThing"])
    capture = capture_tflite(path, name="it")
    assert dict(capture.unknown_operators) == {"tflite::MyThing": 1}
    assert capture.graph.nodes == 3


def test_control_flow_is_read(tmp_path):
    main = graph([tensor(1, 4), tensor(1, 4)], [operator(0, [0], [1], {0: 1, 1: 2})])
    condition = graph([tensor(1, 4), tensor(1)], [operator(1, [0], [1])])
    body = graph([tensor(1, 4), tensor(1, 4)], [operator(2, [0], [1])])
    path = written(tmp_path, [main, condition, body], ["WHILE", "LOGICAL_NOT", "TANH"])
    assert operators(capture_tflite(path, name="it")) == ["input", "tanh"]


CELL = ["WHILE", "GATHER", "FULLY_CONNECTED", "ADD", "TANH", "RELU"]


def loop_of_cells(tmp_path, extra=None, learned=(5,), given=False):
    """A loop over plain cells of 5 states, which may have one operator more before its last.

    Args:
        tmp_path: Where the file is written.
        extra: The operator.
        learned: The shape of a learned operand of it; None for none.
        given: Whether the loop is given this operand from outside.
    """
    count, gain = tensor(1, buffer=4) | {1: 2}, tensor(*(learned or (5,)), buffer=3)
    tensors = [
        count, tensor(6, 1, 4), tensor(1, 5), tensor(5, 4, buffer=1), tensor(5, 5, buffer=2),
        tensor(1, 4), *[tensor(1, 5)] * 4, tensor(*learned or (5,)) if given else gain,
        tensor(1, 5),
    ]  # fmt: skip
    steps = [
        operator(1, [1, 0], [5]), operator(2, [5, 3, -1], [6]), operator(2, [2, 4, -1], [7]),
        operator(3, [6, 7], [8]), operator(4, [8], [9]),
    ]  # fmt: skip
    if extra:
        steps.append(operator(6, [9, 10] if learned else [9], [11]))
    state, more = 11 if extra else 9, [10] if given else []
    body = graph(tensors, steps, [0, 1, 2, *more], [0, 1, state, *more])
    condition = graph([tensor(1)], [], [0], [0])
    outside = [tensor(6, 1, 4), count, tensor(1, 5, buffer=5), gain]
    loop = operator(
        0, [1, 0, 2, *([3] if given else [])], range(4, 8 if given else 7), {0: 1, 1: 2}
    )
    results = [tensor(1), tensor(6, 1, 4), tensor(1, 5), tensor(*learned or (5,)), tensor(1, 5)]
    main = graph([*outside, *results], [loop, operator(5, [6], [8])], [0], [8])
    sizes = (20, 25, 5 * (learned or (1,))[0], 1, 5)
    return capture_tflite(
        written(tmp_path, [main, condition, body], [*CELL, extra or "MUL"], sizes), name="it"
    )


def test_a_loop_over_plain_cells_is_their_layer(tmp_path):
    capture = loop_of_cells(tmp_path)
    assert "rnn" in operators(capture)
    assert capture.graph.parameters == 20 + 25


@pytest.mark.parametrize(
    ("extra", "learned", "given", "found"),
    [
        ("MUL", (5,), False, "mul"),
        ("MUL", (5,), True, "mul"),
        ("SUB", (1, 5), False, "sub"),
        ("SOFTMAX", None, False, "softmax"),
        ("BATCH_MATMUL", (5, 5), False, "linear"),
    ],
)
def test_a_loop_with_more_than_cells_is_written_whole(tmp_path, extra, learned, given, found):
    capture = loop_of_cells(tmp_path, extra, learned, given)
    assert "rnn" not in operators(capture)
    assert found in operators(capture)
    of_extra = 25 if learned == (5, 5) else 5 if learned else 0
    assert capture.graph.parameters == 20 + 25 + of_extra


@pytest.mark.parametrize("is_state", [False, True])
def test_weights_in_variables_are_weights_where_no_run_changes_them(tmp_path, is_state):
    named = {0: "container", 1: "scale"}
    codes = ["VAR_HANDLE", "READ_VARIABLE", "MUL", "CALL_ONCE", "ASSIGN_VARIABLE"]
    steps = [
        operator(3, [], [], {0: 1}), operator(0, [], [1], named), operator(1, [1], [2]),
        operator(2, [0, 2], [3]), *([operator(4, [1, 3], [])] if is_state else []),
    ]  # fmt: skip
    main = graph([tensor(1, 4), tensor(1), tensor(1, 4), tensor(1, 4)], steps, [0], [3])
    first = [operator(0, [], [0], named), operator(4, [0, 1], [])]
    begin = graph([tensor(1), tensor(1, 4, buffer=1)], first, [], [])
    capture = capture_tflite(written(tmp_path, [main, begin], codes, [4]), name="it")
    assert capture.graph.parameters == (0 if is_state else 4)


def test_operators_that_write_nothing_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("nar.capture.onnx.writing.MOST_OPERATORS", 1_000)
    row = [tensor(1, 4)] * 2
    body = graph(row, [operator(1, [0], [1])] * 40)
    main = graph(row, [operator(0, [0], [1], {0: 1})] * 40)
    path = written(tmp_path, [main, body], ["CALL", "CAST"])
    refused(path, "wanted at most 1,000 operators, came more")


def test_entries_are_those_of_lists(tmp_path, monkeypatch):
    """A chain of 200 operators, each with a name of 60 letters, has some 1,200 entries."""
    monkeypatch.setattr("nar.capture.tflite_file._MOST_ENTRIES", 1_500)
    tensors = [tensor(1, 4) | {3: "n" * 60} for _ in range(201)]
    steps = [operator(0, [at], [at + 1]) for at in range(200)]
    path = written(tmp_path, [graph(tensors, steps, [0], [200])], ["RELU"])
    assert capture_tflite(path, name="it").graph.nodes == 201


def test_operators_have_the_codes_of_the_format():
    assert len(BUILT_IN) == len(set(BUILT_IN)) == 210
    codes = {"CUSTOM": 32, "WHILE": 119, "CALL_ONCE": 129, "STABLEHLO_LOGISTIC": 162}
    codes |= {"STABLEHLO_COMPOSITE": 206, "STABLEHLO_SHIFT_LEFT": 207, "STABLEHLO_CASE": 209}
    assert {name: BUILT_IN.index(name) for name in codes} == codes


def test_a_graph_in_itself_is_refused(tmp_path):
    looped = graph([tensor(1, 4), tensor(1, 4)], [operator(0, [0], [1], {0: 0, 1: 0})])
    refused(written(tmp_path, [looped], ["WHILE"]), "not in themselves, came graph 0")


def test_calls_that_double_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("nar.capture.onnx.writing.MOST_OPERATORS", 1_000)
    called = [graph([], [operator(0, [], [], {0: at + 1})] * 2, [], []) for at in range(12)]
    path = written(tmp_path, [*called, graph([], [], [], [])], ["CALL"])
    refused(path, "wanted at most 1,000 operators, came more")


def test_too_many_operators_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("nar.capture.tflite_file.MOST_OPERATORS", 1_000)
    same = operator(0, [0], [1])
    path = written(tmp_path, [graph([tensor(1, 4)] * 2, [same] * 2_000)], ["RELU"])
    refused(path, "wanted at most 1,000 operators, came 2,000")


def test_a_list_that_all_operators_share_is_refused(tmp_path):
    shared = [0] * 100_000
    steps = [{0: 0, 1: shared, 2: [1]} for _ in range(100)]
    path = written(tmp_path, [graph([tensor(1, 4)] * 2, steps)], ["ADD_N"])
    refused(path, "entries in all lists, came more")


@pytest.mark.parametrize(
    ("tensors", "step", "match"),
    [
        ([(1, 4), (1, 4)], ([1], [1]), r"reads tensor 1 \(\) before it is made"),
        ([(1, 4), (1, 4)], ([9], [1]), "wanted a tensor among 2, came number 9"),
        ([(1, 4), (1, 4)], ([0], [-3]), "wanted a tensor among 2, came number -3"),
        ([(1 << 30, 1 << 30), (1, 4)], ([0], [1]), "wanted tensors of at most 8 axes"),
        ([(1, -4), (1, 4)], ([0], [1]), "wanted extents of 0 or more"),
        ([(1,) * 9, (1, 4)], ([0], [1]), "wanted tensors of at most 8 axes"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, tensors, step, match):
    entries = [tensor(*shape) for shape in tensors]
    refused(written(tmp_path, [graph(entries, [operator(0, *step)])], ["RELU"]), match)


def test_a_cut_file_is_refused(tmp_path):
    content = (HERE / "sequence.tflite").read_bytes()
    path = tmp_path / "cut.tflite"
    for length in (5, 8, 20, 200, 2000):
        path.write_bytes(content[:length])
        refused(path, f"wanted offsets inside the {length:,} bytes of the file")


@pytest.mark.slow
def test_a_file_with_wrong_bytes_is_refused_or_read(tmp_path):
    content, chance = (HERE / "sequence.tflite").read_bytes(), random.Random(0)
    path, said = tmp_path / "wrong.tflite", []
    for _ in range(60):
        wrong = bytearray(content)
        for _ in range(8):
            wrong[chance.randrange(8, len(wrong))] = chance.randrange(256)
        path.write_bytes(wrong)
        try:
            # No weight has more numbers than the file has bits.
            assert capture_tflite(path, name="wrong").graph.parameters <= 8 * len(content)
        except CaptureError as error:
            said.append(str(error))
    assert 50 <= len(said) < 60
    assert all("ValueError: wanted " in each for each in said)


def test_a_shape_of_more_numbers_than_are_there_is_refused(tmp_path):
    tensors = [tensor(1, 4), tensor(1, 4), tensor(1000, 4, buffer=1)]
    path = written(tmp_path, [graph(tensors, [operator(0, [0, 2], [1])])], ["MUL"], [4])
    refused(path, r"wanted the numbers of the shape \(1000, 4\), came 16 bytes")


def test_an_empty_model_is_refused(tmp_path):
    refused(
        written(tmp_path, [graph([tensor(1)], [], outputs=[0])], []), "with operators, came none"
    )
    refused(written(tmp_path, [], []), "wanted a model with a graph, came none")
