"""Sizes that torch would refuse, where capture does not run the operator but knows its shape."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from nar.base.errors import CaptureError
from nar.capture import CaptureInputs, capture_module


@pytest.mark.parametrize(
    ("module", "operator", "wanted"),
    [
        (nn.Linear(4, 4), "aten::linear", "input: wanted size [4], came [5]"),
        (nn.LayerNorm(4), "aten::layer_norm", "input: wanted size [4], came [5]"),
        (nn.LayerNorm((3, 5)), "aten::layer_norm", "input: wanted size [3, 5], came [2, 5]"),
        (nn.BatchNorm1d(3), "aten::batch_norm", "channels: wanted size [3], came [2]"),
        (
            lambda module, x: torch.instance_norm(
                x, module.w, None, None, None, True, 0.1, 1e-5, False
            ),
            "aten::instance_norm",
            "channels: wanted size [8], came [2]",
        ),
        (
            lambda module, x: functional.layer_norm(x, weight=module.w, normalized_shape=[8]),
            "aten::layer_norm",
            "input: wanted size [8], came [5]",
        ),
    ],
)
def test_a_size_that_torch_would_refuse_is_refused(captured, module, operator, wanted):
    with pytest.raises(CaptureError) as refused:
        captured(module, (1, 2, 5))
    assert operator in str(refused.value)
    assert wanted in str(refused.value)


@pytest.mark.parametrize(("key", "value"), [((2, 6, 3), (2, 6, 8)), ((2, 6, 4), (2, 7, 8))])
def test_attention_over_sizes_that_do_not_fit_is_refused(captured, key, value):
    class Attention(nn.Module):
        def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            return functional.scaled_dot_product_attention(query, key, value)

    inputs = tuple(torch.empty(shape, device="meta") for shape in ((2, 5, 4), key, value))
    with pytest.raises(CaptureError, match=r"scaled_dot_product_attention: .*: wanted size"):
        capture_module(Attention(), CaptureInputs(inputs), name="attention")
