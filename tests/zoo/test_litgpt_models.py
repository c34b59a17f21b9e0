"""The language models of LitGPT: a network for each configuration that has one of its own."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs


@pytest.mark.slow
def test_a_network_has_one_name():
    names = list_specs("litgpt")
    assert len(names) == len(set(names)) > 70
    assert "litgpt:falcon-7b" in names
    assert "litgpt:falcon-7b-instruct" not in names


@pytest.mark.slow
def test_mixtures_of_experts_are_left_out():
    assert not [name for name in list_specs("litgpt") if "Mixtral" in name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "family", "parameters"),
    [
        ("pythia-160m", "gpt_neox", 162_322_944),
        ("Gemma-2-2b", "gemma2", 3_204_165_888),  # its output has weights of its own
        ("Falcon3-1B-Base", "llama", 1_669_408_768),
        ("OLMo-2-1124-7B", "olmo2", 7_298_617_344),
    ],
)
def test_models_are_captured_under_the_name_of_their_design(model, family, parameters):
    architecture = capture_architecture(f"litgpt:{model}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == ("text-generation", family)
    assert architecture.graph.parameters == parameters


@pytest.mark.slow
def test_an_unknown_model_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="litgpt:pythia-160m"):
        resolve("litgpt:pythia-161m")
