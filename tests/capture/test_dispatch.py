"""Capture of modules: what becomes a node, what an edge, and what neither."""

import re
from collections import OrderedDict
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from nar.base.errors import CaptureError, one_line
from nar.capture import CaptureInputs, capture_module
from nar.capture.torch_internals import fake_mode
from nar.graphs.ops import ATTRIBUTES


def block():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(128, 10)
    )


def attributes(graph, node):
    row = zip(ATTRIBUTES, graph.attributes[node].tolist(), strict=True)
    return {name: number for name, number in row if number}


BLOCK = "input; conv 0; batch_norm 1; relu 2; linear 3"


def test_layers_become_nodes_with_their_attributes(captured, text_of):
    graph = captured(block().to("meta"), (2, 3, 8, 8)).graph
    assert text_of(graph) == BLOCK
    window = {"kernel": 3, "kernel_shape": 1, "stride": 2, "dilation": 1, "rank": 2}
    assert attributes(graph, 1) == {**window, "channel_ratio": 6}
    assert attributes(graph, 4) == {"channel_ratio": -15}
    assert graph.parameters == 3 * 8 * 9 + 8 + 16 + 1290


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["meta", "fake", "real", "real with fake inputs"])
def test_weights_may_be_anywhere(placement, text_of):
    mode = fake_mode()
    image = torch.zeros(2, 3, 8, 8, device="meta")
    if placement == "fake":
        with mode:
            module = block()
    else:
        module = block().to("meta" if placement == "meta" else "cpu")
    if placement == "real":
        image = torch.zeros(2, 3, 8, 8)
    if placement == "real with fake inputs":
        image = mode.from_tensor(torch.zeros(2, 3, 8, 8))
    capture = capture_module(module, CaptureInputs((image,)), name="block")
    assert text_of(capture.graph) == BLOCK
    assert capture.graph.parameters == sum(p.numel() for p in module.parameters())


def test_other_input_sizes_give_the_same_graph(captured):
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    small = captured(module, (1, 3, 8, 8)).graph
    large = captured(module, (4, 3, 16, 12)).graph
    assert (small.attributes == large.attributes).all()
    assert large.flops > small.flops


def test_writing_in_place_changes_nothing(drawn):
    def model(inplace):
        return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(inplace), nn.Conv2d(8, 8, 3)).to("meta")

    assert drawn(model(True), (2, 3, 8, 8)) == "input; conv 0; relu 1; conv 2"
    assert drawn(model(True), (2, 3, 8, 8)) == drawn(model(False), (2, 3, 8, 8))


def test_whoever_reads_a_tensor_later_reads_what_was_written(drawn):
    def forward(self, x):
        hidden = x @ self.matrix
        return torch.relu_(hidden) + hidden.tanh()

    assert drawn(forward, (4, 8)) == "input; linear 0; relu 1; tanh 2; add 2 3"


def test_a_write_is_seen_through_every_view(drawn):
    def forward(self, x):
        hidden = x @ self.matrix
        rows = hidden.view(-1)
        hidden.relu_()
        return rows.sigmoid()

    assert drawn(forward, (4, 8)) == "input; linear 0; relu 1; sigmoid 2"


def test_a_write_to_a_part_is_a_scatter_into_the_whole(drawn):
    def forward(self, x):
        hidden = x @ self.matrix
        hidden[:, :4].relu_()
        return hidden.sigmoid()

    expected = "input; linear 0; slice 1; relu 2; scatter 1 3; sigmoid 4"
    assert drawn(forward, (4, 8)) == expected


def test_the_other_parts_are_read_anew_after_a_write(drawn):
    def forward(self, x):
        left, right = (x @ self.matrix).chunk(2, dim=-1)
        left.relu_()
        return right.sigmoid()

    expected = "input; linear 0; split 1; relu 2; scatter 1 3; split 4; sigmoid 5"
    assert drawn(forward, (4, 8)) == expected


def test_structural_operators_leave_no_trace(drawn):
    def forward(self, x):
        x = x.view(2, 2, 8).transpose(0, 1).contiguous().unsqueeze(0).squeeze(0).clone()
        x = functional.dropout(x.detach().to(torch.float64).float(), training=False)
        return x.expand(3, 2, 2, 8)[:, :, :, :].tanh()

    assert drawn(forward, (4, 8)) == "input; tanh 0"


def test_parts_of_one_value_are_one_split(drawn):
    def by_index(self, x):
        qkv = x.view(4, 3, 8)
        return torch.relu(qkv[:, 0]) + torch.tanh(qkv[:, 1]) + torch.sigmoid(qkv[:, 2])

    def by_chunk(self, x):
        q, k, v = x.chunk(3, dim=-1)
        return torch.relu(q) + torch.tanh(k) + torch.sigmoid(v)

    text = "input; split 0; relu 1; tanh 1; add 2 3; sigmoid 1; add 4 5"
    assert sorted(drawn(by_index, (4, 24)).split("; ")) == sorted(text.split("; "))
    assert drawn(by_chunk, (4, 24)) == drawn(by_index, (4, 24))


def test_what_no_output_reads_is_no_part_of_the_design(drawn):
    def forward(self, x):
        torch.tanh(x @ self.matrix)
        return torch.relu(x)

    assert drawn(forward, (4, 8)) == "input; relu 0"


def test_a_value_read_twice_by_one_operator_is_one_edge(drawn):
    assert drawn(lambda self, x: x * x, (4, 8)) == "input; mul 0"


