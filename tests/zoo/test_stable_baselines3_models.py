"""Policies of Stable-Baselines3: perceptrons for numbers, convolutions for images."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_a_policy_stands_on_the_environments_whose_actions_it_can_take():
    names = list_specs("stable_baselines3")
    assert len(names) == len(set(names)) > 50
    assert "stable_baselines3:DQN/CartPole-v1" in names
    assert "stable_baselines3:SAC/CartPole-v1" not in names


@pytest.mark.parametrize(
    ("name", "family", "block"),
    [
        ("ActorCritic/CartPole-v1", "actor_critic", "other"),
        ("DQN/PongNoFrameskip-v4", "dqn", "cnn"),
        ("TD3/Ant-v4", "td3", "other"),
    ],
)
def test_spaces_become_a_network(name, family, block):
    architecture = capture_architecture(f"stable_baselines3:{name}").architecture
    architecture.graph.validate()
    assert architecture.labels.task == "reinforcement-learning"
    assert (architecture.labels.family, architecture.block) == (family, block)


def test_an_unknown_environment_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="stable_baselines3:DQN/CartPole-v1"):
        resolve("stable_baselines3:DQN/CartPole-v2")
