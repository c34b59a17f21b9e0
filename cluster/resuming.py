"""Where a run of Ray Train goes on: after the newest of its states that is whole."""

import logging
from pathlib import Path

import ray.train

from nar.base.errors import CheckpointError
from nar.encoding.training_state import TrainingState, load_state


def last_state() -> TrainingState | None:
    """The newest state that is whole: of one that is damaged, the one before."""
    newest = ray.train.get_checkpoint()
    return None if newest is None else newest_whole(Path(newest.path))


def newest_whole(newest: Path) -> TrainingState:
    """The state in a directory or, where it is damaged, in the latest before that is whole.

    Args:
        newest: Named by Ray Train after the time at which it was written, as those beside it.

    Raises:
        CheckpointError: None of those that are kept is whole.
    """
    beside = newest.parent.glob("checkpoint_*")
    before = sorted((each for each in beside if each.name < newest.name), reverse=True)
    damage: CheckpointError | None = None
    for directory in (newest, *before):
        try:
            return load_state(directory)
        except CheckpointError as error:
            logging.getLogger(__name__).warning("%s; taking the one before", error)
            damage = damage or error
    assert damage is not None, "the newest was tried"
    raise damage
