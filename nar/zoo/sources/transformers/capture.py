"""From a class and a configuration to a graph, in two rungs.

At full size without weights; where control flow reads values that only weights give, with real
weights, of small width where the model is large.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from nar.base.errors import CaptureError, one_line
from nar.capture import Capture, CaptureInputs
from nar.capture.forward.dispatch import weights_in
from nar.graphs.fingerprints import fingerprinted
from nar.zoo.building import Built, Plan, capture_plan, on_meta
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.configs import EXPERTS, NARROWING, Config, narrowed, parts
from nar.zoo.sources.transformers.inputs import example_inputs
from nar.zoo.sources.transformers.known_values import known_values

# Chosen: 1.2 GB of weights in 32 bits, for each of several processes of a job.
MAX_REAL_PARAMETERS = 300_000_000
# Chosen: up to here a model keeps its full width, and its numbers of operations need no estimate;
# beyond, a narrow model is built, which takes less time and memory.
MAX_WHOLE_PARAMETERS = 50_000_000
_NARROWINGS = (NARROWING, 4 * NARROWING)

# Types of one class, which the auto tables list for every type of model that it may stand on.
_HEADS_ON_ANY_MODEL = ("jev",)

# Classes that read text without a decoder: some require that their configuration says so.
_ENCODERS = "EncoderModel"

# What torch says of a class that only has parts to call.
_NO_FORWARD = 'missing the required "forward"'


def capture_config(name: str, class_name: str, config_of: Callable[[], Config]) -> Capture:
    """Capture a model class in some configuration: at full width, else with narrow real weights.

    Args:
        name: Name of the model, for errors.
        class_name: A model class of transformers.
        config_of: Makes the configuration anew each time, as `default_config` does.

    Raises:
        CaptureError: Neither rung captures it; the reason names both.
    """
    full = partial(_build, config_of, class_name)
    try:
        with known_values():
            return capture_plan(name, Plan(full, example_inputs))
    except CaptureError as at_full_width:
        if not _may_lack_values(at_full_width):
            raise
        try:
            return _capture_for_real(name, class_name, config_of)
        except CaptureError as error:
            reason = f"{at_full_width.reason}; with real weights: {error.reason}"
            raise CaptureError(name, at_full_width.operator, reason) from error


def _may_lack_values(error: CaptureError) -> bool:
    """Whether a forward may have stopped because it read what only weights give.

    Then torch raises some `RuntimeError`. A missing input or module, or a setting that the model
    refuses, would only fail again with weights.
    """
    return isinstance(error.__cause__, RuntimeError) and _NO_FORWARD not in error.reason


def _capture_for_real(name: str, class_name: str, config_of: Callable[[], Config]) -> Capture:
    """Capture with real weights, at full width if the model is small, else as wide as fits."""
    build = partial(_build, config_of, class_name)
    # A model may refuse a narrow configuration.
    try:
        size = _parameters(build)
        by = 1 if size <= MAX_WHOLE_PARAMETERS else _narrowing(class_name, config_of)
    except Exception as error:
        raise CaptureError(name, "-", one_line(error)) from error
    narrow = partial(_build_narrow, config_of, class_name, by) if by > 1 else build
    capture = capture_plan(name, Plan(narrow, example_inputs), follow=_with_real_weights)
    if by == 1:
        return capture
    # An estimate: products with weights grow with the square of the width, attention less.
    graph = replace(capture.graph, parameters=size, flops=capture.graph.flops * by**2)
    weights = weights_in(_weightless(build))
    details = capture.details.without_sizes() if capture.details else None
    return replace(capture, network=fingerprinted(graph), weights=weights, details=details)


def _narrowing(class_name: str, config_of: Callable[[], Config]) -> int:
    """The divisor of all widths.

    Raises:
        ValueError: The model is too large even at the smallest width.
    """
    for by in _NARROWINGS:
        size = _parameters(partial(_build_narrow, config_of, class_name, by))
        if size <= MAX_REAL_PARAMETERS:
            return by
    raise ValueError(f"wanted at most {MAX_REAL_PARAMETERS:,} parameters, came {size:,}")


def _parameters(build: Callable[[], nn.Module]) -> int:
    """Number of learned scalars, tied ones once."""
    return sum(parameter.numel() for parameter in _weightless(build).parameters())


def _weightless(build: Callable[[], nn.Module]) -> nn.Module:
    """The module; no weight takes memory or is initialised."""
    module, _ = on_meta(Plan(build, lambda _module: CaptureInputs()))
    return module


def _build(config_of: Callable[[], Config], class_name: str) -> nn.Module:
    model_class = getattr(import_library("transformers"), class_name)
    config = _config_for(model_class, config_of())
    if class_name.endswith(_ENCODERS):
        config.is_encoder_decoder = False
    model: nn.Module = model_class._from_config(config, experts_implementation=EXPERTS)
    return model


def _build_narrow(config_of: Callable[[], Config], class_name: str, by: int) -> nn.Module:
    return _build(lambda: narrowed(config_of(), by), class_name)


def _config_for(model_class: type, config: Config) -> Config:
    """The configuration for a class: a part, where the auto tables list it for the whole."""
    wanted: Any = getattr(model_class, "config_class", None)
    if wanted is None or isinstance(config, wanted):
        return config
    if wanted.model_type in _HEADS_ON_ANY_MODEL:
        width = config.get_text_config().hidden_size
        return wanted(text_config=config, hidden_size=width)
    return next((part for part in parts(config) if isinstance(part, wanted)), config)


def _with_real_weights(plan: Plan) -> Built:
    """Build a model with weights, for control flow that reads values."""
    # Weights decide which experts run, so they are the same each time.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = plan.build()
    return module, plan.inputs(module)
