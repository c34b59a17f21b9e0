"""One layer in many spellings: biases and scales written out, norms as TensorFlow writes them."""

import pytest
import torch
from torch import nn
from torch.nn import functional


class Written(nn.Module):
    """A layer of 8 channels, and what is done to its result."""

    def __init__(self, layer, function):
        super().__init__()
        self.layer, self.function = layer, function
        for name in ("w", "v", "mean", "variance"):
            setattr(self, name, nn.Parameter(torch.ones(8)))

    def forward(self, x):
        return self.function(self, self.layer(x))


def by_channel(vector):
    return vector.view(1, -1, 1, 1)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda self, x: x + by_channel(self.v), "input; conv 0"),
        (lambda self, x: by_channel(self.v) + x, "input; conv 0"),
        (lambda self, x: x + self.v[:, None, None], "input; conv 0"),
        (lambda self, x: x + by_channel(self.v) + by_channel(self.w), "input; conv 0; add 1"),
        (lambda self, x: x + self.v[:4].sum(), "input; conv 0; add 1"),
        (lambda self, x: x * by_channel(self.w), "input; conv 0; mul 1"),
    ],
    ids=["after", "before", "by index", "twice", "one number", "a scale"],
)
def test_a_bias_after_a_convolution_is_its_own(drawn, function, text):
    model = Written(nn.Conv2d(3, 8, 3, bias=False), function).to("meta")
    assert drawn(model, (2, 3, 9, 9)) == text


def test_a_convolution_that_has_a_bias_takes_no_other(drawn):
    model = Written(nn.Conv2d(3, 8, 3), lambda self, x: x + by_channel(self.v)).to("meta")
    assert drawn(model, (2, 3, 9, 9)) == "input; conv 0; add 1"


@pytest.mark.parametrize(
    ("affine", "function", "text"),
    [
        (False, lambda self, x: x * by_channel(self.w) + by_channel(self.v), ""),
        (False, lambda self, x: x * by_channel(self.w), ""),
        (False, lambda self, x: x + by_channel(self.v), ""),
        (True, lambda self, x: x * by_channel(self.w) + by_channel(self.v), "; mul 1; add 2"),
        (False, lambda self, x: (x + by_channel(self.v)) * by_channel(self.w), "; mul 1"),
    ],
    ids=["both", "a scale", "a shift", "a second scale", "in another order"],
)
def test_a_scale_and_a_shift_after_a_batch_norm_are_its_own(drawn, affine, function, text):
    norm = nn.BatchNorm2d(8, affine=affine)
    assert drawn(Written(norm, function).to("meta"), (2, 8, 9, 9)) == f"input; batch_norm 0{text}"


def by_keras(self, x):
    inverse = torch.rsqrt(by_channel(self.variance) + 1e-3) * by_channel(self.w)
    return (x - by_channel(self.mean)) * inverse + by_channel(self.v)


@pytest.mark.parametrize("layer", [nn.Conv2d(3, 8, 3, bias=False), nn.MaxPool2d(2)])
def test_a_batch_norm_whose_statistics_are_parameters(drawn, layer):
    channels = 3 if isinstance(layer, nn.Conv2d) else 8
    name = "conv" if isinstance(layer, nn.Conv2d) else "max_pool"
    text = drawn(Written(layer, by_keras).to("meta"), (2, channels, 9, 9))
    assert text == f"input; {name} 0; batch_norm 1"


def variance_of(x):
    return (x * x).mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2


def deviation_of(x):
    return torch.sqrt((x - x.mean(-1, keepdim=True)).pow(2).mean(-1, keepdim=True) + 1e-6)


def by_inverse(self, x):
    scale = torch.rsqrt(variance_of(x) + 1e-6) * self.w
    return x * scale + (self.v - x.mean(-1, keepdim=True) * scale)


def by_flax(self, x):
    return (x - x.mean(-1, keepdim=True)) * (torch.rsqrt(variance_of(x) + 1e-6) * self.w) + self.v


def by_tf2onnx(self, x):
    scale = (1 / deviation_of(x)) * self.w
    return x * scale + (self.v - x.mean(-1, keepdim=True) * scale)


@pytest.mark.parametrize("function", [by_inverse, by_flax, by_tf2onnx])
def test_a_layer_norm_as_other_frameworks_write_it(drawn, captured, function):
    wanted = captured(lambda self, x: functional.layer_norm(x, (8,), self.w, self.v), (2, 5, 8))
    assert drawn(function, (2, 5, 8)) == "input; layer_norm 0"
    assert captured(function, (2, 5, 8)).graph == wanted.graph


def other_mean(self, x):
    scale = torch.rsqrt(variance_of(x) + 1e-6) * self.w
    return x * scale + (self.v - x.relu().mean(-1, keepdim=True) * scale)


def other_scale(self, x):
    scale = torch.rsqrt(variance_of(x) + 1e-6) * self.w
    return x * scale + (self.v - x.mean(-1, keepdim=True) * torch.rsqrt(variance_of(x) + 1e-6))


@pytest.mark.parametrize("function", [other_mean, other_scale])
def test_what_only_looks_like_a_norm_is_none(drawn, function):
    assert "layer_norm" not in drawn(function, (2, 5, 8))


def test_gelu_by_the_complement_of_erf(drawn):
    def by_jax(self, x):
        return 0.5 * x * (1 - torch.erf(-x * 0.5**0.5))

    assert drawn(by_jax, (2, 8)) == "input; gelu 0"
