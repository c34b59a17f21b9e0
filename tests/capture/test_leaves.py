"""Which inputs are data, and which are numbers beside it."""

import pytest
import torch
from torch import nn

from nar.capture import capture_module


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.time = nn.Conv2d(3, 8, 3), nn.Linear(4, 8)

    def forward(self, x, t):
        angles = t[:, None].float() * torch.arange(1, 3, device=t.device)
        when = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        return self.stem(x) + when[:, :, None, None]


@pytest.mark.parametrize("batch", [1, 2])
def test_a_step_is_the_same_as_an_integer_and_as_a_float(batch):
    image = torch.zeros(batch, 3, 8, 8)
    as_float = capture_module(Denoiser(), (image, torch.zeros(batch)))
    as_integer = capture_module(Denoiser(), (image, torch.zeros(batch, dtype=torch.long)))
    assert as_float.network == as_integer.network


class Nodes(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x, charge):
        return self.layer(x)[:, 0] * charge.sin()


def test_a_number_for_each_node_is_data():
    graph = capture_module(Nodes(), (torch.zeros(5, 4), torch.zeros(5))).graph
    assert graph.op_ids.tolist().count(0) == 2  # inputs
