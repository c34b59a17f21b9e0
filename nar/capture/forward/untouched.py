"""A module is lent to capture: whatever a forward pass does to it is undone."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

from nar.capture.torch_internals import HOOKS, registered_buffers, registered_parameters

_CONTAINERS = frozenset({dict, list, OrderedDict})  # no subclass: some cannot be written


@contextmanager
def untouched(module: nn.Module) -> Iterator[Sequence[nn.Module]]:
    """Undo changes of the attributes of a module and of its children, and give the children.

    Attributes, their dictionaries and lists, hooks, modes and classes are as before; values that
    are written into a tensor are not restored here.
    """
    children = list(module.modules())
    before = [(child, type(child), dict(child.__dict__), _contents(child)) for child in children]
    try:
        yield children
    finally:
        for child, kind, attributes, contents in before:
            if type(child) is not kind:
                child.__class__ = kind
            child.__dict__.clear()
            child.__dict__.update(attributes)
            for container, content in contents:
                container.clear()
                (container.extend if isinstance(container, list) else container.update)(content)


def _contents(child: nn.Module) -> list[tuple[Any, Any]]:
    values = child.__dict__.values()
    return [(value, value.copy()) for value in values if type(value) in _CONTAINERS]


def silence(children: Sequence[nn.Module]) -> None:
    """Take away the hooks that belong neither to torch nor to the classes of a model.

    Spectral norm, pruning and lazy layers are hooks of torch, and some designs collect their
    features by hooks that their classes register. Every other hook observes.
    """
    owners = tuple({(type(child).__module__, type(child).__qualname__) for child in children})
    parts = {id(part) for child in children for part in (child, *vars(child).values())}
    for child in children:
        for kind in HOOKS:
            hooks = child.__dict__.get(kind) or {}
            observers = [key for key, hook in hooks.items() if not _belongs(hook, owners, parts)]
            for key in observers:
                del hooks[key]


def _belongs(
    hook: Callable[..., Any], owners: tuple[tuple[str, str], ...], parts: set[int]
) -> bool:
    while isinstance(hook, partial):
        hook = hook.func
    holder = getattr(hook, "__self__", None)
    if holder is not None and id(holder) in parts:
        return True
    function = hook if hasattr(hook, "__qualname__") else type(hook)
    where, name = function.__module__ or "", function.__qualname__
    is_inside = any(where == home and name.startswith(f"{owner}.") for home, owner in owners)
    return where.partition(".")[0] == "torch" or is_inside


def has_lazy(children: Iterable[nn.Module]) -> bool:
    """Whether a weight waits for its first input to learn its shape."""
    return any(
        tensor is not None and is_lazy(tensor)
        for child in children
        for registered in (registered_parameters(child), registered_buffers(child))
        for tensor in registered.values()
    )


def renew_lazy(children: Iterable[nn.Module], device: str) -> None:
    """Replace each lazy weight by a new lazy weight on a device; the old weight stays as it is."""
    for child in children:
        parameters, buffers = registered_parameters(child), registered_buffers(child)
        for name, weight in parameters.items():
            if isinstance(weight, UninitializedParameter):
                parameters[name] = UninitializedParameter(
                    requires_grad=weight.requires_grad, device=device, dtype=weight.dtype
                )
        for name, buffer in buffers.items():
            if isinstance(buffer, UninitializedBuffer):
                made: Any = UninitializedBuffer  # its own arguments are not typed
                buffers[name] = made(device=device, dtype=buffer.dtype)
