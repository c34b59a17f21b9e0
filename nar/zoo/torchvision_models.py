"""The models that torchvision registers: image and video classification, segmentation, flow."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import torch
from torch import Tensor, nn

from nar.architecture import Labels
from nar.capture import CaptureInputs
from nar.zoo.building import capture_weightless
from nar.zoo.libraries import import_library, library_version
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "torchvision"
FRAMES = 16
SEGMENTATION_SIZE = 520
FLOW_SIZE = (360, 480)


@dataclass(frozen=True, slots=True)
class _Kind:
    """One registry of torchvision.

    Attributes:
        module: Module that registers the models.
        task: Their task.
        weights: Arguments that keep them from being downloaded.
        inputs: From a model and the image size of its published weights to its inputs.
    """

    module: str
    task: str
    weights: tuple[str, ...]
    inputs: Callable[[int], tuple[Tensor, ...]]


def _image(size: int) -> tuple[Tensor, ...]:
    return (torch.empty(1, 3, size, size),)


def _clip(size: int) -> tuple[Tensor, ...]:
    return (torch.empty(1, 3, FRAMES, size, size),)
