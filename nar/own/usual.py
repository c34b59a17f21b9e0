"""Inputs for models of known libraries, where their owner gives none."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from nar.base.errors import CaptureError
from nar.capture import CaptureInputs
from nar.capture.forward.dispatch import reason_of
from nar.own.inputs.evidence import names_of
from nar.own.inputs.layers import read_attribute
from nar.zoo.sources.transformers.configs import EXPERTS, parts
from nar.zoo.sources.transformers.inputs import example_inputs


def usual_inputs(name: str, module: nn.Module) -> CaptureInputs | None:
    """One call of a module with the inputs usual in its library; None if no library is known.

    A model of transformers is given what its class takes. A model of timm, or a module of one input
    that contains one, is given an image of the size in its configuration.

    Args:
        name: Name of the model, for errors.
        module: Module on any device.

    Raises:
        CaptureError: A user's model of transformers lacks a setting that gives the size of inputs.
    """
    if is_of_transformers(module):
        try:
            known = example_inputs(module)
        except Exception as error:
            reason = f"{reason_of(error)}; state its inputs: --input input_ids=1x32:int64"
            raise CaptureError(name, "-", reason) from error
        return known if known.kwargs else None
    # A module that takes a text beside its image is more than the model of timm in it.
    is_of_one_input = len(names_of(module)) <= 1
    for part in module.modules() if is_of_one_input else (module,):
        config = read_attribute(part, "pretrained_cfg")
        if isinstance(config, Mapping) and config.get("input_size"):
            return CaptureInputs.of(torch.zeros(1, *config["input_size"]))
    return None


@contextmanager
def usual_settings(module: nn.Module) -> Iterator[None]:
    """Inside, models of transformers run as the corpus has them: experts in one product, no cache.

    Neither setting belongs to a design; afterwards both have their old values.
    """
    models: list[Any] = [part for part in module.modules() if is_of_transformers(part)]
    configs = [part for model in models for part in parts(model.config)]
    caches = [(config, config.use_cache) for config in configs if hasattr(config, "use_cache")]
    # A user's transformers may be older than ways of computing experts.
    settable = [model for model in models if hasattr(model, "set_experts_implementation")]
    experts = [(model, model.config._experts_implementation) for model in settable]
    try:
        for config, _ in caches:
            config.use_cache = False
        for model, _ in experts:
            model.set_experts_implementation(EXPERTS)
        yield
    finally:
        for config, before in caches:
            config.use_cache = before
        for model, before in experts:
            model.set_experts_implementation(before)


def is_of_transformers(module: nn.Module) -> bool:
    """Whether a module is a model of transformers, which then was imported to make it."""
    library = sys.modules.get("transformers.modeling_utils")
    return library is not None and isinstance(module, library.PreTrainedModel)
