"""Meta tensors whose values follow from numbers and inputs can be read; all others cannot."""

import pytest
import torch
from torch import nn

from nar.zoo.sources.transformers.known_values import known_values


@pytest.fixture
def on_meta():
    with known_values(), torch.device("meta"):
        yield


@pytest.mark.usefixtures("on_meta")
def test_constants_can_be_read_back():
    grid = torch.tensor([[1, 4, 6], [1, 2, 2]])
    assert grid.is_meta
    assert grid.tolist() == [[1, 4, 6], [1, 2, 2]]
    assert grid.prod(-1).sum().item() == 28


@pytest.mark.usefixtures("on_meta")
def test_inputs_bring_their_values():
    ids = torch.arange(4, device="cpu").to("meta")
    assert (ids == 2).nonzero().tolist() == [[2]]


@pytest.mark.usefixtures("on_meta")
def test_a_known_mask_gives_a_known_number_of_rows():
    states, mask = torch.empty(6, 8), torch.arange(6) < 4
    assert states[mask].shape == (4, 8)


@pytest.mark.usefixtures("on_meta")
def test_places_written_as_a_list_are_known():
    assert torch.arange(6).view(2, 3)[:, [0, 2]].tolist() == [[0, 2], [3, 5]]


@pytest.mark.usefixtures("on_meta")
def test_writing_into_a_view_is_seen_by_its_base():
    counts = torch.empty(3, dtype=torch.long)
    counts[:] = 0
    counts[1:] += 7
    assert counts.tolist() == [0, 7, 7]


@pytest.mark.usefixtures("on_meta")
def test_what_weights_enter_is_not_known():
    counts = torch.zeros(3)
    counts[0] = nn.Linear(2, 1).weight.sum()
    with pytest.raises(NotImplementedError, match="no data"):
        counts.tolist()


@pytest.mark.usefixtures("on_meta")
def test_chance_is_not_known():
    with pytest.raises((NotImplementedError, RuntimeError)):
        torch.zeros(3).uniform_().tolist()


def test_outside_nothing_is_known():
    with known_values():
        pass
    with pytest.raises(NotImplementedError):
        torch.arange(3, device="meta").tolist()
