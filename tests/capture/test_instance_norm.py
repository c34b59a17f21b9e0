"""Instance norms, as a layer, as a function, decomposed and written out."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from nar.capture.exported import capture_exported

LAYERS = [(nn.InstanceNorm1d, 1), (nn.InstanceNorm2d, 2), (nn.InstanceNorm3d, 3)]
NORMED = "input; relu 0; instance_norm 1"


@pytest.mark.parametrize(("layer", "rank"), LAYERS)
@pytest.mark.parametrize("is_affine", [False, True])
@pytest.mark.parametrize("has_statistics", [False, True])
def test_an_instance_norm_is_one(drawn, layer, rank, is_affine, has_statistics):
    norm = layer(8, affine=is_affine, track_running_stats=has_statistics)
    model = nn.Sequential(nn.ReLU(), norm).to("meta")
    assert drawn(model, (2, 8, *[4] * rank)) == NORMED


# The decomposer of torch itself warns.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*LeafSpec.*is deprecated:FutureWarning")
@pytest.mark.parametrize("is_affine", [False, True])
@pytest.mark.parametrize("has_statistics", [False, True])
def test_an_exporter_decomposes_it_into_a_batch_norm(tmp_path, text_of, is_affine, has_statistics):
    norm = nn.InstanceNorm2d(8, affine=is_affine, track_running_stats=has_statistics)
    module = nn.Sequential(nn.ReLU(), norm).eval()
    program = torch.export.export(module, (torch.ones(2, 8, 4, 4),)).run_decompositions()
    torch.export.save(program, tmp_path / "norm.pt2")
    assert text_of(capture_exported(tmp_path / "norm.pt2", name="norm").graph) == NORMED


def mean(x):
    return x.mean((2, 3), keepdim=True)


def by_variance(self, x):
    deviation = torch.sqrt(x.var((2, 3), keepdim=True, unbiased=False) + 1e-5)
    return (x - mean(x)) / deviation * self.w[:, None, None] + self.v[:, None, None]


def by_squares(self, x):
    return (x - mean(x)) * torch.rsqrt(mean((x - mean(x)) ** 2) + 1e-5)


def as_batch_norm(self, x):
    wide = x.reshape(1, 16, *x.shape[2:])
    scale, shift = self.w.repeat(2), self.v.repeat(2)
    return functional.batch_norm(wide, None, None, scale, shift, training=True).view(x.shape)


@pytest.mark.parametrize(
    "forward",
    [
        by_variance,
        by_squares,
        as_batch_norm,
        lambda self, x: functional.instance_norm(x),
        lambda self, x: functional.instance_norm(x, weight=self.w, bias=self.v),
        lambda self, x: torch.instance_norm(x, self.w, self.v, None, None, True, 0.1, 1e-5, False),
    ],
    ids=["variance", "squares", "batch norm", "function", "affine function", "torch"],
)
def test_an_instance_norm_however_written(drawn, forward):
    assert drawn(lambda self, x: forward(self, x.relu()), (2, 8, 4, 4)) == NORMED


def test_a_batch_norm_without_statistics_stays_one_for_a_single_image(drawn):
    model = nn.BatchNorm2d(8, track_running_stats=False).to("meta")
    assert drawn(model, (1, 8, 4, 4)) == "input; batch_norm 0"
