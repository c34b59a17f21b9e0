"""TorchScript: what it is without `--run`, and the graph of its module with it."""

import warnings

import pytest
import torch
from formats.twins import TWINS, of_torch
from torch import nn

from nar.answers.naming import known_or_captured
from nar.base.asking import Asking
from nar.base.errors import CaptureError, InvalidInputError
from nar.capture import CaptureInputs, capture_module


def saved(module, path, example=None):
    """A file of TorchScript: of a trace where there is an example, else of the module's code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and warns of what it cannot trace
        whole = module.eval()
        made = torch.jit.script(whole) if example is None else torch.jit.trace(whole, example)
        torch.jit.save(made, path)
    return str(path)


def captured(path, *inputs):
    return known_or_captured(None, path, asking=Asking(inputs, runs=True)).architecture


@pytest.mark.parametrize("name", TWINS)
def test_a_trace_has_the_graph_of_its_module(tmp_path, name):
    module, example = TWINS[name]
    path = saved(module(), tmp_path / "m.pt", example)
    sizes = "x".join(map(str, example.shape)) + (":int64" if name == "transformer" else "")
    network, asked = of_torch(name).network, captured(path, sizes)
    assert asked.exact == network.exact
    assert asked.parameters == network.graph.parameters


class Stack(nn.Module):
    """Layers of cells, then a linear layer."""

    def __init__(self, kind, width, **stated):
        super().__init__()
        self.cells, self.head = kind(8, 10, **stated), nn.Linear(width, 3)

    def forward(self, x):
        return self.head(self.cells(x)[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "width", "stated"),
    [
        (nn.GRU, 10, {}),
        (nn.LSTM, 10, {"num_layers": 2, "batch_first": True}),
        (nn.LSTM, 20, {"bidirectional": True}),
        (nn.RNN, 10, {}),
    ],
)
def test_layers_of_cells_stay_whole(tmp_path, kind, width, stated):
    module, example = Stack(kind, width, **stated), torch.zeros(6, 1, 8)
    twin = capture_module(module.eval(), CaptureInputs((example,)), name="it")
    asked = captured(saved(module, tmp_path / "m.ptl"), "6x1x8")
    assert asked.exact == twin.network.exact


class Gated(nn.Module):
    """Layers of a sequence, a list and a dictionary, one of which weighs the others."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(8, 8, 1), nn.SiLU()) for _ in range(2))
        self.named = nn.ModuleDict({"gate": nn.Linear(8, 8), "head": nn.Linear(8, 2)})

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = x.mean(dim=(2, 3))
        for part in self.named.values():
            x = part(x.sigmoid())
        return x


@pytest.mark.parametrize("example", [None, torch.zeros(1, 3, 8, 8)], ids=["scripted", "traced"])
@pytest.mark.parametrize("module", [Gated, lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())])
def test_what_holds_layers_is_no_method_of_theirs(tmp_path, module, example):
    made = module().eval()
    twin = capture_module(made, CaptureInputs((torch.zeros(1, 3, 8, 8),)), name="it")
    asked = captured(saved(made, tmp_path / "m.pt", example), "1x3x8x8")
    assert asked.exact == twin.network.exact
    assert asked.parameters == sum(each.numel() for each in made.parameters())


def test_it_is_not_run_unless_it_is_said_so(tmp_path):
    path = saved(nn.Linear(3, 4), tmp_path / "m.pt", torch.zeros(1, 3))
    with pytest.raises(InvalidInputError, match=r"which would be run; `nar search .*--run --input"):
        known_or_captured(None, path)


def test_its_inputs_have_to_be_stated(tmp_path):
    path = saved(nn.Linear(3, 4), tmp_path / "m.pt")
    with pytest.raises(InvalidInputError, match=r"states no inputs: wanted --input input=SIZES"):
        captured(path)
    with pytest.raises(InvalidInputError, match="wanted an input of the program: input"):
        captured(path, "other=1x3")


def test_a_damaged_program_is_refused(tmp_path):
    whole = tmp_path / "m.torchscript"
    saved(nn.Linear(3, 4), whole)
    whole.write_bytes(whole.read_bytes()[:-200])
    with pytest.raises(CaptureError):
        captured(str(whole), "1x3")


class Encoding(nn.Module):
    """A program that has a method, and no forward."""

    @torch.jit.export
    def encode(self, x: torch.Tensor):
        return x + 1


def test_a_program_without_a_forward_is_refused(tmp_path):
    with pytest.raises(CaptureError, match="a program with a forward"):
        captured(saved(Encoding(), tmp_path / "m.pt"), "1x3")
