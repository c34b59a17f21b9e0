"""A rewrite: a captured model, the knobs to build it otherwise, and what is done to it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import nn

from nar.base.errors import UnknownArchitectureError
from nar.capture import CaptureInputs
from nar.graphs.architecture import Architecture
from nar.graphs.graph import ComputationalGraph
from nar.own import capture_architecture
from nar.zoo.building import Built, Plan, capture_plan, on_meta
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.configs import EXPERTS, Config, default_config, parts
from nar.zoo.sources.transformers.inputs import example_inputs
from nar.zoo.sources.transformers.known_values import known_values

Knobs = Mapping[str, Any]
CROP_SIZE = 224
Wanted = Literal["equal", "near"]


@dataclass(frozen=True, slots=True, eq=False)
class Original:
    """A model of the zoo and the means to build it again.

    Attributes:
        architecture: As the zoo captures it.
        make: Builds the module from settings of its library, none for the original's own.
        inputs: Makes one call of that module.
        surroundings: What the zoo builds and captures it in.
    """

    architecture: Architecture
    make: Callable[[Knobs], nn.Module]
    inputs: Callable[[nn.Module], CaptureInputs]
    surroundings: Callable[[], AbstractContextManager[None]]

    @property
    def name(self) -> str:
        """The spec."""
        return self.architecture.labels.name

    @property
    def library(self) -> str:
        """Who registers it: ``timm``, ``torchvision`` or ``transformers``."""
        return self.architecture.labels.source

    def build(self, **knobs: object) -> Built:
        """The module on meta, with some settings of its library changed, and its inputs."""
        return on_meta(Plan(partial(self.make, knobs), self.inputs))


@dataclass(frozen=True, slots=True)
class _Means:
    """As the attributes of `Original`, for every model of a source."""

    make: Callable[[str, Knobs], nn.Module]
    inputs: Callable[[nn.Module], CaptureInputs]
    surroundings: Callable[[], AbstractContextManager[None]]


def original(name: str) -> Original:
    """Capture a model, and find out how to build it.

    Args:
        name: A spec of timm, torchvision or transformers.

    Raises:
        UnknownArchitectureError: Another source, or no such model.
        CaptureError: The original itself cannot be captured.
    """
    source, _, model = name.partition(":")
    means = _MAKERS.get(source)
    if means is None:
        raise UnknownArchitectureError(f"{name}: rewrites know the sources {', '.join(_MAKERS)}")
    item = capture_architecture(name).architecture
    return Original(item, partial(means.make, model), means.inputs, means.surroundings)


def captured(name: str, module: nn.Module, inputs: CaptureInputs) -> ComputationalGraph:
    """The graph of a module that is built already.

    Raises:
        CaptureError: It could not be captured.
    """
    return capture_plan(name, Plan(lambda: module, lambda _: inputs), follow=_as_it_is).graph


def _as_it_is(plan: Plan) -> Built:
    module = plan.build()
    return module, plan.inputs(module)


def _make_timm(model: str, knobs: Knobs) -> nn.Module:
    made: nn.Module = import_library("timm").create_model(model, pretrained=False, **knobs)
    return made


def _timm_inputs(module: nn.Module) -> CaptureInputs:
    config: Any = module.pretrained_cfg
    return CaptureInputs((torch.empty(1, *config["input_size"]),))


def _make_torchvision(model: str, knobs: Knobs) -> nn.Module:
    library = import_library("torchvision.models")
    made: nn.Module = library.get_model(model, weights=None, **knobs)
    return made


def _torchvision_inputs(module: nn.Module) -> CaptureInputs:
    size = getattr(module, "image_size", CROP_SIZE)
    return CaptureInputs((torch.empty(1, 3, size, size),))


def _make_transformers(model: str, knobs: Knobs) -> nn.Module:
    model_type, _, class_name = model.partition("/")
    settings = dict(knobs)
    chosen = settings.pop("class_name", class_name)
    attention = settings.pop("attn_implementation", None)
    config = default_config(model_type)
    for part in parts(config):
        _change(part, settings)
    made: nn.Module = getattr(import_library("transformers"), chosen)._from_config(
        config, experts_implementation=EXPERTS, attn_implementation=attention
    )
    return made


def _change(config: Config, settings: Knobs) -> None:
    """Settings that a configuration has, under the name it has them."""
    for name, value in settings.items():
        if hasattr(config, name):
            setattr(config, name, value)


_MAKERS: dict[str, _Means] = {
    "timm": _Means(_make_timm, _timm_inputs, nullcontext),
    "torchvision": _Means(_make_torchvision, _torchvision_inputs, nullcontext),
    "transformers": _Means(_make_transformers, example_inputs, known_values),
}


class NotApplicableError(Exception):
    """A rewrite has nothing to rewrite in a model, or its library offers no way to do it."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One way to write a model otherwise.

    Attributes:
        name: E.g. ``eager_attention``.
        wanted: ``equal`` where the design stays the same, ``near`` where it changes a little.
        apply: The rewritten model's graph; raises `NotApplicableError`, or `CaptureError`.
        leaves_zoo: Whether other tools than the zoo run the model, outside its surroundings.
    """

    name: str
    wanted: Wanted
    apply: Callable[[Original], ComputationalGraph]
    leaves_zoo: bool = False
