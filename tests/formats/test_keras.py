"""Keras: files of its own exporter, and files that nobody's exporter writes."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from formats.twins import of_onnx, of_torch
from onnx.reference import ReferenceEvaluator
from torch import nn

from nar.answers.naming import known_or_captured
from nar.base.asking import Asking
from nar.base.errors import CaptureError, InvalidInputError, NarError
from nar.capture import CaptureInputs, capture_module
from nar.capture.keras import _model, capture_keras
from nar.graphs.ops import op_name

h5py = pytest.importorskip("h5py", reason="the extra `keras` is not installed")

HERE = Path(__file__).parent
DESIGNS = ("separable", "recurrent", "sequence")
# Keras has one bias for each gate of its LSTM, and torch two.
WITHOUT = {"recurrent": 4 * 10}


def operators(capture):
    return [op_name(int(each)) for each in capture.graph.op_ids]


class Encoder(nn.Module):
    """As `encoder` of ``make_keras.py``."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(2))
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))
        self.up, self.down, self.head = nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, 5)

    def forward(self, ids):
        x = self.tokens(ids)
        y = self.norms[0](x)
        parts = (
            layer(y).unflatten(-1, (2, 8)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        y = nn.functional.scaled_dot_product_attention(*parts)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        x = x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))
        return self.head(nn.functional.adaptive_avg_pool1d(x.transpose(1, 2), 1).flatten(1))


@pytest.mark.parametrize("name", DESIGNS)
def test_a_file_has_the_graph_of_its_design(name):
    capture, twin = capture_keras(HERE / f"{name}.keras", name=name), of_torch(name)
    assert capture.network.topology == twin.network.topology
    assert capture.graph.parameters == twin.graph.parameters - WITHOUT.get(name, 0)
    assert capture.unread is None


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_onnx_gives_the_same(name, tmp_path):
    capture = capture_keras(HERE / f"{name}.keras", name=name)
    assert of_onnx(name, tmp_path).network.topology == capture.network.topology


def test_a_model_in_a_model_is_in_line():
    ids = torch.zeros(1, 12, dtype=torch.int64)
    twin = capture_module(Encoder(), CaptureInputs((ids,)), name="it")
    capture = capture_keras(HERE / "encoder.keras", name="it")
    assert capture.network.topology == twin.network.topology
    assert capture.graph.parameters == twin.graph.parameters


def test_both_forms_of_a_file_are_one_design():
    one, other = (capture_keras(HERE / f"sequence.{end}", name="it") for end in ("keras", "h5"))
    assert one.network.exact == other.network.exact


@pytest.mark.parametrize("end", ["keras", "h5"])
def test_what_is_code_is_an_operator_by_its_name_and_its_weights_count(end):
    capture = capture_keras(HERE / f"opaque.{end}", name="it")
    assert dict(capture.unknown_operators) == {"keras::Lambda": 1, "keras::Doubled": 1}
    assert capture.graph.parameters == (8 * 6 + 6) + 6 * 7 + (6 * 4 + 4)


def test_what_was_not_read_is_said():
    asked = known_or_captured(None, str(HERE / "opaque.keras"))
    assert {each.name for each in asked.unread.unknown} == {"keras::Lambda", "keras::Doubled"}


# A model is written as Keras writes it: layers by their class, each after the one before.
def layer(kind, name, source=None, calls=None, **stated):
    if calls is None:
        calls = [[[source, 0, 0, {}]]] if source else []
    return {"class_name": kind, "name": name, "config": stated, "inbound_nodes": calls}


def model(layers, inputs=("x",), outputs=("y",)):
    ends = [[name, 0, 0] for name in inputs], [[name, 0, 0] for name in outputs]
    stated = {"layers": layers, "input_layers": ends[0], "output_layers": ends[1]}
    return {"class_name": "Functional", "config": stated}


def image(*shape):
    return layer("InputLayer", "x", batch_input_shape=[None, *shape])


def captured(tmp_path, content):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(content))
    return capture_keras(path, name="it")


def refused(tmp_path, content, match):
    with pytest.raises(CaptureError, match=match):
        captured(tmp_path, content)


