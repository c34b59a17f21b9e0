"""The policies of Stable-Baselines3: what reinforcement learning trains on known environments."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import nn

from nar.base.workspace import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.building import for_real
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import Entry, Source, by_forward

_Row = Mapping[str, Any]
LEARNING_RATE = 3e-4  # the library's default for PPO; a policy asks for it, no graph has it


def _names() -> list[str]:
    """Every policy on every environment whose actions it can take: ``<policy>/<environment>``."""
    library_version("stable_baselines3")
    tables = _tables()
    return [
        f"{policy}/{environment}"
        for policy, row in tables["policies"].items()
        for environment, spaces in tables["environments"].items()
        if any(kind in spaces for kind in row["actions"])
    ]


def _entry(name: str) -> Entry | None:
    if name not in _names():
        return None
    policy, _, environment = name.partition("/")
    spaces = _tables()["environments"][environment]
    capture = by_forward(
        partial(_built, _tables()["policies"][policy], spaces),
        partial(_inputs, spaces["observation"]),
        # A policy asks its weights on which device they are, and moves there.
        follow=for_real,
    )
    return Entry(policy, "reinforcement-learning", capture, tier="swept")


def _built(policy: _Row, spaces: _Row) -> nn.Module:
    path = policy["images" if _is_image(spaces["observation"]) else "perceptron"]
    module, _, maker = f"stable_baselines3.{path}".rpartition(".")
    network: nn.Module = getattr(import_library(module), maker)(
        *_spaces(spaces), lr_schedule=lambda _: LEARNING_RATE, **policy.get("arguments", {})
    )
    return network


def _spaces(spaces: _Row) -> tuple[object, object]:
    """The space of observations and the space of actions."""
    gymnasium = import_library("gymnasium.spaces")
    shape = tuple(spaces["observation"])
    if _is_image(shape):
        seen = gymnasium.Box(0, 255, shape, dtype="uint8")
    else:
        seen = gymnasium.Box(-1, 1, shape)
    if "discrete" in spaces:
        return seen, gymnasium.Discrete(spaces["discrete"])
    return seen, gymnasium.Box(-1, 1, (spaces["continuous"],))


def _is_image(shape: tuple[int, ...]) -> bool:
    return len(shape) > 1


def _inputs(shape: list[int], _network: nn.Module) -> CaptureInputs:
    return CaptureInputs((torch.zeros(1, *shape),))


def _tables() -> Mapping[str, Any]:
    tables: Mapping[str, Any] = package_yaml("zoo", "sources", "stable_baselines3_nets.yaml")
    return tables


STABLE_BASELINES3 = Source(
    name="stable_baselines3",
    library="stable_baselines3",
    licence="MIT",
    form="<policy>/<environment>",
    example="ActorCritic/CartPole-v1",
    names=_names,
    entry=_entry,
)
