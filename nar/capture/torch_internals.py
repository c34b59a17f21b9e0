"""Private interfaces of torch that capture stands on, in one place.

Torch does not promise to keep these interfaces. Every private name is imported from here, and
`tests/capture/test_torch_internals.py` finds the names that a new version of torch has changed.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch._C import Argument, FunctionSchema
from torch._higher_order_ops.flex_attention import flex_attention as _flex_operator
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.distributions import Distribution
from torch.nn.attention import flex_attention as _flex
from torch.nn.modules.batchnorm import _BatchNorm as AnyBatchNorm
from torch.nn.modules.conv import _ConvNd as AnyConvolution
from torch.nn.modules.utils import _pair as pair
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

__all__ = [
    "FAKE_TENSOR_LOGGER",
    "HOOKS",
    "PAD_PACKED_SEQUENCE",
    "SHAPE_AS_TENSOR",
    "VARIABLE_FUNCTIONS",
    "AnyBatchNorm",  # what batch norms of every rank inherit from
    "AnyConvolution",  # what convolutions of every rank inherit from
    "DeviceContext",  # makes tensors on a device where the call names none
    "FakeTensor",
    "FakeTensorMode",
    "OpOverload",
    "TorchDispatchMode",  # sees every operator that runs below it
    "are_distributions_checked",
    "calls_in_program",
    "disable_onnx_log",
    "fake_mode",
    "flex_attention_in_the_open",
    "has_outer_dispatch_mode",
    "on_flex_attention",
    "pair",  # a number twice, and two numbers as they are
    "registered_buffers",
    "registered_parameters",
    "schema_of",
    "storage_address",
    "tree_leaves",
    "tree_map_only",
    "unscripted",
    "without_torch_functions",
    "writes_so_far",
    "written_arguments",
]

# Functions of `torch.nn` that have no public name: recurrent layers, packed sequences.
VARIABLE_FUNCTIONS: Any = torch._C._VariableFunctions
PAD_PACKED_SEQUENCE = VARIABLE_FUNCTIONS._pad_packed_sequence
# Gives the shape of a tensor as a tensor, which it reads from memory.
SHAPE_AS_TENSOR: Callable[[Tensor], Tensor] = torch._shape_as_tensor
FAKE_TENSOR_LOGGER = "torch._subclasses.fake_tensor"
# Attributes of a module that hold the hooks of its forward and its backward pass.
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def schema_of(overload: OpOverload) -> FunctionSchema:
    """The signature of an operator: its name, its arguments, what it writes and what it returns."""
    return overload._schema


def written_arguments(overload: OpOverload) -> tuple[tuple[int, str], ...]:
    """Position and name of each argument that an operator writes in place."""
    return tuple(
        (position, argument.name)
        for position, argument in enumerate(schema_of(overload).arguments)
        if _is_written(argument)
    )


def _is_written(argument: Argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def without_torch_functions() -> AbstractContextManager[None]:
    """Inside, no function mode and no tensor subclass answers functions: plain calls are cheaper.

    Capture looks at tensors there, which would be recorded otherwise.
    """
    return torch._C.DisableTorchFunction()


def has_outer_dispatch_mode() -> bool:
    """Whether, inside the call of a dispatch mode, another mode will see the same operator."""
    return bool(torch._C._len_torch_dispatch_stack())


def storage_address(storage: torch.UntypedStorage) -> int:
    """Identity of a storage while it lives, also of a storage without memory."""
    return int(storage._cdata)


def writes_so_far(tensor: Tensor) -> int:
    """A number that grows whenever something is written into a tensor in place."""
    return tensor._version


def are_distributions_checked() -> bool:
    """Whether distributions check their arguments, which `set_default_validate_args` sets."""
    return bool(Distribution._validate_args)


def registered_parameters(module: nn.Module) -> dict[str, nn.Parameter | None]:
    """The parameters of a module itself, in the dictionary that it reads them from."""
    return module._parameters


def registered_buffers(module: nn.Module) -> dict[str, Tensor | None]:
    """The buffers of a module itself, in the dictionary that it reads them from."""
    return module._buffers


def registered_modules(module: nn.Module) -> dict[str, nn.Module | None]:
    """The children of a module by all their names, in the dictionary that it reads them from."""
    return module._modules


def disable_onnx_log() -> None:
    """Let the exporter to ONNX that is written in C++ print nothing."""
    torch._C._jit_set_onnx_log_enabled(False)


def fake_mode() -> FakeTensorMode:
    """A new fake mode, in which numbers read from tensors are symbols."""
    # Imported here: it imports sympy, a quarter as much as torch, and few captures want symbols.
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    return FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)


def on_flex_attention(mode: type, record: Callable[..., tuple[Tensor, Tensor, Tensor]]) -> None:
    """Under a dispatch mode, let ``record(mode, query, key, value, ...)`` answer the operator."""
    _flex_operator.py_impl(mode)(record)


@contextmanager
def flex_attention_in_the_open() -> Iterator[None]:
    """Let `flex_attention` call its operator without compiling it, on any device."""
    before = _flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG, _flex._validate_device
    _flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    _flex._validate_device = lambda *_: None
    try:
        yield
    finally:
        _flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG, _flex._validate_device = before


def calls_in_program(module: torch.jit.ScriptModule, operator: str, stands_for: str) -> None:
    """Let a program that has not run yet call one operator in the place of another.

    Args:
        module: The program, which is changed.
        operator: The overload that it calls, as ``aten::lstm.input``.
        stands_for: An operator that takes and gives the same, as ``nar::lstm``.
    """
    name = operator.partition(".")[0]
    for graph in (graph for each in module.modules() for graph in _graphs(each)):
        for node in graph.findAllNodes(name):
            if node.schema().startswith(f"{operator}("):
                new = graph.create(stands_for, list(node.inputs()), node.outputsSize())
                new.insertBefore(node)
                for old, result in zip(node.outputs(), new.outputs(), strict=True):
                    result.setType(old.type())
                    old.replaceAllUsesWith(result)
                node.destroy()


def _graphs(module: nn.Module) -> Iterator[Any]:
    """The graph of each method of a part of a program.

    They are asked of the part in C++: some names, such as ``__len__`` of a sequence, are methods of
    Python's wrapper around it, too.
    """
    if isinstance(module, torch.jit.ScriptModule):
        for name in module._c._method_names():
            yield module._c._get_method(name).graph


@contextmanager
def unscripted() -> Iterator[None]:
    """Leave functions that would be compiled with TorchScript as they are."""
    is_on = torch.jit._state._enabled.enabled
    torch.jit._state.disable()
    try:
        yield
    finally:
        if is_on:
            torch.jit._state.enable()
