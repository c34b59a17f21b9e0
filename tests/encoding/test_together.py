"""Several ranks learn what one learns: every contrast is that of the whole batch."""

import pytest
import torch
from encoding import three_families
from torch import multiprocessing
from two_ranks import TRAINED, train_rank

from nar.encoding.embed import Embedder
from nar.encoding.losses import of_all_workers


def test_alone_it_is_ones_own():
    part = torch.ones(2, 3, requires_grad=True)
    assert of_all_workers(part) is part


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """A directory with what two ranks learned of each kind."""
    directory = tmp_path_factory.mktemp("ranks")
    multiprocessing.spawn(train_rank, (2, str(directory)), nprocs=2)
    return directory


@pytest.mark.slow
@pytest.mark.parametrize("kind", TRAINED)
def test_two_ranks_learn_what_one_learns_up_to_rounding(kind, ranks):
    shared = torch.load(ranks / f"{kind}.pt", weights_only=True)
    alone = torch.from_numpy(Embedder(TRAINED[kind]()).embed(three_families()))
    assert torch.allclose(shared, alone, atol=1e-4)
