"""Functions recorded as one operation: what they are made of would hide the design or explode."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from nar.capture.forward.recorder import Recorder
from nar.capture.trace import Shape

Shapes = Callable[[tuple[Any, ...]], tuple[Shape, ...]]


def attention_shapes(args: tuple[Any, ...]) -> tuple[Shape]:
    """Shape of attention's result: query's length, value's width, the larger batch."""
    query, _, value = args[:3]
    batch, *others = query.shape[:-1]
    if others:
        batch = max(batch, value.shape[0])
    return ((batch, *others, value.shape[-1]),)


def sequence_shapes(args: tuple[Any, ...]) -> tuple[Shape, ...]:
    """Shapes of what a recurrent layer returns: the sequence, then the state it ends with.

    Args:
        args: ``(input, state, weights, has_biases, layers, dropout, train, bidirectional, ..)`` or,
            for packed sequences, ``(input, batch_sizes, state, weights, ...)``.
    """
    is_packed = isinstance(args[3], list | tuple)
    state = args[2] if is_packed else args[1]
    states = [state] if isinstance(state, Tensor) else list(state)
    layers = next(argument for argument in args[3:] if type(argument) is int)
    directions = states[0].shape[0] // layers
    sequence = (*args[0].shape[:-1], directions * states[0].shape[-1])
    return (sequence, *(tuple(tensor.shape) for tensor in states))


def linear_shape(args: tuple[Any, ...]) -> tuple[Shape]:
    """Shape of a linear layer's result."""
    return ((*args[0].shape[:-1], *args[1].shape[:-1]),)


def same_shape(args: tuple[Any, ...]) -> tuple[Shape]:
    """Shape of an elementwise result."""
    return (tuple(args[0].shape),)


def opaque_functions() -> dict[Callable[..., Any], tuple[str, Shapes | None]]:
    """Function -> the ATen operator it is recorded as, and the shapes it returns if it knows."""
    functions = torch._C._VariableFunctions
    attention = functional.scaled_dot_product_attention
    return {
        attention: ("aten::scaled_dot_product_attention", attention_shapes),
        functions.lstm: ("aten::lstm", sequence_shapes),
        functions.gru: ("aten::gru", sequence_shapes),
        functions.rnn_tanh: ("aten::rnn_tanh", sequence_shapes),
        functions.rnn_relu: ("aten::rnn_relu", sequence_shapes),
        # On meta tensors torch works these out in Python: two thirds of a network's time.
        functional.batch_norm: ("aten::batch_norm", same_shape),
        functional.gelu: ("aten::gelu", same_shape),
        functional.layer_norm: ("aten::layer_norm", same_shape),
        functional.linear: ("aten::linear", linear_shape),
        functions.instance_norm: ("aten::instance_norm", same_shape),
        functions._pad_packed_sequence: ("aten::_pad_packed_sequence", None),
    }


class OpaqueFunctions(TorchFunctionMode):
    """Keeps some functions whole. Without memory behind the tensors they are not even run.

    Args:
        recorder: Records them; must be active below.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._functions = opaque_functions()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function, or record it as one operation."""
        kwargs = kwargs or {}
        entry = self._functions.get(func)
        if entry is None:
            return func(*args, **kwargs)
        operator, shapes = entry
        every = (*args, *kwargs.values())
        run = partial(func, *args, **kwargs)
        if shapes is not None and _is_weightless(every[0]):
            run = partial(_empty, every[0], shapes, every)
        return self._recorder.record(operator, every, run)


def _empty(like: Tensor, shapes: Shapes, args: tuple[Any, ...]) -> object:
    made = tuple([like.new_empty(shape) for shape in shapes(args)])
    return made[0] if len(made) == 1 else made


def _is_weightless(tensor: Tensor) -> bool:
    return tensor.is_meta or isinstance(tensor, FakeTensor)
