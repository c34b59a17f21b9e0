"""Norms by channel, written out: batch norms with frozen statistics, and group norms."""

import pytest
import torch
from torch import nn
from torch.nn import functional


class Channels(nn.Module):
    """A layer, and its 8 channels scaled and shifted in some way."""

    def __init__(self, layer, scaled):
        super().__init__()
        self.layer = layer
        self.scaled = scaled
        self.weight, self.bias = (nn.Parameter(torch.ones(8, 1, 1)) for _ in range(2))
        for name in ("mean", "deviation"):
            self.register_buffer(name, torch.ones(1, 8, 1, 1))

    def forward(self, x):
        return self.scaled(self, self.layer(x))


def by_hand(self, x):
    return (x - self.mean) / self.deviation * self.weight + self.bias


@pytest.mark.parametrize(
    ("scaled", "text"),
    [
        (lambda self, x: x * self.deviation + self.mean, "batch_norm 1"),
        (by_hand, "batch_norm 1"),
        (lambda self, x: x * self.weight + self.bias, "mul 1; add 2"),
        (lambda self, x: x.relu() * self.deviation + self.mean, "relu 1; mul 2; add 3"),
        (lambda self, x: x + self.mean, "add 1"),
    ],
    ids=["frozen", "by hand", "learned only", "not of a convolution", "shift only"],
)
def test_a_batch_norm_with_frozen_statistics(drawn, scaled, text):
    model = Channels(nn.Conv2d(3, 8, 3), scaled).to("meta")
    assert drawn(model, (2, 3, 9, 9)) == f"input; conv 0; {text}"


@pytest.mark.parametrize(
    ("scaled", "text"),
    [
        (by_hand, "batch_norm 1"),
        (lambda self, x: by_hand(self, by_hand(self, x)), "batch_norm 1; batch_norm 2"),
        (
            lambda self, x: by_hand(self, x) + by_hand(self, x),
            "batch_norm 1; batch_norm 1; add 2 3",
        ),
        (
            lambda self, x: (x - self.mean) * self.deviation * self.weight + self.bias,
            "batch_norm 1",
        ),
        (lambda self, x: x * self.weight, "mul 1"),
        (lambda self, x: x * self.weight + self.bias, "mul 1; add 2"),
        (
            lambda self, x: (x - self.mean) / self.deviation * self.weight,
            "sub 1; div 2; mul 3",
        ),
        (
            lambda self, x: self.deviation / (x - self.mean) * self.weight + self.bias,
            "sub 1; div 2; mul 3; add 4",
        ),
    ],
    ids=["once", "twice", "two branches", "by product", "layer scale", "affine", "no bias", "over"],
)
def test_four_steps_are_a_batch_norm_below_any_layer(drawn, scaled, text):
    model = Channels(nn.MaxPool2d(2), scaled).to("meta")
    assert drawn(model, (2, 8, 8, 8)) == f"input; max_pool 0; {text}"


def grouped(groups):
    def forward(self, x):
        cut = x.relu().reshape(x.shape[0], groups, -1)
        centred = cut - cut.mean(-1, keepdim=True)
        normal = centred / torch.sqrt(centred.pow(2).mean(-1, keepdim=True) + 1e-5)
        shape = (1, 8, *[1] * (x.dim() - 2))
        return normal.reshape(x.shape) * self.w.reshape(shape) + self.v.reshape(shape)

    return forward


@pytest.mark.parametrize(
    ("groups", "shape"),
    [
        (4, (2, 8)),
        *[(groups, shape) for groups in (1, 4, 8) for shape in ((2, 8, 6), (2, 8, 4, 4))],
    ],
)
def test_a_group_norm_however_written(captured, groups, shape):
    wanted = captured(
        lambda self, x: functional.group_norm(x.relu(), groups, self.w, self.v), shape
    )
    assert captured(grouped(groups), shape).graph == wanted.graph


def test_a_layer_norm_over_channels_in_front_is_none_of_groups(drawn):
    def forward(self, x):
        centred = x - x.mean(1, keepdim=True)
        normal = centred / torch.sqrt(centred.pow(2).mean(1, keepdim=True) + 1e-5)
        return normal * self.w[:, None, None] + self.v[:, None, None]

    assert drawn(forward, (2, 8, 4, 4)) == "input; layer_norm 0"


def test_a_layer_norm_by_head_is_none_of_groups(drawn):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        normal = centred * torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + 1e-5)
        return normal * self.matrix

    assert drawn(forward, (2, 5, 8, 8)) == "input; layer_norm 0"
