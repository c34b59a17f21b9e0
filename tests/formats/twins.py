"""The designs of the files of this folder, as modules of PyTorch."""

import warnings
from functools import cache

import torch
from torch import nn

from nar.capture import CaptureInputs, capture_module
from nar.capture.onnx.file import capture_onnx


class SeparableNet(nn.Module):
    """Convolutions, depthwise ones with and without stride, a shortcut, a classifier."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.wide = nn.Conv2d(8, 16, 1)
        self.depth = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.narrow = nn.Conv2d(16, 8, 1)
        self.down = nn.Conv2d(8, 8, 3, 2, 1, groups=8)
        self.one, self.three = nn.Conv2d(8, 8, 1), nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = nn.functional.relu6(self.stem(x))
        y = nn.functional.relu6(self.depth(nn.functional.relu6(self.wide(x))))
        x = x + self.narrow(y)
        x = nn.functional.max_pool2d(nn.functional.relu6(self.down(x)), 2)
        x = torch.cat([self.one(x), self.three(x)], 1)
        return self.head(x.mean((2, 3))).softmax(-1)


class Transformer(nn.Module):
    """Tokens, learned positions, a block of attention and an MLP, norms before each."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.positions = nn.Parameter(torch.randn(12, 16))
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(2))
        for each in self.norms.parameters():
            nn.init.normal_(each)  # exporters leave out scales of one
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions
        y = self.norms[0](x)
        parts = (layer(y).unflatten(-1, (2, 8)).transpose(1, 2) for layer in (
            self.query, self.key, self.value,
        ))  # fmt: skip
        y = nn.functional.scaled_dot_product_attention(*parts)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        x = x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))
        return self.head(x.mean(1))


class Recurrent(nn.Module):
    """A layer of LSTM cells between linear layers."""

    def __init__(self):
        super().__init__()
        self.before, self.cells, self.after = nn.Linear(4, 8), nn.LSTM(8, 10), nn.Linear(10, 3)

    def forward(self, x):
        return self.after(self.cells(self.before(x).tanh())[0])


class SequenceNet(nn.Module):
    """Convolutions along a sequence."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv1d(2, 8, 3, padding=1), nn.Conv1d(8, 8, 3, 2, 1)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = self.two(self.one(x).relu()).relu()
        return self.head(nn.functional.adaptive_avg_pool1d(x, 1).flatten(1))


# Name of the files -> the module, and its input.
TWINS = {
    "separable": (SeparableNet, torch.zeros(1, 3, 32, 32)),
    "transformer": (Transformer, torch.zeros(1, 12, dtype=torch.int64)),
    "recurrent": (Recurrent, torch.zeros(6, 1, 4)),
    "sequence": (SequenceNet, torch.zeros(1, 2, 64)),
}


@cache
def of_torch(name):
    """The capture of a design from its module."""
    module, example = TWINS[name]
    return capture_module(module(), CaptureInputs((example,)), name=name)


def of_onnx(name, folder):
    """The capture of a design from the ONNX file that torch writes."""
    module, example = TWINS[name]
    path = folder / f"{name}.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter is deprecated
        torch.onnx.export(module().eval(), example, path, dynamo=False)
    return capture_onnx(path, name=name)
