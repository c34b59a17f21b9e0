"""Modules without weights: where their parameters live, and what ties them."""

import warnings

import pytest
import torch
from torch import nn

from nar.base.errors import CaptureError
from nar.capture import CaptureInputs
from nar.own import capture_architecture
from nar.zoo.building import Plan, capture_plan, operating, weightless


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.rates = torch.linspace(0, 1, 3).tolist()
        self.words = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        return self.head(self.words(ids))


def test_weights_take_no_memory_and_constants_keep_their_values():
    with weightless():
        module = Tied()
    assert {parameter.is_meta for parameter in module.parameters()} == {True}
    assert module.rates == [0.0, 0.5, 1.0]


def test_tied_weights_stay_tied():
    with weightless():
        module = Tied()
    assert module.head.weight is module.words.weight


def test_outside_weights_are_real_again():
    with pytest.raises(ValueError, match="stop"), weightless():
        raise ValueError("stop")
    assert not nn.Linear(2, 2).weight.is_meta


def test_a_model_that_cannot_be_built_is_a_capture_error():
    plan = Plan(lambda: nn.Linear(-1, 2), lambda _: CaptureInputs())
    with pytest.raises(CaptureError, match="my model: capture failed: RuntimeError"):
        capture_plan("my model", plan)


def test_warnings_of_a_library_stay_inside():
    def build():
        warnings.warn("deprecated", FutureWarning, stacklevel=1)
        return nn.ReLU()

    plan = Plan(build, lambda _: CaptureInputs((torch.zeros(1, 2),)))
    assert capture_plan("noisy", plan).graph.nodes == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["timm:test_resnet", "vit_pytorch:simple_vit.SimpleViT"])
def test_a_surgery_changes_the_models_of_any_source_before_they_are_captured(name):
    def surgery(module, inputs):
        return nn.Sequential(nn.Identity(), nn.Flatten(), nn.LazyLinear(2)), CaptureInputs(
            (torch.zeros(1, 3, device="meta"),)
        )

    before = capture_architecture(name).architecture
    with operating(surgery):
        assert capture_architecture(name).architecture.nodes == 2
    assert capture_architecture(name).architecture.exact == before.exact


def test_what_a_surgery_raises_is_no_failure_of_capture():
    def surgery(module, inputs):
        raise LookupError("no head")

    plan = Plan(nn.ReLU, lambda _: CaptureInputs((torch.zeros(1, 2),)))
    with pytest.raises(LookupError, match="no head"), operating(surgery):
        capture_plan("headless", plan)
