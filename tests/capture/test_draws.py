"""A supernet that draws its path is refused, and noise is not taken for one."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from nar.base.errors import CaptureError
from nar.capture import CaptureInputs, capture_module

DRAWS = {
    "python": lambda: random.choice((0, 1, 2)),
    "numpy": lambda: int(np.random.randint(3)),  # noqa: NPY002
    "torch": lambda: int(torch.randint(3, ())),
}


class Supernet(nn.Module):
    """One of three operations, drawn in every forward pass."""

    def __init__(self, draw):
        super().__init__()
        self.draw = draw
        self.seen = SimpleNamespace(passes=0)  # an attribute of the module itself would be undone
        self.paths = nn.ModuleList([nn.Linear(8, 8), nn.Identity(), nn.LayerNorm(8)])

    def forward(self, x):
        self.seen.passes += 1
        return self.paths[self.draw()](x.relu())


class Noisy(Supernet):
    """Noise from the same generators."""

    def forward(self, x):
        self.seen.passes += 1
        return self.paths[0](x * (1 + self.draw()) + torch.rand_like(x)).relu()


def captured_by(module):
    return capture_module(module, CaptureInputs((torch.ones(2, 8),)), name="supernet").graph


@pytest.fixture(autouse=True)
def seeded():
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_path_that_is_drawn_is_refused(draw):
    with pytest.raises(CaptureError, match="draws its path at random"):
        captured_by(Supernet(draw))


@pytest.mark.parametrize("draw", ["python", "numpy"])
def test_it_is_refused_without_memory_too(draw):
    with pytest.raises(CaptureError, match="draws its path at random"):
        captured_by(Supernet(DRAWS[draw]).to("meta"))


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_noise_changes_no_graph(text_of, draw):
    module = Noisy(draw)
    assert text_of(captured_by(module)) == "input; mul 0; add 1; linear 2; relu 3"
    assert module.seen.passes > 1


def test_a_module_that_draws_nothing_runs_once():
    module = Supernet(lambda: 0)
    captured_by(module)
    assert module.seen.passes == 1


def test_the_generators_move_by_one_pass():
    wanted = [random.Random(1).random() for _ in range(1)]
    captured_by(Supernet(lambda: 0))
    assert random.random() == wanted[0]
    random.seed(1)
    captured_by(Noisy(lambda: int(random.random() > 2)))
    two = random.Random(1)
    two.random()
    assert random.random() == two.random()
