"""Models of libraries whose configuration is not read: the inputs found run the true design."""

import pytest

from nar.capture import capture_module
from nar.own.inputs import infer_inputs
from nar.zoo.building import operating
from nar.zoo.sources import source_of

MODELS = [
    "timm:resnet18",
    "timm:mixer_b16_224",
    "timm:swin_tiny_patch4_window7_224",
    "timm:convnext_atto",
    "torchvision:googlenet",
    "torchvision:r3d_18",
    "torchvision:deeplabv3_resnet50",
    "speechbrain:ECAPA_TDNN",
    "esm:ESM2/t6_8M",
    "diffusers:UNet2DModel@ddpm-cifar10-32",
    "monai:DiffusionModelUNet/2d",
    "pytorchvideo:X3D/xs",
    "neuralforecast:TSMixer/m4-daily",
    "pypots:SAITS/imputation/pedestrian",
    "stable_baselines3:TD3/CarRacing-v3",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_called_as_its_library_calls_it(name):
    compared = []

    def compare(module, inputs):
        found = infer_inputs(name, module)
        one, other = (capture_module(module, each).network for each in (inputs, found.inputs))
        compared.append((one.topology == other.topology, found.texts))
        return module, inputs

    with operating(compare):
        source_of(name).resolve(name).capture()
    assert compared
    assert all(is_same for is_same, _ in compared), compared