def test_masks_and_positions_are_attributes_of_their_readers(captured, text_of):
    def forward(self, x, mask):
        positions = torch.arange(8, device=x.device).sin()
        return torch.where(mask, x + positions, x)

    mask = torch.ones(4, 8, dtype=torch.bool, device="meta")
    graph = captured(forward, (4, 8), mask).graph
    assert text_of(graph) == "input; add 0; where 1 0"
    assert [attributes(graph, node) for node in (1, 2)] == [{"constant_operands": 1}] * 2


def test_learned_tensors_read_directly_are_attributes(captured, text_of):
    graph = captured(lambda self, x: torch.cat([self.w * x, self.matrix]), (4, 8)).graph
    assert text_of(graph) == "input; mul 0; concat 1"
    assert [attributes(graph, node) for node in (1, 2)] == [{"parameter_operands": 1}] * 2


def test_integers_only_say_where_to_read(drawn):
    ids = torch.zeros(2, 5, dtype=torch.long, device="meta")
    model = nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 8)).to("meta")
    assert drawn(model, ids) == "embedding; linear 0"


def test_a_shared_layer_called_twice_is_two_nodes(captured, text_of):
    layer = nn.Linear(8, 8).to("meta")
    graph = captured(nn.Sequential(layer, nn.ReLU(), layer), (4, 8)).graph
    assert text_of(graph) == "input; linear 0; relu 1; linear 2"
    assert graph.parameters == 72


def test_tied_weights_count_once(captured):
    first, second = nn.Embedding(10, 8), nn.Linear(8, 10, bias=False)
    second.weight = nn.Parameter(first.weight)
    ids = torch.zeros(2, 5, dtype=torch.long)
    assert captured(nn.Sequential(first, second), ids).graph.parameters == 80


def test_the_order_in_which_layers_were_made_is_irrelevant(captured):
    class Two(nn.Module):
        def __init__(self, order):
            super().__init__()
            for name in order:
                self.add_module(name, nn.Linear(8, 8, device="meta"))

        def forward(self, x):
            return self.a(x).relu() + self.b(x)

    assert captured(Two("ab"), (4, 8)).graph == captured(Two("ba"), (4, 8)).graph


@dataclass
class Output:
    logits: Tensor
    hidden: tuple[Tensor, ...]


@pytest.mark.parametrize(
    "pack",
    [
        lambda a, b: (a, [b]),
        lambda a, b: OrderedDict(first=a, second={"b": b}),
        lambda a, b: Output(a, (b,)),
    ],
    ids=["tuple", "mapping", "dataclass"],
)
def test_every_output_counts_however_it_is_packed(drawn, pack):
    text = drawn(lambda self, x: pack(x.relu(), x.tanh()), (4, 8))
    assert sorted(text.split("; ")) == ["input", "relu 0", "tanh 0"]


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_recurrent_layer_is_one_node_however_long_its_input(drawn, layer):
    module = layer(8, 4, num_layers=2, bidirectional=True, batch_first=True, device="meta")
    name = layer.__name__.lower()
    text = drawn(nn.Sequential(module), (2, 50, 8))
    assert text == f"input; {name} 0"


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU])
def test_a_packed_sequence_is_one_node_too(drawn, layer):
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = layer(8, 4, bidirectional=True)

        def forward(self, x):
            packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]))
            output, _ = self.steps(packed)
            return nn.utils.rnn.pad_packed_sequence(output)[0].relu()

    name = layer.__name__.lower()
    assert drawn(Packed(), torch.zeros(5, 2, 8)) == f"input; {name} 0; relu 1"


def test_real_inputs_give_control_flow_their_values(drawn):
    def forward(self, x):
        return x.relu() if x.sum().item() > 0 else x.tanh()

    module = nn.Module()
    module.forward = lambda x: forward(module, x)
    assert drawn(module, torch.ones(2, 2)) == "input; relu 0"


def test_an_unknown_operator_keeps_its_name_and_is_counted(captured, text_of):
    capture = captured(lambda self, x: torch.special.bessel_j0(x) * x, (4, 8))
    assert capture.unknown_operators == {"aten::special_bessel_j0": 1}
    assert text_of(capture.graph).startswith("input; unknown:")


def test_flops_are_those_of_torch(captured):
    from torch.utils.flop_counter import FlopCounterMode

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, groups=1), nn.ConvTranspose2d(8, 4, 3), nn.Flatten()
    )
    model.append(nn.Linear(4 * 15 * 15, 10))
    image = torch.zeros(2, 3, 28, 28)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(image)
    assert captured(model, image).graph.flops == counter.get_total_flops()


def test_the_mode_and_the_fast_path_are_restored(captured):
    module = nn.Sequential(nn.Dropout(), nn.Linear(8, 8).eval()).to("meta")
    captured(module, (4, 8))
    assert [child.training for child in module] == [True, False]
    assert torch.backends.mha.get_fastpath_enabled()


def test_a_failure_names_model_operator_and_reason(captured, capfd):
    with pytest.raises(CaptureError) as caught:
        captured(lambda self, x: torch.relu(x) @ x, (4, 8))
    assert caught.value.model == "model"
    assert caught.value.operator == "aten::mm"
    reason = r"test_dispatch.py:\d+: RuntimeError: a and b must have same reduction dim"
    assert re.match(reason, caught.value.reason)
    assert capfd.readouterr().err == ""


def test_one_line_keeps_the_first_line_that_says_something():
    assert one_line(ValueError("\n\n first \n second")) == "ValueError: first"
