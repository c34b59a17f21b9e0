"""Recurrent cells in a loop are the layer that they unroll."""

import pytest
import torch
from torch import nn

from nar.capture import capture_module


class Loop(nn.Module):
    """A cell over the steps of (length, batch, 8), and a layer on its last state, or on all."""

    def __init__(self, kind, gives_all):
        super().__init__()
        self.cell, self.out = getattr(nn, f"{kind}Cell")(8, 6), nn.Linear(6, 2)
        self.kind, self.gives_all = kind, gives_all

    def forward(self, x):
        zeros = x.new_zeros(x.shape[1], 6)
        state = (zeros, zeros) if self.kind == "LSTM" else zeros
        states = []
        for step in range(x.shape[0]):
            state = self.cell(x[step], state)
            states.append(state[0] if self.kind == "LSTM" else state)
        return self.out(torch.stack(states) if self.gives_all else states[-1])


class Layer(nn.Module):
    """The same by the layer."""

    def __init__(self, kind):
        super().__init__()
        self.layer, self.out = getattr(nn, kind)(8, 6), nn.Linear(6, 2)

    def forward(self, x):
        return self.out(self.layer(x)[0])


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("gives_all", [True, False])
@pytest.mark.parametrize("length", [2, 6, 20])
def test_a_loop_of_a_cell_is_its_layer(kind, gives_all, length):
    x = torch.zeros(length, 3, 8)
    loop, layer = capture_module(Loop(kind, gives_all), x), capture_module(Layer(kind), x)
    assert loop.network.topology == layer.network.topology
    assert loop.graph.parameters == layer.graph.parameters


def test_a_cell_that_reads_its_own_result_stays_a_cell(text_of):
    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(8, 8)

        def forward(self, x):
            state = torch.zeros_like(x)
            for _ in range(3):
                state = self.cell(state + x, state)
            return state

    text = text_of(capture_module(Decoder(), torch.zeros(2, 8)).graph)
    assert text.count("gru") == 3
    assert "scatter" not in text


class Stacked(nn.Module):
    """Two cells in each step of a loop over (batch, length, 8), with states that are learned."""

    def __init__(self, kind):
        super().__init__()
        self.first, self.second = getattr(nn, f"{kind}Cell")(8, 6), getattr(nn, f"{kind}Cell")(6, 6)
        self.out, self.kind = nn.Linear(6, 2), kind

    def forward(self, x):
        zeros = x.new_zeros(x.shape[0], 6)
        one = other = (zeros, zeros) if self.kind == "LSTM" else zeros
        states = []
        for step in x.unbind(1):
            one = self.first(step, one)
            other = self.second(one[0] if self.kind == "LSTM" else one, other)
            states.append(other[0] if self.kind == "LSTM" else other)
        return self.out(torch.stack(states, 1))


class Layers(nn.Module):
    """The same by two layers."""

    def __init__(self, kind):
        super().__init__()
        layer = getattr(nn, kind)
        self.first, self.second = (layer(width, 6, batch_first=True) for width in (8, 6))
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        return self.out(self.second(self.first(x)[0])[0])


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("length", [2, 3, 5, 12])
def test_cells_that_are_stacked_in_one_loop_are_layers(kind, length):
    x = torch.zeros(3, length, 8)
    loop, layers = capture_module(Stacked(kind), x), capture_module(Layers(kind), x)
    assert loop.network.topology == layers.network.topology


class Chunked(nn.Module):
    """A loop over chunks of one step; no states are given to the first cell."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(8, 6), nn.Linear(6, 2)

    def forward(self, x):
        state = None
        for step in x.chunk(x.shape[1], dim=1):
            state = self.cell(step.squeeze(1), state)
        return self.out(state)


def test_a_loop_over_chunks_is_a_layer():
    x = torch.zeros(3, 7, 8)
    chunked = capture_module(Chunked(), x)
    layer = capture_module(Layer("GRU"), x)
    assert chunked.network.topology == layer.network.topology
    [cell] = [each for each in chunked.details if each.path == "cell"]
    assert (cell.input_width, cell.output_width) == (8, 6)


def test_two_cells_that_read_the_same_steps_are_two_layers(text_of):
    class Twins(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = nn.GRUCell(8, 8), nn.GRUCell(8, 8)

        def forward(self, x):
            left = right = torch.zeros_like(x[0])
            for step in range(x.shape[0]):
                left, right = self.left(x[step], left), self.right(x[step], right)
            return left + right

    text = text_of(capture_module(Twins(), torch.zeros(5, 2, 8)).graph)
    assert text == "input; gru 0; gru 0; add 1 2"
