"""From a configuration to a source's entry and to the network, without weights or training."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from nar.capture import Capture, CaptureInputs
from nar.capture.torch_internals import SHAPE_AS_TENSOR
from nar.labels.families import family_of
from nar.zoo.building import Built, Plan, on_meta
from nar.zoo.libraries import import_library
from nar.zoo.source import CaptureNamed, Entry, by_forward
from nar.zoo.sources.openmmlab.configs import Config, plain_type, read_config
from nar.zoo.sources.openmmlab.operators import former_mmdet, prepare_mmcv
from nar.zoo.sources.transformers.known_values import known_values

# Capture of networks that read the sizes of their maps from tensors: deformable attention.


def by_sizes(
    build: Callable[[], nn.Module], inputs: Callable[[nn.Module], CaptureInputs]
) -> CaptureNamed:
    """As `by_forward`, with the same arguments, for networks that read sizes from tensors."""
    inner = by_forward(build, inputs, follow=_all_on_meta)

    def capture(name: str) -> Capture:
        with known_values(), _Sizes():
            return inner(name)

    return capture


def _all_on_meta(plan: Plan) -> Built:
    """As `on_meta`, with the weights that ``torch.Tensor(size)`` makes on the CPU all the same."""
    module, example = on_meta(plan)
    return module.to("meta"), example


class _Sizes(TorchFunctionMode):
    """Makes the tensor of a shape from its numbers, so that known values include it."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function, `torch._shape_as_tensor` by another."""
        if func is SHAPE_AS_TENSOR:
            return torch.as_tensor(args[0].shape, device=args[0].device)
        return func(*args, **(kwargs or {}))


# Would load weights, make inputs or place labels while a model is built, or only serves training.
_LEFT_OUT = frozenset({"auxiliary_head", "data_preprocessor", "init_cfg", "pretrained"})
# Batch norm over several machines is batch norm: the libraries' own switch for one machine.
_ONE_MACHINE = {"SyncBN": "BN", "MMSyncBN": "BN", "NaiveSyncBatchNorm3d": "BN3d"}


def composed_entry(
    library: str,
    name: str,
    task: str,
    *,
    defining: Callable[[Config], str],
    build: Callable[[Config], nn.Module],
    inputs: Callable[[Config, nn.Module], CaptureInputs],
) -> Entry | None:
    """The entry of a listed configuration that puts a head on a backbone, else None.

    Args:
        library: Import name.
        name: Name of the configuration.
        task: See `Entry`.
        defining: The class that names the design, from the configuration's ``model``.
        build: Makes the network from the configuration's ``model``.
        inputs: Makes the inputs from the whole configuration and the network.
    """
    config = read_config(library, name)
    if config is None:
        return None
    model = config["model"]
    return Entry(
        defining(model),
        task,
        by_sizes(partial(build, model), partial(inputs, config)),
        backbone=family_of(library, plain_type(model["backbone"])),
    )


def build(library: str, model: Mapping[str, Any]) -> nn.Module:
    """The network that a configuration of a library describes, on the default device.

    Args:
        library: Import name, in whose registries types without a prefix are looked up first.
        model: The configuration's ``model``.
    """
    prepare_mmcv()
    scopes = import_library("mmengine.registry").DefaultScope
    with former_mmdet():
        for package in ("mmpretrain", library):
            import_library(f"{package}.models")  # registers them
    config = import_library("mmengine.config").ConfigDict(_network_only(model))
    with scopes.overwrite_default_scope(library):
        built: nn.Module = import_library(f"{library}.registry").MODELS.build(config)
    return built


def _network_only(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Mapping):
        kept = {key: _network_only(item) for key, item in value.items() if key not in _LEFT_OUT}
        # Detectors require the argument, and None says that the network is not trained.
        return kept | ({"train_cfg": None} if "train_cfg" in value else {})
    if isinstance(value, list | tuple):
        return type(value)(_network_only(item) for item in value)
    return _ONE_MACHINE.get(value, value) if isinstance(value, str) else value
