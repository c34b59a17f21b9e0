"""Models that were written for another machine: CUDA, groups of processes, C++ parts."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nar.base.errors import CaptureError
from nar.capture import capture_module
from nar.zoo.libraries import ready_for_libraries

WITHOUT_CUDA = pytest.mark.skipif(torch.cuda.is_available(), reason="a machine without CUDA")


class Layer(nn.Module):
    """A layer, and a function of it and of its input."""

    def __init__(self, function, width=8):
        super().__init__()
        self.layer = nn.Linear(8, width)
        self.function = function

    def forward(self, *inputs):
        return self.function(self.layer, *inputs)


def reduced(layer, x):
    y = layer(x)
    torch.distributed.all_reduce(y)
    return y


def gathered(layer, x):
    y = layer(x)
    given = [torch.empty_like(y)]
    torch.distributed.all_gather(given, y)
    return given[0]


@WITHOUT_CUDA
@pytest.mark.parametrize(
    "function",
    [
        lambda layer, x: layer(x.cuda()),
        lambda layer, x: layer(x.to("cuda")),
        lambda layer, x: layer(x.to(device="cuda:0", non_blocking=True)),
        lambda layer, x: layer(x) + torch.zeros(1, device="cuda").cuda() * 0,
        lambda layer, x: layer(x.type(torch.cuda.FloatTensor)),
    ],
    ids=["cuda", "to", "to by name", "made there", "a type of it"],
)
def test_a_device_that_is_not_there_is_where_the_weights_are(function, text_of):
    graph = capture_module(Layer(function), torch.zeros(1, 8)).graph
    assert text_of(graph).startswith("input; linear 0")


@pytest.mark.parametrize("function", [reduced, gathered])
def test_a_group_of_processes_has_one_member(function, text_of):
    graph = capture_module(Layer(function), torch.zeros(1, 8)).graph
    assert text_of(graph).startswith("input; linear 0")
    assert "unknown" not in text_of(graph)


def test_what_is_no_matter_of_the_machine_is_not_tried_again():
    runs = []

    def fails(layer, x):
        runs.append(1)
        raise ValueError("not mine")

    with pytest.raises(CaptureError, match="not mine"):
        capture_module(Layer(fails), torch.zeros(1, 8))
    assert len(runs) == 3  # on meta, fake and real tensors


def test_boxes_are_sorted_out_without_the_cpp_part_of_torchvision(text_of):
    with ready_for_libraries():
        torchvision = pytest.importorskip("torchvision")

    def boxes(layer, x):
        found = layer(x)
        return found[torchvision.ops.nms(found, found[:, 0], 0.5)]

    with ready_for_libraries():  # torchvision calls what torch warns of
        text = text_of(capture_module(Layer(boxes, 4), torch.zeros(5, 8)).graph)
    assert text.startswith("input; linear 0")
    assert "nms" in text


def test_a_derivative_that_forward_computes_is_left_out_and_said(text_of):
    def force(layer, x):
        energy = layer(x).sum()
        return -torch.autograd.grad(energy, x)[0]

    capture = capture_module(Layer(force), torch.zeros(3, 8))
    assert text_of(capture.graph) == "input; linear 0; sum 1; neg 2"
    assert capture.unread.without == ("the derivative that its forward computes",)


def test_a_type_that_is_taken_from_another_tensor(text_of):
    module = Layer(lambda layer, x: layer(x.double().type(x.type()))).to("meta")
    graph = capture_module(module, torch.zeros(3, 8, device="meta")).graph
    assert text_of(graph) == "input; linear 0"


@pytest.mark.parametrize(
    "product", [torch.sparse.mm, torch.mm, lambda a, x: a @ x, lambda a, x: a.coalesce() @ x]
)
def test_a_product_with_a_sparse_tensor_is_a_product(product, text_of):
    module = Layer(lambda layer, x, a: product(a, layer(x)))
    capture = capture_module(module, (torch.zeros(5, 8), torch.eye(5).to_sparse()))
    assert text_of(capture.graph) == "input; linear 0; input; matmul 2 1"
    assert capture.graph.flops == 2 * (5 * 8 * 8 + 5 * 5 * 8)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_the_order_of_packed_sequences_is_no_part_of_a_design(kind, is_sorted, text_of):
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = getattr(nn, kind)(8, 6, batch_first=True)

        def forward(self, x, lengths):
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=is_sorted)
            return pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0]

    lengths = torch.tensor([5, 4, 2] if is_sorted else [2, 5, 4])
    graph = capture_module(Packed(), (torch.zeros(3, 5, 8), lengths)).graph
    assert text_of(graph) == f"input; {kind.lower()} 0"


def test_rows_that_a_model_chooses_itself_are_part_of_it(text_of):
    module = Layer(lambda layer, x, rows: layer(x).index_select(0, rows))
    graph = capture_module(module, (torch.zeros(5, 8), torch.tensor([1, 0]))).graph
    assert text_of(graph) == "input; linear 0; index 1"
