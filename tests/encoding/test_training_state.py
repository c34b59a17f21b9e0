"""Saved states read back to the bit, and what is none is refused."""

import pytest
import torch
from torch import nn
from torch.optim import Adam

from nar.base.errors import CheckpointError
from nar.encoding.training import (
    TrainingState,
    load_state,
    optimizer_tensors,
    restore_optimizer,
    save_state,
)


def stepped(model, steps):
    optimizer = Adam(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(1, 3)).square().sum().backward()
        optimizer.step()
    return optimizer


def test_a_state_reads_back(tmp_path):
    model = nn.Linear(3, 2)
    moments = optimizer_tensors(stepped(model, 2))
    save_state(tmp_path, TrainingState(1, 7, model.state_dict(), moments))
    state = load_state(tmp_path)
    assert (state.stage, state.epoch) == (1, 7)
    assert torch.equal(state.networks["weight"], model.weight)
    assert state.optimizer.keys() == moments.keys()


def test_a_restored_optimizer_takes_the_next_step_of_the_old_one():
    one, other = nn.Linear(3, 2), nn.Linear(3, 2)
    optimizer = stepped(one, 3)
    other.load_state_dict(one.state_dict())
    restored = Adam(other.parameters(), lr=0.1)
    restore_optimizer(restored, optimizer_tensors(optimizer))
    for model, stepper in ((one, optimizer), (other, restored)):
        stepper.zero_grad()
        model(torch.ones(1, 3)).square().sum().backward()
        stepper.step()
    assert torch.equal(one.weight, other.weight)


def test_an_optimizer_without_steps_has_an_empty_state():
    assert optimizer_tensors(Adam(nn.Linear(3, 2).parameters())) == {}


@pytest.mark.parametrize("name", ["state.json", "state.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"[]"], ids=["missing", "empty", "other"])
def test_what_is_no_state_is_refused(tmp_path, name, content):
    save_state(tmp_path, TrainingState(0, 1, nn.Linear(3, 2).state_dict(), {}))
    (tmp_path / name).unlink() if content is None else (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match="no state of a training run"):
        load_state(tmp_path)


def test_a_bit_that_flips_in_a_tensor_is_seen(tmp_path):
    save_state(tmp_path, TrainingState(0, 1, nn.Linear(3, 2).state_dict(), {}))
    path = tmp_path / "state.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"state\.safetensors is damaged"):
        load_state(tmp_path)
