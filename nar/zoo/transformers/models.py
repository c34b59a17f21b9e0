"""The models of transformers: every class of its auto tables, in its type's default configuration.

Two rungs: at full size without weights; where control flow reads values, with real weights of the
same depth and small width.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from nar.architecture import Labels
from nar.capture import Capture
from nar.errors import CaptureError
from nar.zoo.building import Built, Recipe, capture_recipe
from nar.zoo.libraries import import_library, library_version
from nar.zoo.spec import ArchitectureSpec, unknown_architecture
from nar.zoo.transformers.configs import NARROWING, Config, default_config, narrow_config
from nar.zoo.transformers.inputs import example_inputs
from nar.zoo.transformers.tasks import task_of_pairs

SOURCE = "transformers"
MAX_REAL_PARAMETERS = 300_000_000

# What a forward raises that was given None where it wants a tensor: no weights would help.
_MISSING_INPUT = (AttributeError, TypeError)


def list_transformers() -> list[str]:
    """Every (model type, class) of the auto tables, as ``transformers:<type>/<class>``."""
    return [f"{SOURCE}:{model_type}/{class_name}" for model_type, class_name in task_of_pairs()]


def resolve_transformers(name: str) -> ArchitectureSpec:
    """The spec behind ``transformers:<type>/<class>``.

    Raises:
        UnknownArchitectureError: No auto table has that pair.
    """
    model_type, _, class_name = name.removeprefix(f"{SOURCE}:").partition("/")
    task = task_of_pairs().get((model_type, class_name))
    if task is None:
        way_out = f"wanted {SOURCE}:<type>/<class>, as {SOURCE}:bert/BertForMaskedLM"
        raise unknown_architecture(name, list_transformers(), way_out=way_out)
    labels = Labels(
        name=name, source=SOURCE, library=library_version(SOURCE), family=model_type, task=task
    )
    return ArchitectureSpec(labels, partial(_capture, name, model_type, class_name))


def _capture(name: str, model_type: str, class_name: str) -> Capture:
    full, narrow = (
        Recipe(partial(_build, config_of, model_type, class_name), example_inputs)
        for config_of in (default_config, narrow_config)
    )
    try:
        return capture_recipe(name, full)
    except CaptureError as at_full_width:
        if isinstance(at_full_width.__cause__, _MISSING_INPUT):
            raise
        try:
            return _at_full_size(capture_recipe(name, narrow, place=_with_real_weights), full)
        except CaptureError as error:
            reason = f"{at_full_width.reason}; with real weights: {error.reason}"
            raise CaptureError(name, at_full_width.operator, reason) from error


def _at_full_size(capture: Capture, recipe: Recipe) -> Capture:
    """Give a narrow capture the size of the model it stands for.

    FLOPs are an estimate: products with weights grow with the square of the width, attention less.
    """
    graph = replace(
        capture.graph, parameters=_size(recipe), flops=capture.graph.flops * NARROWING**2
    )
    return replace(capture, graph=graph)


def _size(recipe: Recipe) -> int:
    """Number of learned scalars, tied ones once."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in recipe.build().parameters())


def _build(config_of: Callable[[str], Config], model_type: str, class_name: str) -> nn.Module:
    model: nn.Module = getattr(import_library(SOURCE), class_name)._from_config(
        config_of(model_type), experts_implementation="batched_mm"
    )
    return model


def _with_real_weights(recipe: Recipe) -> Built:
    """Build for real what control flow that reads values needs, if it fits."""
    size = _size(recipe)
    if size > MAX_REAL_PARAMETERS:
        raise ValueError(f"wanted at most {MAX_REAL_PARAMETERS:,} parameters, came {size:,}")
    # Experts are chosen by what the weights give: the same weights each time.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = recipe.build()
    return module, recipe.inputs(module)
