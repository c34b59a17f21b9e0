"""Functions of packages that are not installed, in the plain form that they have in torch."""

import pytest
import torch
from clones import Asked, clone
from torch import nn
from torch.nn import functional as F

from nar.base.errors import CaptureError
from nar.capture import capture_module
from nar.own.construct.imports.same_layers import SAME_LAYERS

SCAN = SAME_LAYERS["mamba_ssm.ops.selective_scan_interface.selective_scan_fn"]


def test_a_selective_scan_is_a_recurrence():
    torch.manual_seed(0)
    u, delta, z = (torch.rand(1, 2, 3) for _ in range(3))
    a, b, c, d = -torch.rand(2, 4), torch.rand(1, 4, 3), torch.rand(1, 4, 3), torch.rand(2)
    result, last = SCAN(u, delta, a, b, c, d, z, return_last_state=True)
    state = torch.zeros(2, 4)
    for step in range(3):
        size = delta[0, :, step, None]
        state = torch.exp(size * a) * state + size * b[0, :, step] * u[0, :, step, None]
        wanted = (state @ c[0, :, step] + d * u[0, :, step]) * F.silu(z[0, :, step])
        torch.testing.assert_close(result[0, :, step], wanted)
    torch.testing.assert_close(last[0], state)


def test_a_block_of_mamba_has_its_parameters_and_does_not_depend_on_the_length():
    block = SAME_LAYERS["mamba_ssm.Mamba"](16, d_state=4)
    # in_proj, conv1d, x_proj, dt_proj, A and D, out_proj
    wanted = 16 * 64 + 32 * 5 + 32 * 9 + (32 + 32) + 32 * 4 + 32 + 32 * 16
    short, long = (capture_module(block, torch.zeros(1, n, 16)) for n in (8, 12))
    assert short.graph.parameters == wanted
    assert short.unread is None
    assert short.network.topology == long.network.topology


def test_a_causal_convolution_looks_back():
    convolve = SAME_LAYERS["causal_conv1d.causal_conv1d_fn"]
    x, weight = torch.arange(8.0).view(1, 2, 4), torch.ones(2, 3)
    wanted = torch.tensor([[[0.0, 1, 3, 6], [4, 9, 15, 18]]])
    torch.testing.assert_close(convolve(x, weight), wanted)
    torch.testing.assert_close(convolve(x, weight, activation="silu"), F.silu(wanted))


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("flash_attn.flash_attn_func", [(1, 5, 4, 8), (1, 5, 2, 8), (1, 5, 2, 8)]),
        ("flash_attn.flash_attn_interface.flash_attn_qkvpacked_func", [(1, 5, 3, 4, 8)]),
        ("flash_attn.flash_attn_kvpacked_func", [(1, 5, 4, 8), (1, 5, 2, 4, 8)]),
        ("xformers.ops.memory_efficient_attention", [(1, 5, 4, 8)] * 3),
        ("xformers.ops.memory_efficient_attention", [(1, 5, 8)] * 3),
    ],
)
def test_fused_attention_is_attention(name, shapes):
    class Net(nn.Module):
        def forward(self, *inputs):
            return SAME_LAYERS[name](*inputs)

    inputs = tuple(torch.zeros(shape) for shape in shapes)
    wanted = (1, 5, 8) if len(shapes[0]) == 3 else (1, 5, 4, 8)
    assert Net()(*inputs).shape == wanted
    text = str(capture_module(Net(), inputs).graph)
    assert "attention" in text


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("mamba_ssm.ops.triton.layer_norm.rms_norm_fn", F.rms_norm),
        ("mamba_ssm.ops.triton.layernorm.layer_norm_fn", F.layer_norm),
    ],
)
def test_a_norm_of_a_sum(name, wanted):
    x, residual, weight = torch.rand(2, 8), torch.rand(2, 8), torch.rand(8)
    result, total = SAME_LAYERS[name](x, weight, None, residual=residual, prenorm=True)
    torch.testing.assert_close(total, x + residual)
    torch.testing.assert_close(result, wanted(total, (8,), weight))


@pytest.mark.slow
def test_spectrograms_of_a_sound_that_nobody_installed_are_computed(tmp_path, monkeypatch):
    code = """
from torch import nn
from torchlibrosa.augmentation import SpecAugmentation
from torchlibrosa.stft import LogmelFilterBank, Spectrogram
class Tagger(nn.Module):
    def __init__(self, window=1024, mels=16, top=None):
        super().__init__()
        self.spectrum = Spectrogram(n_fft=window, hop_length=320, win_length=window)
        self.mel = LogmelFilterBank(sr=32000, n_fft=window, n_mels=mels, top_db=top)
        self.drop = SpecAugmentation(64, 2, 8, 2)
        self.out = nn.Conv2d(1, 4, 3)
    def forward(self, input): return self.out(self.drop(self.mel(self.spectrum(input))))
"""
    clone(tmp_path, {"README.md": "# Tags\n", "net.py": code})
    monkeypatch.chdir(tmp_path)
    asked = Asked("net.py:Tagger")
    assert asked.architecture.assumed.inputs == ("input=1x16000:float32",)
    # What the window and the filters hold is stored beside what is learned.
    assert asked.weights == 2 * 513 * 1024 + 513 * 16 + (9 + 1) * 4
    assert asked.operators.count("conv2d") + asked.operators.count("conv") >= 1


def test_a_file_of_a_package_that_nobody_installed_is_asked_about(tmp_path, monkeypatch):
    code = """
from flash_attn import flash_attn_func
from torch import nn
class Block(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads, self.qkv = heads, nn.Linear(width, 3 * width)
    def forward(self, x):
        parts = self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(-3)
        return flash_attn_func(*parts, causal=True).flatten(-2)
def nothing():
    return None
"""
    clone(tmp_path, {"net.py": code})
    monkeypatch.chdir(tmp_path)
    asked = Asked("net.py:Block")
    assert asked.operators == ["input", "linear", "linear", "linear", "attention"]
    assert any("flash_attn" in each for each in asked.stand_ins)
    assert asked.architecture.unread is None
    with pytest.raises(CaptureError, match=r"wanted an nn.Module or .* came NoneType"):
        Asked("net.py:nothing")
