"""What every edit of a module needs: its blocks, its shapes, and new layers where it lives.

Edits add what they add by hooks wherever they can. A hook leaves in place what the code of a model
reads from its layers: their weights, their types, their positions in a list.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from benchmark.rewriting.rewrite import NotApplicableError
from nar.capture import CaptureInputs
from nar.capture.forward.dispatch import trace_module
from nar.capture.forward.placement import flat_tensors
from nar.capture.torch_internals import AnyConvolution, FakeTensor, registered_modules

MIN_BLOCKS = 2
MIN_BLOCK_LAYERS = 2
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


@contextmanager
def at_home(module: nn.Module) -> Iterator[None]:
    """Layers made inside live where the weights of a module do: on meta, fake, or real."""
    weight = next(module.parameters(), None)
    if weight is None:
        raise NotApplicableError("it has no weights")
    with ExitStack() as stack:
        if isinstance(weight, FakeTensor):
            stack.enter_context(weight.fake_mode)
        stack.enter_context(torch.device(weight.device))
        yield


def width_of(layer: nn.Module) -> tuple[int, int] | None:
    """Inputs and outputs of a linear layer, that of GPT-2 included; None of any other module."""
    if isinstance(layer, nn.Linear):
        return layer.in_features, layer.out_features
    weight = getattr(layer, "weight", None)
    if type(layer).__name__ == "Conv1D" and isinstance(weight, Tensor):
        return weight.shape[0], weight.shape[1]
    return None


def is_layer(module: nn.Module) -> bool:
    """Whether a module is a convolution or a linear layer."""
    return isinstance(module, AnyConvolution) or width_of(module) is not None


def convolutions(module: nn.Module) -> list[AnyConvolution]:
    """The convolutions of a module, in the order in which it lists them."""
    return [
        layer
        for layer in module.modules()
        if isinstance(layer, AnyConvolution) and not isinstance(layer, _TRANSPOSED)
    ]


def runs_of_blocks(module: nn.Module) -> list[tuple[nn.Module, list[nn.Module]]]:
    """Containers and the blocks in them, the innermost where they are nested.

    Blocks are the children of one list that are of one type, each with several layers of its own.
    """
    runs: list[tuple[nn.Module, list[nn.Module]]] = []
    for container in module.modules():
        children = list(container.children())
        if isinstance(container, nn.Sequential | nn.ModuleList) and _are_blocks(children):
            runs.append((container, children))
    return [run for run in runs if not any(_holds(run[1], other[0]) for other in runs)]


def _are_blocks(children: list[nn.Module]) -> bool:
    kinds = {type(child) for child in children}
    return (
        len(children) >= MIN_BLOCKS
        and len(kinds) == 1
        and all(sum(map(is_layer, child.modules())) >= MIN_BLOCK_LAYERS for child in children)
    )


def _holds(blocks: list[nn.Module], container: nn.Module) -> bool:
    return any(container is inner for block in blocks for inner in block.modules())


def blocks_of(module: nn.Module) -> list[nn.Module]:
    """Every block of a model.

    Raises:
        NotApplicableError: It has none.
    """
    blocks = [block for _, run in runs_of_blocks(module) for block in run]
    if not blocks:
        raise NotApplicableError("it repeats no block")
    return list(dict.fromkeys(blocks))


def replace_modules(module: nn.Module, replacement: Callable[[nn.Module], nn.Module | None]) -> int:
    """Put other modules in the place of some; each of them once, however many names it has.

    Args:
        module: Changed in place.
        replacement: What stands for a module, None to leave it.

    Returns:
        How many were replaced.
    """
    new: dict[int, nn.Module] = {}
    for parent in list(module.modules()):
        for name, child in list(registered_modules(parent).items()):
            if child is None or child in new.values():
                continue
            other = new[id(child)] if id(child) in new else replacement(child)
            if other is not None:
                new[id(child)] = other
                registered_modules(parent)[name] = other
    return len(new)


def run_once(module: nn.Module, inputs: CaptureInputs, hooks: list[Any]) -> None:
    """One forward pass without weights, for the hooks that are on the module now.

    Args:
        module: With its hooks.
        inputs: Its call.
        hooks: Handles of the module's hooks, which are gone afterwards.

    Raises:
        CaptureError: The model does not run.
    """
    try:
        trace_module(module, inputs, name=type(module).__name__)
    finally:
        for hook in hooks:
            hook.remove()


def outputs_of(
    module: nn.Module, inputs: CaptureInputs, watched: list[nn.Module]
) -> dict[nn.Module, Tensor]:
    """The first tensor that each watched module returns in one forward pass; those that are run."""
    returned: dict[nn.Module, Tensor] = {}

    def note(layer: nn.Module, _args: object, output: object) -> None:
        tensor = next(flat_tensors(output), None)
        if tensor is not None:
            returned[layer] = tensor

    run_once(module, inputs, [each.register_forward_hook(note) for each in watched])
    return returned


def on_first_tensor(output: Any, change: Callable[[Tensor], Tensor]) -> Any:  # noqa: ANN401
    """What a module returns, with its first tensor changed: a tensor, or a tuple or list of them.

    Raises:
        NotApplicableError: It returns something else.
    """
    if isinstance(output, Tensor):
        return change(output)
    if isinstance(output, tuple | list) and output and isinstance(output[0], Tensor):
        return type(output)([change(output[0]), *output[1:]])
    raise NotApplicableError(f"its blocks return {type(output).__name__}")
