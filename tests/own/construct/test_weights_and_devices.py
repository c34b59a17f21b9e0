"""Weights are not fetched and no file of them is missed; CUDA means where the weights are."""

import pytest
import torch
from clones import Asked, clone

IMAGE = "1x3x16x16"
NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 8, 3)
        {built}
    def forward(self, x):
        {called}
        return self.c(x)
"""


def asked(folder, *, built="pass", called="pass", imports="", inputs=IMAGE):
    text = imports + NET.format(built=built, called=called)
    return Asked(f"{clone(folder, {'net.py': text})}/net.py:Net", inputs)


@pytest.mark.parametrize(
    ("built", "said"),
    [
        ("self.load_state_dict(torch.load('none.pth'))", "torch.load('none.pth')"),
        ("self.load_state_dict(torch.load('none.pth')['state'], strict=False)", "torch.load"),
        (
            "self.load_state_dict({k: v for k, v in torch.load('none.pt').items() if v.ndim})",
            "torch.load",
        ),
        (
            "self.load_state_dict(torch.hub.load_state_dict_from_url('https://a.invalid/b.pth'))",
            "load_state_dict_from_url('https://a.invalid/b.pth')",
        ),
        ("import urllib.request as u; u.urlretrieve('https://a.invalid', 'b')", "urlretrieve"),
        ("torch.hub.load('a/b', 'c')", "torch.hub.load('a/b')"),
    ],
)
def test_loading_is_skipped_and_said(tmp_path, built, said):
    found = asked(tmp_path, built=built)
    assert found.operators == ["input", "conv"]
    assert any(each.startswith(f"net.py:8: {said}") for each in found.skipped)


def test_a_file_that_is_there_is_read(tmp_path):
    torch.save({"scale": torch.ones(3)}, tmp_path / "there.pt")
    built = f"self.n = len(torch.load({str(tmp_path / 'there.pt')!r})['scale']); assert self.n == 3"
    found = asked(tmp_path, built=built)
    assert (found.operators, found.skipped) == (["input", "conv"], ())


@pytest.mark.parametrize(
    "built",
    [
        "self.c = torchvision.models.resnet18(weights='IMAGENET1K_V1').conv1",
        "self.c = torchvision.models.resnet18(pretrained=True).conv1",
        "self.c = timm.create_model('resnet18', pretrained=True).conv1",
    ],
)
def test_models_of_libraries_are_built_without_their_weights(tmp_path, built):
    found = asked(tmp_path, built=built, imports="import timm, torchvision\n")
    assert found.operators == ["input", "conv"]
    assert len(found.skipped) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("built", "kind"),
    [
        ("BertModel.from_pretrained('bert-base-uncased', num_hidden_layers=2)", "BertConfig"),
        ("AutoModel.from_pretrained('org/roberta-base', num_hidden_layers=2)", "RobertaConfig"),
        (
            "AutoModel.from_config(AutoConfig.from_pretrained('gpt2', n_layer=2))",
            "GPT2Config",
        ),
    ],
)
def test_a_pretrained_model_of_transformers_is_built_of_a_configuration(tmp_path, built, kind):
    imports = "from transformers import AutoConfig, AutoModel, BertModel\n"
    found = asked(tmp_path, built=f"self.body = {built}", imports=imports)
    assert any(f"the defaults of {kind} stand for its sizes" in each for each in found.skipped)


def test_what_was_replaced_is_as_before_afterwards(tmp_path):
    before = torch.load, torch.hub.load_state_dict_from_url, torch.nn.Module.load_state_dict
    cuda = torch.Tensor.cuda, torch.cuda.LongTensor, torch.cuda.current_device
    asked(tmp_path, built="self.cuda()", imports="from torch.hub import load_state_dict_from_url\n")
    assert before == (
        torch.load,
        torch.hub.load_state_dict_from_url,
        torch.nn.Module.load_state_dict,
    )
    assert cuda == (torch.Tensor.cuda, torch.cuda.LongTensor, torch.cuda.current_device)


@pytest.mark.parametrize(
    ("built", "called"),
    [
        ("self.cuda()", "x = x.cuda()"),
        ("self.c = self.c.to('cuda')", "x = x.to('cuda:0')"),
        ("self.to(torch.device('cuda'))", "x = x.to(torch.device('cuda', 0), torch.float32)"),
        ("self.to(device='cuda', dtype=torch.float32)", "x = x.to(device='cuda')"),
        ("self.s = torch.ones(3, device='cuda')", "x = x.to(0)"),
        (
            "self.register_buffer('s', torch.ones(3).cuda(non_blocking=True))",
            "x = x.cuda(0).to(x.device).to(torch.float32).to(x)",
        ),
        ("torch.cuda.set_device(0)", "torch.cuda.synchronize(); torch.cuda.current_device()"),
        ("self.k = torch.cuda.FloatTensor([1.0])", "x = x.type(torch.cuda.FloatTensor)"),
        ("pass", "x = x.type('torch.cuda.FloatTensor')"),
    ],
)
def test_cuda_means_where_the_weights_are(tmp_path, built, called):
    found = asked(tmp_path, built=built, called=called)
    assert found.operators == ["input", "conv"]


def test_a_constant_made_for_cuda_meets_the_weights(tmp_path):
    called = "x = x * torch.arange(16, device='cuda').view(1, 1, 1, 16)"
    assert asked(tmp_path, called=called).operators == ["input", "mul", "conv"]


def test_an_index_made_for_cuda_meets_the_weights(tmp_path):
    called = "i = torch.arange(0, 16, out=torch.cuda.LongTensor(16)); x = x * (i < 9).to(x.dtype)"
    assert asked(tmp_path, called=called).operators == ["input", "mul", "conv"]
