"""What edits are made with, on modules that can be read at a glance."""

import pytest
import torch
from torch import nn

from benchmark.editing.blocks import half_depth, layer_scale
from benchmark.editing.functions import other_activation, other_norm
from benchmark.editing.surgery import (
    at_home,
    outputs_of,
    replace_modules,
    runs_of_blocks,
)
from benchmark.rewriting.rewrite import NotApplicableError
from nar.capture import CaptureInputs
from nar.capture.torch_internals import FakeTensor, fake_mode


def block(width, *, wider=1):
    return nn.Sequential(nn.Conv2d(width, width * wider, 3), nn.Conv2d(width * wider, width, 3))


def test_blocks_are_of_the_innermost_list():
    stages = nn.Sequential(
        nn.Sequential(block(4), block(4)), nn.Sequential(block(4), block(4), block(4))
    )
    assert [len(blocks) for _, blocks in runs_of_blocks(stages)] == [2, 3]


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)),  # layers
        nn.Sequential(block(4), nn.Flatten()),  # of two types
        nn.ModuleDict({"a": block(4), "b": block(4)}),  # no list
    ],
)
def test_other_children_are_no_blocks(module):
    assert runs_of_blocks(module) == []


def test_half_the_depth_keeps_the_first_of_each_two_that_are_alike():
    module = nn.Sequential(block(4, wider=2), *(block(4) for _ in range(4)))
    half, _ = half_depth(module, CaptureInputs())
    assert [child[0].out_channels for child in half] == [8, 4, 4]
    assert list(half._modules) == ["0", "1", "2"]


def test_new_layers_live_where_the_weights_do():
    with torch.device("meta"):
        meta = nn.Linear(1, 1)
    with fake_mode():
        fake = nn.Linear(1, 1)
    made = {}
    for name, module in {"meta": meta, "fake": fake, "real": nn.Linear(1, 1)}.items():
        with at_home(module):
            made[name] = nn.Linear(2, 2).weight
    assert made["meta"].is_meta
    assert isinstance(made["fake"], FakeTensor)
    assert type(made["real"]) is nn.Parameter
    assert not made["real"].is_meta


def test_a_shared_module_is_replaced_by_one():
    shared = nn.ReLU()
    module = nn.Sequential(shared, nn.Linear(1, 1), shared)
    replaced = replace_modules(module, lambda one: nn.GELU() if one is shared else None)
    assert replaced == 1
    assert module[0] is module[2]
    assert isinstance(module[0], nn.GELU)


def test_outputs_are_those_of_the_modules_that_run():
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.idle = nn.Linear(2, 3), nn.Linear(2, 2)

        def forward(self, values):
            return self.used(values)

    module = Half()
    outputs = outputs_of(module, CaptureInputs((torch.zeros(5, 2),)), [module.used, module.idle])
    assert {layer: tuple(output.shape) for layer, output in outputs.items()} == {
        module.used: (5, 3)
    }
    assert not module.used._forward_hooks


def test_a_scale_has_a_number_for_each_channel_wherever_they_stand():
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1))

        def forward(self, maps):
            return (maps + self.inner(maps), "state")

    class Stage(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Residual(), Residual()])

        def forward(self, maps):
            for each in self.blocks:
                maps, _ = each(maps)
            return maps

    module, inputs = layer_scale(Stage(), CaptureInputs((torch.zeros(1, 4, 8, 8),)))
    assert [each.added_scale.shape for each in module.blocks] == [(4, 1, 1), (4, 1, 1)]
    assert module(*inputs.args).shape == (1, 4, 8, 8)


def test_a_function_is_replaced_where_no_module_stands_for_it():
    class Written(nn.Module):
        def forward(self, values):
            return torch.sigmoid(nn.functional.relu(values, inplace=False))

    values = torch.randn(8)
    changed, _ = other_activation(Written(), CaptureInputs())
    assert torch.equal(changed(values), torch.sigmoid(nn.functional.gelu(values)))


def test_a_norm_keeps_its_layout():
    class LayerNorm2d(nn.LayerNorm):
        def forward(self, maps):
            return super().forward(maps.movedim(1, -1)).movedim(-1, 1)

    module = nn.Sequential(nn.BatchNorm2d(6), LayerNorm2d(6), nn.RMSNorm(5))
    changed, _ = other_norm(module, CaptureInputs())
    assert changed(torch.randn(2, 6, 4, 5)).shape == (2, 6, 4, 5)
    assert [type(each).__name__ for each in changed.modules() if not list(each.children())] == [
        "GroupNorm",
        "RMSNorm",
        "LayerNorm",
    ]


def test_without_norms_there_is_no_other_norm():
    with pytest.raises(NotApplicableError, match="no norm"):
        other_norm(nn.Linear(1, 1), CaptureInputs())


@pytest.mark.parametrize(("width", "groups"), [(64, 32), (32, 16), (48, 24), (7, 1), (1, 1)])
def test_groups_of_a_norm_hold_several_channels(width, groups):
    changed, _ = other_norm(nn.Sequential(nn.BatchNorm2d(width)), CaptureInputs())
    norms = [each for each in changed.modules() if isinstance(each, nn.GroupNorm)]
    assert [norm.num_groups for norm in norms] == [groups]
