"""TensorFlow Lite: files of its own converter, and files that no converter writes."""

import random
import struct
from collections import deque
from contextlib import suppress
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


def written(tmp_path, graphs, codes):
    """A file with graphs and operators by name; a name that is not built in is a file's own."""
    known = [{3: BUILT_IN.index(code)} if code in BUILT_IN else {1: code, 3: 32} for code in codes]
    path = tmp_path / "model.tflite"
    path.write_bytes(Written({0: 3, 1: known, 2: graphs, 4: [{}]}).content)
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
        refused(path, "inside the .* bytes of the file|wanted")


def test_a_file_with_wrong_bytes_is_refused_or_read(tmp_path):
    content, chance = (HERE / "sequence.tflite").read_bytes(), random.Random(0)
    path = tmp_path / "wrong.tflite"
    for _ in range(60):
        wrong = bytearray(content)
        for _ in range(8):
            wrong[chance.randrange(8, len(wrong))] = chance.randrange(256)
        path.write_bytes(wrong)
        with suppress(CaptureError):
            assert capture_tflite(path, name="wrong").graph.nodes


def test_an_empty_model_is_refused(tmp_path):
    refused(
        written(tmp_path, [graph([tensor(1)], [], outputs=[0])], []), "with operators, came none"
    )
    refused(written(tmp_path, [], []), "wanted a model with a graph, came none")
