"""Networks of diffusers: shapes from the table, sizes of published checkpoints, tasks."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs
from nar.zoo.sources.diffusers import TASK_OF, described_classes


def test_classes_are_followed_by_their_checkpoints():
    names = list_specs("diffusers")
    row = names.index("diffusers:FluxTransformer2DModel")
    assert names[row + 1] == "diffusers:FluxTransformer2DModel@FLUX.1-dev"
    assert len(names) == len(set(names)) > len(described_classes()) > 100


def test_tasks_are_those_of_described_classes():
    assert set(TASK_OF) <= set(described_classes())
    assert TASK_OF["AutoencoderKLMiniMaxH3Audio"] == "autoencoding"


@pytest.mark.slow
def test_an_unknown_checkpoint_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="DiT-XL-2"):
        resolve("diffusers:DiTTransformer2DModel@DiT-XL-3")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "task", "parameters"),
    [
        ("UNet2DModel@ddpm-cifar10-32", "unconditional-image-generation", 35_746_307),
        ("AutoencoderKL@stable-diffusion-v1-5", "autoencoding", 83_653_863),
        ("UNet2DConditionModel@stable-diffusion-v1-5", "text-to-image", 859_520_964),
        ("AutoencoderTiny", "autoencoding", None),
        ("GlmImageTransformer2DModel", "text-to-image", None),  # reads a mask
    ],
)
def test_published_sizes_have_the_published_number_of_parameters(name, task, parameters):
    architecture = capture_architecture(f"diffusers:{name}").architecture
    architecture.graph.validate()
    assert architecture.labels.task == task
    if parameters is not None:
        assert architecture.graph.parameters == parameters
