"""Forms that are known without a computation are those that the computation gives."""

import pytest
import torch

from nar.capture.forms import known_result

ATEN = torch.ops.aten
TENSORS = {
    "whole": lambda: torch.empty(2, 8, 4, 4),
    "channels last": lambda: torch.empty(2, 8, 4, 4).to(memory_format=torch.channels_last),
    "turned": lambda: torch.empty(2, 8, 4, 4).permute(0, 2, 3, 1),
    "part": lambda: torch.empty(2, 8, 4, 6)[..., :4],
    "half": lambda: torch.empty(2, 8, 4, 4, dtype=torch.float16),
    "places": lambda: torch.empty(2, 8, 1, 1),
    "row": lambda: torch.empty(4),
    "counts": lambda: torch.empty(2, 8, 4, 4, dtype=torch.int64),
    "number": lambda: 2.0,
}


def form(tensor):
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device.type


@pytest.mark.parametrize("first", sorted(TENSORS.keys() - {"number"}))
@pytest.mark.parametrize("second", TENSORS)
@pytest.mark.parametrize("function", [ATEN.add.Tensor, ATEN.mul.Tensor, ATEN.div.Tensor])
def test_arithmetic(function, first, second):
    with torch.device("meta"):
        args = TENSORS[first](), TENSORS[second]()
        known = known_result(function, args)
        assert known is None or form(known) == form(function(*args))


@pytest.mark.parametrize("name", sorted(TENSORS.keys() - {"number", "counts"}))
@pytest.mark.parametrize("function", [ATEN.relu.default, ATEN.hardswish.default, ATEN.exp.default])
def test_elementwise(function, name):
    with torch.device("meta"):
        tensor = TENSORS[name]()
        assert form(known_result(function, (tensor,))) == form(function(tensor))


def test_a_number_may_stand_first(captured):
    def forward(self, x):
        return torch.ops.aten.add.Tensor(2.0, x)

    assert captured(forward, (2, 8)).graph.nodes == 2


@pytest.mark.parametrize("tensor", [torch.empty(3), torch.empty(3, dtype=torch.int64).to("meta")])
def test_other_tensors_are_computed(tensor):
    assert known_result(ATEN.exp.default, (tensor,)) is None