BLOCKS = {
    "channels first": (
        [layer("Conv2D", "y", "x", filters=4, kernel_size=[3, 3], data_format="channels_first")],
        (3, 9, 9), 3 * 9 * 4 + 4, ["input", "conv"],
    ),
    "in groups": (
        [layer("Conv2D", "y", "x", filters=8, kernel_size=[3, 3], groups=2, use_bias=False)],
        (9, 9, 4), 8 * 2 * 9, ["input", "conv_grouped"],
    ),
    "separable": (
        [layer("SeparableConv2D", "y", "x", filters=8, kernel_size=[3, 3], strides=[2, 2])],
        (9, 9, 4), 4 * 9 + 4 * 8 + 8, ["input", "conv_depthwise", "conv"],
    ),
    "transposed": (
        [layer("Conv2DTranspose", "y", "x", filters=8, kernel_size=3, strides=2, padding="same")],
        (9, 9, 4), 4 * 8 * 9 + 8, ["input", "conv_transpose"],
    ),
    "causal": (
        [layer("Conv1D", "y", "x", filters=8, kernel_size=[3], padding="causal")],
        (9, 4), 8 * 4 * 3 + 8, ["input", "conv"],
    ),
    "a norm without a scale": (
        [layer("BatchNormalization", "y", "x", axis=[3], scale=False)],
        (9, 9, 4), 4, ["input", "batch_norm"],
    ),
    "both ways": (
        [layer("Bidirectional", "y", "x", layer={"class_name": "GRU", "config": {
            "units": 5, "reset_after": True}})],
        (9, 4), 2 * 3 * (4 * 5 + 5 * 5 + 2 * 5), ["input", "gru"],
    ),
    "at each time": (
        [layer("TimeDistributed", "y", "x", layer={"class_name": "Conv2D", "config": {
            "name": "inner", "filters": 4, "kernel_size": [3, 3]}})],
        (5, 9, 9, 3), 3 * 9 * 4 + 4, ["input", "conv"],
    ),
    "einsum": (
        [layer("EinsumDense", "y", "x", equation="abc,cde->abde", output_shape=[None, 2, 8],
            bias_axes="de")],
        (9, 4), 4 * 16 + 16, ["input", "linear"],
    ),
    "a function between layers": (
        [layer("Dense", "z", "x", units=4), layer("TFOpLambda", "y", calls=[
            ["z", 0, 0, {"y": 2.0}]], function="math.multiply")],
        (4,), 20, ["input", "linear", "mul"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("block", BLOCKS)
def test_layers_have_the_operators_and_the_weights_that_keras_gives_them(tmp_path, block):
    layers, shape, parameters, names = BLOCKS[block]
    capture = captured(tmp_path, model([image(*shape), *layers]))
    assert operators(capture) == names
    assert capture.graph.parameters == parameters


def test_a_layer_that_is_called_twice_has_its_weights_once(tmp_path):
    twice = layer("Dense", "y", calls=[[["x", 0, 0, {}]], [["y", 0, 0, {}]]], units=4)
    content = model([image(4), twice])
    content["config"]["output_layers"] = [["y", 1, 0]]
    assert captured(tmp_path, content).graph.parameters == 20


def test_open_extents_grow_until_every_layer_fits(tmp_path):
    layers = [image(None, None, 3)]
    for at in range(6):
        before = layers[-1]["name"]
        layers.append(layer("Conv2D", f"c{at}", before, filters=2, kernel_size=3, strides=2))
    content = model(layers, outputs=["c5"])
    assert captured(tmp_path, content).graph.nodes == 7


def test_a_model_of_tensorflow_js_is_read(tmp_path):
    path = tmp_path / "model.json"
    inner = model([image(4), layer("Dense", "y", "x", units=3)])
    path.write_text(json.dumps({"modelTopology": {"model_config": inner}}))
    assert known_or_captured(None, str(path)).architecture.parameters == 15


def test_a_model_made_by_code_is_named_with_the_way_out(tmp_path):
    content = {"class_name": "mine>Net", "config": {"units": 3}}
    refused(tmp_path, content, r"one of the class Net, .* path/to/file.py:Model")


def test_weights_alone_are_told_from_a_model(tmp_path):
    path = tmp_path / "weights.h5"
    with h5py.File(path, "w") as file:
        file["dense/kernel"] = [[1.0]]
    with pytest.raises(CaptureError, match="wanted a whole model, came weights alone"):
        capture_keras(path, name="it")


def test_a_circle_of_layers_is_refused(tmp_path):
    layers = [image(4), layer("Add", "y", calls=[[["x", 0, 0, {}], ["z", 0, 0, {}]]])]
    refused(tmp_path, model([*layers, layer("ReLU", "z", "y")]), "without circles")


def test_absurd_sizes_are_refused(tmp_path):
    refused(tmp_path, model([image(4), layer("Dense", "y", "x", units=10**15)]), "numbers, came")
    refused(tmp_path, model([image(10**15), layer("ReLU", "y", "x")]), "numbers, came")
    conv = layer("Conv2D", "y", "x", filters=4, kernel_size=3, strides=[0, 0])
    refused(tmp_path, model([image(9, 9, 3), conv]), "sizes of at least 1")


@pytest.mark.slow
def test_more_layers_than_any_model_has_are_refused(tmp_path):
    layers = [layer("ReLU", f"r{at}", "x") for at in range(50_000)]
    refused(tmp_path, model([image(4), *layers]), "layers, came 50,001")


def test_models_in_models_without_end_are_refused(tmp_path):
    inner = {"class_name": "Dense", "config": {"name": "d", "units": 4}}
    for at in range(20):
        inner = {"class_name": "Sequential", "config": {"name": f"s{at}", "layers": [inner]}}
    inner["config"]["build_input_shape"] = [None, 4]
    refused(tmp_path, inner, "models in each other")


@pytest.mark.parametrize("calls", [9, 11])
def test_layers_that_nobody_calls_count_at_each_call_of_their_model(tmp_path, monkeypatch, calls):
    monkeypatch.setattr("nar.capture.onnx.writing.MOST_OPERATORS", 1_000)
    idle = [layer("ReLU", f"r{at}") for at in range(97)]
    inner = model([image(4), layer("ReLU", "y", "x"), *idle])["config"]
    chain = [[["x", 0, 0, {}]], *([["m", at, 0, {}]] for at in range(calls - 1))]
    outer = model([image(4), layer("Functional", "m", calls=chain, **inner)])
    outer["config"]["output_layers"] = [["m", calls - 1, 0]]
    if calls < 10:
        assert captured(tmp_path, outer).graph.nodes == 1 + calls
    else:
        refused(tmp_path, outer, "at most 1,000 operators")


def test_objects_in_objects_without_end_are_refused(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"a":' * 200_000)
    with pytest.raises(CaptureError):
        capture_keras(path, name="it")
    deep = None
    for _ in range(60):
        deep = [deep]
    content = model([image(4), layer("ReLU", "y", calls=[{"args": deep, "kwargs": {}}])])
    refused(tmp_path, content, "arguments at most")


@pytest.mark.slow
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", b" " * (65 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(CaptureError, match="a configuration of at most"):
        capture_keras(path, name="it")


def test_references_to_what_is_not_there_are_refused(tmp_path):
    refused(tmp_path, model([image(4), layer("ReLU", "y", "gone")]), "gone, which is not there")
    calls = [[["x", 0, 7, {}]]]
    refused(tmp_path, model([image(4), layer("ReLU", "y", calls=calls)]), "does not give")


@pytest.mark.parametrize("end", ["keras", "h5"])
def test_damaged_files_are_refused(tmp_path, end):
    content = (HERE / f"sequence.{end}").read_bytes()
    for share in range(1, 8):
        path = tmp_path / f"half.{end}"
        path.write_bytes(content[: len(content) * share // 8])
        with pytest.raises(NarError):
            capture_keras(path, name="it")


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))

    def forward(self, x):
        return self.layers(x)


def test_a_folder_with_a_configuration_of_keras_is_read(tmp_path):
    steps = [
        {"class_name": "Dense", "config": {"name": "a", "units": 8, "activation": "relu",
            "batch_input_shape": [None, 4]}},
        {"class_name": "Dense", "config": {"name": "b", "units": 3}},
    ]  # fmt: skip
    content = {"class_name": "Sequential", "config": {"name": "s", "layers": steps}}
    (tmp_path / "config.json").write_text(json.dumps(content))
    twin = capture_module(Classifier(), CaptureInputs((torch.zeros(1, 4),)), name="it")
    asked = known_or_captured(None, str(tmp_path))
    assert asked.architecture.topology == twin.network.topology


def test_inputs_are_not_stated_of_a_file_that_states_them():
    with pytest.raises(InvalidInputError, match="to state inputs of"):
        known_or_captured(None, str(HERE / "sequence.keras"), asking=Asking(("1x4",)))


def test_an_operation_works_along_the_axis_that_its_call_states(tmp_path):
    calls = [[["x", 0, 0, {"axis": 1}], ["x", 0, 0, {"axis": 1}]]]
    joined = layer("TFOpLambda", "c", calls=calls, function="concat")
    layers = [image(4, 4, 3), joined, layer("Dense", "y", "c", units=2)]
    assert captured(tmp_path, model(layers)).graph.parameters == 3 * 2 + 2


def test_a_transposed_layer_with_gaps_is_as_large_as_keras_makes_it(tmp_path):
    conv = layer("Conv2DTranspose", "t", "x", filters=4, kernel_size=3, dilation_rate=2)
    layers = [image(5, 5, 3), conv, layer("Flatten", "f", "t"), layer("Dense", "y", "f", units=2)]
    weights = 3 * 4 * 9 + 4 + 9 * 9 * 4 * 2 + 2
    assert captured(tmp_path, model(layers)).graph.parameters == weights


def test_an_unknown_layer_at_each_time_has_its_own_weights_alone(tmp_path):
    inner = {"class_name": "mine>Odd", "config": {"name": "odd"}}
    each = layer("TimeDistributed", "t", "x", layer=inner)
    content = model([image(4, 3), layer("Dense", "d", "x", units=3), each], outputs=("t",))
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["layers/time_distributed/layer/vars/0"] = torch.zeros(3, 3).numpy()
        file["layers/dense/vars/0"] = torch.zeros(3, 3).numpy()
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(content))
        archive.write(tmp_path / "w.h5", "model.weights.h5")
    dense = 3 * 3 + 3
    assert capture_keras(path, name="it").graph.parameters == dense + 3 * 3


def test_a_list_of_one_text_is_not_read_again_and_again(tmp_path):
    path = tmp_path / "list.h5"
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = ["{}"] * 3
    with pytest.raises(CaptureError, match="one text as the model_config"):
        capture_keras(path, name="it")


@pytest.mark.parametrize("end", ["keras", "json"])
@pytest.mark.parametrize("content", [b'{"class_name": "Sequ', b"\xff\xfe{}", b"", b"[" * 100_000])
def test_a_damaged_configuration_is_told_with_the_way_out(tmp_path, end, content):
    path = tmp_path / f"model.{end}"
    if end == "json":
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("config.json", content)
    with pytest.raises(CaptureError, match="wanted a configuration in JSON, came a damaged one"):
        capture_keras(path, name="it")
    with pytest.raises(CaptureError, match=r"copy the file again, or save the model again with"):
        capture_keras(path, name="it")


def test_an_archive_whose_bytes_changed_is_told(tmp_path):
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", json.dumps(model([image(4)])) * 9)
    content = bytearray(path.read_bytes())
    content[60:80] = bytes(20)
    path.write_bytes(content)
    with pytest.raises(CaptureError, match=r"wanted an archive with a config\.json, came "):
        capture_keras(path, name="it")


def test_a_long_text_of_hdf5_is_refused_before_it_is_read(tmp_path, monkeypatch):
    """A text of any length lies elsewhere in the file than its attribute; tensors do not count."""
    monkeypatch.setattr("nar.capture.keras_file.MAX_JSON_BYTES", 20_000)
    text = json.dumps(model([image(4), layer("Dense", "y", "x", units=2)]))
    for spaces, tensor in ((0, 50_000), (40_000, 10)):
        path = tmp_path / f"{spaces}.h5"
        with h5py.File(path, "w") as file:
            file.attrs["model_config"] = text + " " * spaces
            file["weights"] = torch.zeros(tensor).numpy()
        if spaces:
            with pytest.raises(CaptureError, match="at most 20,000 bytes, came 4"):
                capture_keras(path, name="it")
        else:
            assert capture_keras(path, name="it").graph.parameters == 4 * 2 + 2


@pytest.mark.parametrize(
    ("axis", "extents"), [([1, 2], (6, 5, 3)), ([2, 3], (6, 5, 3)), ([1, -1], (7, 4))]
)
def test_a_softmax_over_several_axes_is_one_over_all_of_them(tmp_path, axis, extents):
    layers = [image(*extents), layer("Softmax", "y", "x", axis=axis)]
    capture = captured(tmp_path, model(layers))
    assert [op_name(int(each)) for each in capture.graph.op_ids] == ["input", "softmax"]
    assert capture.details.outputs[0].split()[-1] == "x".join(map(str, (1, *extents)))
    written = _model(tmp_path / "config.json")
    given = np.random.default_rng(0).standard_normal((1, *extents)).astype(np.float32)
    found = ReferenceEvaluator(written).run(None, {written.graph.input[0].name: given})[0]
    over = tuple(each % (len(extents) + 1) for each in axis)
    powers = np.exp(given)
    assert np.allclose(found, powers / powers.sum(over, keepdims=True), atol=1e-6)
