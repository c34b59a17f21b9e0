"""A module that is in use: captured without its memory, and left as it was."""

import logging
from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.utils import spectral_norm, weight_norm

from nar.base.errors import CaptureError
from nar.capture import capture_module
from nar.graphs.canonical import exact_fingerprint


class Stateful(nn.Module):
    """Writes a buffer, an attribute and a list; keeps a table that is no buffer."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Dropout(), nn.Flatten(2)
        )
        self.steps = nn.LSTM(36, 8, batch_first=True)
        self.table = torch.rand(8, 8)
        self.register_buffer("calls", torch.zeros(()))
        self.seen, self.last = [], None
        self.settings = Frozen(width=8)

    def forward(self, x):
        self.calls += 1
        self.last = self.steps(self.layers(x))[0]
        self.seen.append(self.last)
        return self.last @ self.table


class Frozen(dict):
    """As the settings of diffusers: never written again."""

    def clear(self):
        raise TypeError("frozen")


class Choosy(Stateful):
    """Reads a value, which only real tensors have."""

    def forward(self, x):
        return super().forward(x).relu() if x.sum() > 0 else x


def state(module):
    return {
        "weights": {name: tensor.clone() for name, tensor in module.state_dict().items()},
        "modes": [child.training for child in module.modules()],
        "attributes": [sorted(vars(child)) for child in module.modules()],
        "hooks": [list(child._forward_hooks) for child in module.modules()],
        "kept": (list(module.seen), module.last),
    }


@pytest.mark.parametrize("build", [Stateful, Choosy])
def test_a_module_in_use_is_left_as_it_was(build):
    module = build().train()
    module.layers[1].eval()
    fired = []
    module.layers[0].register_forward_hook(lambda *_: fired.append(1))
    module.register_forward_pre_hook(lambda *_: fired.append(1))
    before, tensors = state(module), dict(module.named_parameters())
    capture_module(module, torch.ones(2, 3, 8, 8))
    after = state(module)
    torch.testing.assert_close(after.pop("weights"), before.pop("weights"), rtol=0, atol=0)
    assert after == before
    assert all(tensor is tensors[name] for name, tensor in module.named_parameters())
    assert fired == []


def test_the_graph_is_the_one_of_a_real_run():
    module, image = Stateful(), torch.ones(2, 3, 8, 8)
    quick, real = capture_module(module, image), capture_module(module, image, run=True)
    on_meta = capture_module(deepcopy(module).to("meta"), image)
    assert exact_fingerprint(quick.graph) == exact_fingerprint(real.graph)
    assert exact_fingerprint(quick.graph) == exact_fingerprint(on_meta.graph)


def test_hooks_fire_where_the_module_is_asked_to_run():
    module, fired = nn.Linear(8, 8), []
    module.register_forward_hook(lambda _module, _args, output: fired.append(output.device.type))
    capture_module(module, torch.ones(2, 8), run=True)
    assert fired == ["cpu"]


def test_no_memory_is_taken_for_results(drawn):
    wide = nn.Linear(8, 1 << 20)
    image = torch.ones(1, 8).expand(1 << 20, 8)
    assert capture_module(wide, image).graph.nodes == 2  # 4 TB of results


def test_why_a_module_ran_for_real_is_logged(caplog):
    caplog.set_level(logging.INFO, logger="nar")
    capture_module(Choosy(), torch.ones(2, 3, 8, 8), name="choosy")
    assert caplog.messages
    assert all(text.startswith("choosy: tried again, slower, since: ") for text in caplog.messages)


class Collected(nn.Module):
    """Its own hook gathers what it returns."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
        self.features = []
        self.body[1].register_forward_hook(self.keep)

    def keep(self, _module, _args, output):
        self.features.append(output)

    def forward(self, x):
        self.body(x)
        return self.features.pop()


def test_hooks_that_are_the_design_fire(text_of):
    assert text_of(capture_module(Collected(), torch.ones(2, 8)).graph) == "input; linear 0; relu 1"


