"""Where a run of Ray Train goes on when states are damaged."""

import pytest
from torch import nn

from cluster.pretraining import newest_whole
from nar.base.errors import CheckpointError
from nar.encoding.training import TrainingState, save_state


def saved(directory, epochs):
    for epoch in range(1, epochs + 1):
        weights = nn.Linear(3, 2).state_dict()
        state = TrainingState(0, epoch, weights, {})
        save_state(directory / f"checkpoint_2026-01-01_00-00-0{epoch}", state)
    return sorted(directory.iterdir())


def damage(directory):
    path = directory / "state.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_the_newest_is_taken_where_it_is_whole(tmp_path):
    *_, newest = saved(tmp_path, 2)
    assert newest_whole(newest).epoch == 2


def test_of_a_damaged_one_the_one_before_is_taken_and_that_is_said(tmp_path, caplog):
    *_, newest = saved(tmp_path, 3)
    damage(newest)
    assert newest_whole(newest).epoch == 2
    assert "state.safetensors is damaged" in caplog.text


def test_what_is_newer_than_what_ray_names_was_never_whole(tmp_path):
    first, *_ = saved(tmp_path, 2)
    assert newest_whole(first).epoch == 1


def test_where_all_are_damaged_the_way_out_is_said(tmp_path):
    directories = saved(tmp_path, 2)
    for directory in directories:
        damage(directory)
    with pytest.raises(CheckpointError, match="--restart"):
        newest_whole(directories[-1])
