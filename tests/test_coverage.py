"""How much of a design stands in no known architecture."""

import warnings

import numpy as np
import pytest
import torch
from graphs import bert, graph_of, resnet
from torch import nn

from nar.answers.coverage import (
    RADII,
    Coverage,
    NewOperators,
    coverage,
    known_codes,
    read_codes,
    write_codes,
)
from nar.ask import architecture_of
from nar.base.errors import CorpusError
from nar.capture import capture_module

KNOWN = known_codes([resnet([4, 4]), bert(4)])


def test_what_is_known_is_covered_whatever_its_depth():
    for graph in (resnet([4, 4]), resnet([6, 5]), bert(6)):
        told = coverage(graph, KNOWN, {})
        assert (told.new, told.narrow, told.operators, told.word) == (0, 0, (), "known")


def test_what_deployment_folds_is_covered():
    deployed = known_codes([graph_of("input; conv 0; relu 1; linear 2")])
    trained = graph_of("input; conv 0; batch_norm 1; relu 2; linear 3")
    assert coverage(trained, deployed, {}).wide == 0


def test_new_operators_are_named_and_counted():
    known = known_codes([graph_of("input; conv 0; relu 1; conv 2; relu 3; linear 4")])
    told = coverage(graph_of("input; conv 0; relu 1; conv 2; tanh 3; linear 4"), known, {})
    assert told.operators == (
        NewOperators("relu", 1),
        NewOperators("conv", 1),
        NewOperators("tanh", 1),
        NewOperators("linear", 1),
    )
    assert told.narrow == pytest.approx(3 / 6)
    assert told.new == pytest.approx(4 / 6)
    assert told.narrow < told.new < told.wide
    assert told.word == "new"


def test_a_further_window_is_new():
    known = graph_of("input; conv 0; relu 1")
    other = graph_of("input; conv 0; relu 1")
    other.attributes[1, 0] = 11
    assert coverage(other, known_codes([known]), {}).new == 1


def test_the_nearest_design_may_lack_what_another_one_has():
    both = graph_of("input; conv 0; relu 1; conv 0; tanh 3; add 2 4")
    near = {"lib:half": graph_of("input; conv 0; relu 1"), "lib:both": both}
    told = coverage(both, known_codes([both]), near)
    assert (told.new, told.nearest, told.left) == (0, "lib:both", 0)
    far = coverage(both, known_codes([both]), {"lib:half": near["lib:half"]})
    assert (far.new, far.nearest, far.left) == (0, "lib:half", 1)


def test_codes_are_kept(tmp_path):
    path = tmp_path / "codes.npz"
    write_codes(path, KNOWN)
    kept = read_codes(path)
    assert all(np.array_equal(kept[radius], KNOWN[radius]) for radius in RADII)
    path.write_bytes(b"none")
    with pytest.raises(CorpusError, match="no codes of architectures"):
        read_codes(path)


@pytest.mark.parametrize(
    ("new", "word"),
    [(0, "known"), (0.05, "routine"), (0.2, "variant"), (0.5, "unusual"), (0.51, "new")],
)
def test_a_share_has_a_word(new, word):
    assert Coverage(new, 0, 1, ()).word == word


class Changed(nn.Module):
    """Sixteen residual blocks; one of them may have another activation."""

    def __init__(self, odd: int | None = None) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.first = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1, bias=False) for _ in range(16))
        self.norms = nn.ModuleList(nn.BatchNorm2d(8) for _ in range(16))
        self.second = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(16))
        self.acts = nn.ModuleList(nn.Tanh() if n == odd else nn.ReLU() for n in range(16))
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        blocks = zip(self.first, self.norms, self.acts, self.second, strict=True)
        for first, norm, act, second in blocks:
            x = x + second(act(norm(first(x))))
        return self.head(x.mean((2, 3)))


PLAIN = known_codes([capture_module(Changed().eval(), torch.zeros(1, 3, 8, 8)).graph])


def test_one_changed_block_of_sixteen_is_a_small_share():
    changed = capture_module(Changed(odd=7).eval(), torch.zeros(1, 3, 8, 8)).graph
    told = coverage(changed, PLAIN, {})
    assert 0 < told.new < 0.15
    assert "tanh" in {each.operator for each in told.operators}


def test_a_wrapping_is_a_small_share():
    wrapped = nn.Sequential(Changed(), nn.Softmax(dim=-1)).eval()
    told = coverage(capture_module(wrapped, torch.zeros(1, 3, 8, 8)).graph, PLAIN, {})
    assert told.new <= 0.05


@pytest.mark.slow
def test_every_form_of_a_model_has_the_same_share(tmp_path):
    model, inputs = Changed(odd=7).eval(), (torch.zeros(1, 3, 8, 8),)
    program = torch.export.export(model, inputs)
    torch.export.save(program, tmp_path / "net.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, inputs, tmp_path / "net.onnx", dynamo=False)
    shares = [
        coverage(architecture_of(str(form)).graph, PLAIN, {}).new
        for form in (tmp_path / "net.pt2", tmp_path / "net.onnx")
    ]
    shares.append(coverage(capture_module(model, *inputs).graph, PLAIN, {}).new)
    assert max(shares) - min(shares) <= 0.02
    assert shares[0] > 0
