"""Unwrapping: a model is wrapped to be compiled, distributed or trained; inside it is a model."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import torch
from torch import nn

from nar.capture.forward.untouched import untouched
from nar.own.inputs.layers import read_attribute

# Class of a wrapper -> its attribute that holds the model. Classes are known by their names: most
# are of libraries that need not be installed.
_WRAPPERS: Final[Mapping[str, str]] = {
    "CheckpointWrapper": "_checkpoint_wrapped_module",
    "DataParallel": "module",
    "DeepSpeedEngine": "module",
    "DistributedDataParallel": "module",
    "FullyShardedDataParallel": "module",
    "OptimizedModule": "_orig_mod",
    "_FabricModule": "module",
}
# Attributes in which accelerate keeps the forward that it has replaced: by a forward in another
# precision, or by a forward that moves inputs to the device of the weights.
_REPLACED_FORWARDS: Final = ("_original_forward", "_old_forward")
_AUTOCAST_DEVICES: Final = ("cpu", "cuda")


def unwrapped(module: nn.Module) -> nn.Module:
    """The model inside of its wrappers."""
    while True:
        kinds = {kind.__name__ for kind in type(module).__mro__}
        attribute = next((_WRAPPERS[kind] for kind in kinds & _WRAPPERS.keys()), None)
        inside = read_attribute(module, attribute) if attribute else None
        if not isinstance(inside, nn.Module):
            return module
        module = inside


@contextmanager
def bare(model: nn.Module) -> Iterator[None]:
    """Inside, the parts of a model are in no wrappers either, and no two share a flat tensor."""
    with untouched(model) as parts:
        _own_weights(model)
        for part in parts:
            for name, child in part.named_children():
                setattr(part, name, unwrapped(child))
            for replaced in _REPLACED_FORWARDS:
                if replaced in vars(part):
                    vars(part)["forward"] = vars(part)[replaced]
        yield


def _own_weights(model: nn.Module) -> None:
    """Give each weight that is a part of a larger tensor memory of its own; tied ones stay tied."""
    own: dict[int, nn.Parameter] = {}
    for part in model.modules():
        for name, weight in part.named_parameters(recurse=False, remove_duplicate=False):
            # Tensors of other kinds know by themselves what they are a part of.
            if (
                type(weight) is not nn.Parameter
                or weight.untyped_storage().nbytes() <= weight.nbytes
            ):
                continue
            copied = own.setdefault(id(weight), nn.Parameter(weight.detach().clone()))
            setattr(part, name, copied)


@contextmanager
def gathered(module: nn.Module) -> Iterator[None]:
    """Inside, weights that are kept in one flat tensor or in shards are those of the model."""
    kinds = {kind.__name__ for kind in type(module).__mro__}
    with ExitStack() as stack:
        if "FullyShardedDataParallel" in kinds:
            from torch.distributed.fsdp import FullyShardedDataParallel as Sharded

            stack.enter_context(Sharded.summon_full_params(module, writeback=False))
        sharded: list[Any] = [part for part in module.modules() if hasattr(part, "unshard")]
        for part in sharded:
            part.unshard()
            stack.callback(part.reshard)
        yield


def leave_autocast(stack: ExitStack) -> bool:
    """Run what follows in the precision of the weights; whether it would not have been so."""
    mixed = [device for device in _AUTOCAST_DEVICES if torch.is_autocast_enabled(device)]
    for device in mixed:
        stack.enter_context(torch.autocast(device, enabled=False))
    return bool(mixed)
