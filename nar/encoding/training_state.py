"""The state of a training run between two epochs, as safetensors and JSON, never as a pickle."""

import json
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor
from torch.optim import Optimizer

from nar.base.errors import CheckpointError
from nar.base.files import write_whole

_TENSORS = "state.safetensors"
_PROGRESS = "state.json"


@dataclass(frozen=True, slots=True, eq=False)
class TrainingState:
    """Everything the rest of a run depends on; random numbers follow from seed and epoch.

    Attributes:
        stage: Number of the stage, from 0.
        epoch: Epochs of this stage that are done.
        networks: Weights of all networks by name.
        optimizer: Moments and step counts of the stage's optimizer, by parameter and name.
    """

    stage: int
    epoch: int
    networks: dict[str, Tensor]
    optimizer: dict[str, Tensor]


def save_state(directory: Path, state: TrainingState) -> None:
    """Write a state into a directory, the file that makes it complete last."""
    directory.mkdir(parents=True, exist_ok=True)
    tensors = {f"networks/{name}": tensor for name, tensor in state.networks.items()}
    tensors |= {f"optimizer/{name}": tensor for name, tensor in state.optimizer.items()}
    on_cpu = {name: tensor.detach().cpu() for name, tensor in tensors.items()}
    content = save(on_cpu)
    write_whole(directory / _TENSORS, partial(Path.write_bytes, data=content))
    progress = json.dumps(
        {"stage": state.stage, "epoch": state.epoch, "sha256": sha256(content).hexdigest()}
    )
    write_whole(directory / _PROGRESS, partial(Path.write_text, data=progress))


def load_state(directory: Path) -> TrainingState:
    """Read a state back.

    Raises:
        CheckpointError: It is missing or damaged.
    """
    try:
        progress = json.loads((directory / _PROGRESS).read_text())
        content = (directory / _TENSORS).read_bytes()
        if sha256(content).hexdigest() != progress["sha256"]:
            raise ValueError(f"{_TENSORS} is damaged")
        tensors = load(content)
        stage, epoch = int(progress["stage"]), int(progress["epoch"])
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CheckpointError(
            f"no state of a training run at {directory} ({error}); start again with --restart"
        ) from error
    return TrainingState(stage, epoch, _below("networks/", tensors), _below("optimizer/", tensors))


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def optimizer_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """The state of an optimizer whose state is tensors only, as Adam's is."""
    return {
        f"{parameter}.{name}": tensor
        for parameter, values in optimizer.state_dict()["state"].items()
        for name, tensor in values.items()
    }


def restore_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put an optimizer over the same parameters back into a state."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        parameter, _, name = key.partition(".")
        state.setdefault(int(parameter), {})[name] = tensor.clone()
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
