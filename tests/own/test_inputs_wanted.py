"""Inputs that a condition, a loop, or a method beside an empty forward asks for."""

import pytest
import torch
from torch import nn

from nar.own.inputs import infer_inputs
from nar.own.inputs.parts import give_forward


def texts(module):
    return list(infer_inputs("module", module).texts)


class Pyramid(nn.Module):
    """Takes images of which the side leaves a remainder."""

    def __init__(self, divisor, remainder, raises):
        super().__init__()
        self.read = nn.Conv2d(3, 4, 3, padding=1)
        self.divisor, self.remainder, self.raises = divisor, remainder, raises

    def forward(self, x):
        size = x.size()
        if self.raises:
            if size[2] % self.divisor != self.remainder:
                raise ValueError("the image has a side that does not fit")
        else:
            assert size[2] % self.divisor == self.remainder
        return self.read(x)


@pytest.mark.parametrize(
    ("divisor", "remainder", "raises"), [(8, 1, False), (33, 0, False), (8, 1, True), (9, 2, True)]
)
def test_a_side_leaves_the_remainder_that_is_wanted(divisor, remainder, raises):
    (text,) = texts(Pyramid(divisor, remainder, raises))
    side = int(text.partition(":")[0].rpartition("x")[2])
    assert side % divisor == remainder


class Masked(nn.Module):
    """Computes with its mask, where it has data: numbers leave their tensors."""

    def __init__(self, compute):
        super().__init__()
        self.table, self.out = nn.Embedding(40, 8), nn.Linear(8, 8)
        self.compute = compute

    def forward(self, text, mask):
        longest = int(mask.sum().item())
        return self.out(self.table(text)[:, :longest]) * self.compute(mask)[:, :longest, None]


@pytest.mark.parametrize(
    "compute",
    [lambda mask: 1 - mask, lambda mask: 1.0 - mask, lambda mask: mask - 1, lambda mask: -mask],
)
def test_a_mask_that_is_computed_with_is_of_numbers(compute):
    assert texts(Masked(compute))[1] == "mask=1x32:float32"


class Rolled(nn.Module):
    """Goes through so many frames, one after the other."""

    def __init__(self, frames):
        super().__init__()
        self.read, self.frames = nn.Conv2d(3, 4, 3, padding=1), frames

    def forward(self, frames):
        return sum(self.read(frames[:, step]) for step in range(self.frames))


@pytest.mark.slow
@pytest.mark.parametrize("frames", [2, 19, 40, 100])
def test_as_many_frames_as_a_loop_reads(frames):
    (text,) = texts(Rolled(frames))
    assert int(text.split("x")[1]) >= frames


class Roads(nn.Module):
    """A norm of so many nodes, behind what joins them."""

    def __init__(self, nodes, features):
        super().__init__()
        self.read, self.norm = nn.Linear(features, 4), nn.BatchNorm1d(nodes)

    def forward(self, x, a_hat):
        return self.norm(torch.einsum("ij,bjf->bif", a_hat, self.read(x)))


@pytest.mark.parametrize(("nodes", "features"), [(9, 3), (40, 3), (207, 2)])
def test_nodes_and_what_joins_them_are_as_many(nodes, features):
    assert texts(Roads(nodes, features)) == [
        f"x=1x{nodes}x{features}:float32",
        f"a_hat={nodes}x{nodes}:float32",
    ]


class Agent(nn.Module):
    """Decides by a method of its own."""

    def __init__(self):
        super().__init__()
        self.actor, self.critic = nn.Linear(6, 2), nn.Linear(6, 1)

    def forward(self):
        raise NotImplementedError

    def set_scale(self, scale):
        self.scale = scale

    def act(self, state):
        return self.actor(state), self.critic(state)

    def evaluate(self, state, action):
        return self.critic(state) + action


class Valued(Agent):
    """Says in words that its forward is none."""

    def forward(self, *inputs):
        """Use the methods."""
        raise NotImplementedError("use act")


class Coded(nn.Module):
    """Has one method beside those that set something, and no forward at all."""

    def __init__(self):
        super().__init__()
        self.code = nn.Linear(6, 2)

    def load_table(self, path):
        raise FileNotFoundError(path)

    def compress(self, state):
        return self.code(state)


class Whole(Agent):
    """Has a forward."""

    def forward(self, state):
        return self.actor(state)


@pytest.mark.parametrize(
    ("module", "called"), [(Agent(), "act"), (Valued(), "act"), (Coded(), "compress")]
)
def test_where_the_forward_is_empty_what_decides_is_called(module, called):
    assert give_forward(module) == called
    assert texts(module) == ["state=1x6:float32"]


def test_a_forward_that_computes_is_called():
    module = Whole()
    assert give_forward(module) == ""
    assert "forward" not in vars(module)
