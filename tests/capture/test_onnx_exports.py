"""Files that torch writes: the graph of the module, however the exporter spells its operators."""

import warnings

import onnx
import pytest
import torch
from torch import nn
from torch.nn import functional

from nar.capture import CaptureInputs, capture_module
from nar.capture.onnx.file import capture_onnx
from nar.graphs.canonical import exact_fingerprint, topology_fingerprint


class Transformer(nn.Module):
    """A vision transformer: extents of the input decide how it is cut and joined."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 8, 8)
        self.token, self.positions = (
            nn.Parameter(torch.rand(1, 1, 8)),
            nn.Parameter(torch.rand(17, 8)),
        )
        self.packed, self.joined = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        batch, length, width = x.shape
        packed = self.packed(x).reshape(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        q, k, v = packed.unbind(0)
        attended = functional.scaled_dot_product_attention(q, k, v)
        return x + self.joined(attended.transpose(1, 2).reshape(batch, length, width))


class Windows(nn.Module):
    """Rolled along two axes, into windows, and back, as in Swin."""

    def __init__(self):
        super().__init__()
        self.mixed = nn.Linear(8, 8)

    def forward(self, x):
        batch, height, width, channels = x.shape
        x = functional.pad(x, (0, 0, 0, -width % 4, 0, -height % 4)).roll((-2, -2), (1, 2))
        x = x.view(batch, height // 4, 4, width // 4, 4, channels).transpose(2, 3)
        x = self.mixed(x.reshape(-1, 16, channels)).relu()
        x = x.view(batch, height // 4, width // 4, 4, 4, channels).transpose(2, 3)
        return x.reshape(batch, height, width, channels).roll((2, 2), (1, 2))


class Norms(nn.Module):
    """Group norms of every kind, in one row."""

    def __init__(self):
        super().__init__()
        shapes = ((2, True), (1, False), (8, True))
        layers = [nn.GroupNorm(groups, 8, affine=affine) for groups, affine in shapes]
        self.layers = nn.Sequential(*(nn.Sequential(layer, nn.ReLU()) for layer in layers))

    def forward(self, x):
        return self.layers(x)


CASES = {
    "transformer": (Transformer, (1, 3, 32, 32)),
    "windows": (Windows, (1, 8, 8, 8)),
    "norms": (Norms, (1, 8, 6, 6)),
}


def randomised(module):
    """Every weight with values of its own: an exporter stores equal ones once."""
    with torch.no_grad():
        for weight in module.parameters():
            weight.uniform_()
    return module.eval()


def save(module, inputs, path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about its own older exporter
        torch.onnx.export(
            module, (inputs,), path, dynamo=False, input_names=["x"], opset_version=17, **options
        )
    return path


@pytest.mark.slow
@pytest.mark.parametrize("axes", [None, {"x": {0: "batch"}}], ids=["static", "free batch"])
@pytest.mark.parametrize("case", CASES)
def test_a_file_has_the_graph_of_its_module(tmp_path, case, axes):
    build, shape = CASES[case]
    module, inputs = randomised(build()), torch.zeros(shape)
    recorded = capture_module(module, CaptureInputs((inputs,)), name=case).graph
    path = save(module, inputs, tmp_path / "model.onnx", dynamic_axes=axes)
    read = capture_onnx(path, name=case).graph
    assert exact_fingerprint(read) == exact_fingerprint(recorded)
    assert read.flops == recorded.flops


def test_extents_of_the_image_may_be_free(tmp_path):
    module, inputs = randomised(nn.Sequential(nn.Linear(8, 8), Norms())), torch.zeros(2, 8, 5, 8)
    axes = {"x": {0: "batch", 2: "height"}}
    path = save(module, inputs, tmp_path / "model.onnx", dynamic_axes=axes)
    recorded = capture_module(module, CaptureInputs((inputs,)), name="module").graph
    assert (capture_onnx(path, name="file").graph.op_ids == recorded.op_ids).all()


class Language(nn.Module):
    """Tokens, positions that no input changes, biases read through a buffer, tied weights."""

    def __init__(self, *, is_tied):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(20, 8), nn.Embedding(12, 8)
        self.biases = nn.Parameter(torch.zeros(9, 1))
        self.head = nn.Linear(8, 20, bias=False)
        if is_tied:
            self.head.weight = self.tokens.weight
        self.register_buffer("places", torch.arange(6)[None])
        self.register_buffer("distances", torch.arange(36) % 9)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(self.places)
        biases = self.biases[self.distances].view(6, 6)
        return self.head(torch.softmax(x @ x.transpose(1, 2) + biases, -1) @ x)


@pytest.mark.parametrize("folds", [True, False])
@pytest.mark.parametrize("is_tied", [True, False])
def test_positions_are_looked_up_and_tied_weights_are_counted_once(tmp_path, is_tied, folds):
    module, ids = randomised(Language(is_tied=is_tied)), torch.zeros(1, 6, dtype=torch.int64)
    recorded = capture_module(module, CaptureInputs((ids,)), name="module").graph
    path = save(module, ids, tmp_path / "model.onnx", do_constant_folding=folds)
    read = capture_onnx(path, name="file").graph
    assert topology_fingerprint(read) == topology_fingerprint(recorded)
    # What is folded stores the biases of all places, not those of all distances.
    assert read.parameters == recorded.parameters + (36 - 9 if folds else 0)
    assert recorded.parameters == 20 * 8 * (1 if is_tied else 2) + 12 * 8 + 9


def test_weights_whose_numbers_are_not_there_are_counted_as_the_file_says(tmp_path):
    path = save(
        randomised(Language(is_tied=True)),
        torch.zeros(1, 6, dtype=torch.int64),
        tmp_path / "model.onnx",
    )
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if len(tensor.dims) == 2 and tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.ClearField("raw_data")
    onnx.save(model, path)
    assert capture_onnx(path, name="file").graph.parameters == 2 * 20 * 8 + 12 * 8 + 36


def test_an_instance_norm_is_one(tmp_path, text_of):
    module = nn.Sequential(nn.InstanceNorm2d(8, affine=True), nn.ReLU())
    path = save(randomised(module), torch.zeros(1, 8, 6, 6), tmp_path / "model.onnx")
    graph = capture_onnx(path, name="norm").graph
    assert text_of(graph) == "input; instance_norm 0; relu 1"
    assert graph.parameters == 16


def test_equal_weights_are_stored_once_and_counted_as_often_as_they_are(tmp_path):
    module = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight.fill_(0.5)
    graph = capture_onnx(save(module, torch.zeros(2, 8), tmp_path / "m.onnx"), name="m").graph
    assert graph.parameters == 144