@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
@pytest.mark.parametrize("norm", [weight_norm, spectral_norm])
def test_weights_that_a_hook_of_torch_makes_are_made(norm):
    module = norm(nn.Linear(8, 8))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    graph = capture_module(module, torch.ones(2, 8)).graph
    assert exact_fingerprint(graph) == exact_fingerprint(
        capture_module(module, torch.ones(2, 8), run=True).graph
    )
    torch.testing.assert_close(dict(module.state_dict()), before, rtol=0, atol=0)


@pytest.mark.parametrize(
    "inputs",
    [torch.ones(2, 8), (torch.ones(2, 8),), [torch.ones(2, 8)], {"input": torch.ones(2, 8)}],
)
def test_inputs_may_be_given_in_any_form(inputs):
    assert capture_module(nn.Linear(8, 8), inputs).graph.nodes == 2


def test_lazy_layers_learn_their_shapes_and_forget_them(text_of):
    module = nn.Sequential(
        nn.LazyConv2d(8, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(4)
    )
    graph = capture_module(module, torch.ones(2, 3, 8, 8)).graph
    assert text_of(graph) == "input; conv 0; batch_norm 1; relu 2; linear 3"
    assert graph.parameters == 8 * 28 + 16 + 4 * 289
    assert isinstance(module[0], nn.LazyConv2d)
    assert module(torch.ones(1, 5, 9, 9)).shape == (1, 4)


def test_a_program_is_captured_as_its_module():
    module, image = (
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).eval(),
        torch.ones(2, 3, 8, 8),
    )
    program = torch.export.export(module, (image,)).module()
    assert capture_module(program, image).graph == capture_module(module, image).graph


class Attention(nn.Module):
    def __init__(self, attend):
        super().__init__()
        self.packed, self.attend = nn.Linear(8, 24), attend

    def forward(self, x):
        batch, length, _ = x.shape
        packed = self.packed(x).view(batch, length, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return self.attend(*packed.unbind(0)).transpose(1, 2).flatten(2)


def causal(_batch, _head, query, key):
    return query >= key


def with_block_mask(q, k, v):
    length = q.shape[2]
    mask = create_block_mask(causal, None, None, length, length, device=q.device.type)
    return flex_attention(q, k, v, block_mask=mask)


@pytest.mark.parametrize(
    "attend",
    [
        flex_attention,
        lambda q, k, v: flex_attention(q, k, v, score_mod=lambda score, *_: score * 2),
        with_block_mask,
    ],
    ids=["plain", "scores changed", "block mask"],
)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_flex_attention_is_attention(attend, device):
    x = torch.ones(2, 128, 8, device=device)
    plain = Attention(functional.scaled_dot_product_attention).to(device)
    graph = capture_module(Attention(attend).to(device), x).graph
    assert graph == capture_module(plain, x).graph


def test_an_error_names_the_line_of_the_users_code():
    module = nn.Module()
    module.forward = lambda x: {}["hidden"]
    with pytest.raises(CaptureError, match=r"test_real_weights.py:\d+: KeyError: 'hidden'"):
        capture_module(module, torch.ones(2))


@pytest.mark.parametrize(
    ("output", "came"),
    [
        (None, "None"),
        ((i for i in "ab"), "an object of generator"),
        (object(), "an object of object"),
        ([1, "a"], "an object of list"),
    ],
    ids=["none", "generator", "object", "list"],
)
def test_an_output_without_tensors_is_named(captured, output, came):
    reason = f"wanted a tensor somewhere in the output of forward, came {came}"
    with pytest.raises(CaptureError, match=reason):
        captured(lambda self, x: output, (4, 8))


def test_tensors_of_an_output_object_count(drawn):
    text = drawn(lambda self, x: torch.distributions.Normal(x.tanh(), x.exp()), (4, 8))
    assert sorted(text.split("; ")) == ["exp 0", "input", "tanh 0"]
