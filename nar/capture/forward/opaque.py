"""Functions recorded as one operation: their parts would hide the design or be too many."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

import nar.capture.torch_internals as internals
from nar.capture.forward.aten import RECURRENT
from nar.capture.forward.recorder import Recorder
from nar.capture.trace import Shape

Shapes = Callable[[tuple[Any, ...]], tuple[Shape, ...]]


def attention_shapes(args: tuple[Any, ...]) -> tuple[Shape]:
    """Shape of attention's result: length of the query, width of the value, the larger batch."""
    query, key, value = args[:3]
    _fit("key", key.shape[-1:], query.shape[-1:])
    _fit("value", value.shape[-2:-1], key.shape[-2:-1])
    batch, *others = query.shape[:-1]
    if others:
        batch = max(batch, value.shape[0])
    return ((batch, *others, value.shape[-1]),)


def sequence_shapes(args: tuple[Any, ...]) -> tuple[Shape, ...]:
    """Shapes of the results of a recurrent layer: the sequence, then its last state.

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


def states_shapes(args: tuple[Any, ...]) -> tuple[Shape, ...]:
    """Shapes of the results of a recurrent cell: its states."""
    state = args[1]
    states = [state] if isinstance(state, Tensor) else list(state)
    return tuple(tuple(each.shape) for each in states)


def linear_shape(args: tuple[Any, ...]) -> tuple[Shape]:
    """Shape of a linear layer's result."""
    _fit("input", args[0].shape[-1:], args[1].shape[-1:])
    return ((*args[0].shape[:-1], *args[1].shape[:-1]),)


def same_shape(args: tuple[Any, ...]) -> tuple[Shape]:
    """Shape of an elementwise result."""
    return (tuple(args[0].shape),)


def channels_shape(args: tuple[Any, ...]) -> tuple[Shape]:
    """Shape of the result of a norm with weights and statistics of one number for each channel."""
    for tensor in args[1:5]:
        if isinstance(tensor, Tensor):
            _fit("channels", args[0].shape[1:2], (tensor.numel(),))
    return same_shape(args)


def last_axes_shape(args: tuple[Any, ...]) -> tuple[Shape]:
    """Shape of a layer norm's result; an argument has the extents of the axes it averages."""
    axes = next(tuple(each) for each in args[1:] if isinstance(each, list | tuple))
    _fit("input", args[0].shape[-len(axes) :], axes)
    return same_shape(args)


def _fit(name: str, came: Sequence[int], wanted: Sequence[int]) -> None:
    """Refuse sizes that torch would refuse; a size that depends on data fits.

    Raises:
        RuntimeError: As torch does.
    """
    # Symbolic sizes are not compared: the trace may have fixed no value for them.
    differ = (type(a) is type(b) is int and a != b for a, b in zip(came, wanted, strict=True))
    if len(came) != len(wanted) or any(differ):
        raise RuntimeError(f"{name}: wanted size {[*wanted]}, came {[*came]}")


def opaque_functions() -> dict[Callable[..., Any], tuple[str, Shapes | None]]:
    """Function -> the ATen operator it is recorded as, and the function of its shapes if known."""
    functions = internals.VARIABLE_FUNCTIONS
    attention = functional.scaled_dot_product_attention
    return {
        attention: ("aten::scaled_dot_product_attention", attention_shapes),
        functions.lstm: ("aten::lstm", sequence_shapes),
        functions.gru: ("aten::gru", sequence_shapes),
        functions.rnn_tanh: ("aten::rnn_tanh", sequence_shapes),
        functions.rnn_relu: ("aten::rnn_relu", sequence_shapes),
        **{
            getattr(functions, name): (f"aten::{name}", states_shapes)
            for name in ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
        },
        # On meta tensors torch computes these in Python: two thirds of the time of a network.
        functional.batch_norm: ("aten::batch_norm", channels_shape),
        functional.gelu: ("aten::gelu", same_shape),
        functional.instance_norm: ("aten::instance_norm", channels_shape),
        functional.layer_norm: ("aten::layer_norm", last_axes_shape),
        functional.linear: ("aten::linear", linear_shape),
        functions.instance_norm: ("aten::instance_norm", channels_shape),
        internals.PAD_PACKED_SEQUENCE: ("aten::_pad_packed_sequence", None),
    }


_PROGRAMS: Final = "nar"  # what a program of TorchScript calls in place of a recurrent layer


def keep_whole(program: torch.jit.ScriptModule) -> None:
    """Let the recurrent layers of a program stay whole: its interpreter calls no functions.

    Args:
        program: It was loaded and has not run yet. What its recurrent layers give is zeros.
    """
    _stand_ins()
    for name in RECURRENT:
        internals.calls_in_program(program, f"aten::{name}.input", f"{_PROGRAMS}::{name}")


@cache
def _stand_ins() -> torch.library.Library:
    """Operators that take what recurrent layers take; they are there as long as this is held."""
    library = torch.library.Library(_PROGRAMS, "FRAGMENT")
    for name in RECURRENT:
        overload = getattr(torch.ops.aten, name).input
        _, _, form = str(internals.schema_of(overload)).partition("(")
        library.define(f"{name}({form}")
        library.impl(name, _zeros, "CompositeExplicitAutograd")
    return library


def _zeros(*args: Any) -> tuple[Tensor, ...]:  # noqa: ANN401
    return tuple([args[0].new_zeros(shape) for shape in sequence_shapes(args)])


def leaving_functions() -> dict[Callable[..., Any], str]:
    """Functions that take values out of tensors, and their names.

    `if` asks ``bool``: what another value would have chosen is not in the graph.
    """
    return {
        Tensor.numpy: "numpy",
        Tensor.__array__: "numpy",
        Tensor.tolist: "tolist",
        Tensor.item: "item",
        Tensor.__dlpack__: "dlpack",
        Tensor.__float__: "float",
        Tensor.__int__: "int",
        Tensor.__index__: "int",
        Tensor.__complex__: "complex",
        Tensor.__bool__: "bool",
        torch.is_nonzero: "bool",
        torch.equal: "equal",
        Tensor.equal: "equal",
        torch.allclose: "allclose",
        Tensor.allclose: "allclose",
        Tensor.untyped_storage: "storage",  # as pickling reads it
        Tensor.storage: "storage",
    }


Answer = Callable[[Recorder, Callable[..., Any], tuple[Any, ...], Mapping[str, Any]], object]


def answered_functions() -> dict[Callable[..., Any], Answer]:
    """Functions that are not run as they are, and what is done instead."""
    return {
        torch.autograd.grad: _derivative,
        Tensor.type: _typed,
        Tensor.index_select: _selected,
        torch.index_select: _selected,
    }


def _derivative(
    recorder: Recorder,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> object:
    """Derivatives by some inputs; where none is recorded, what is derived stands for them."""
    try:
        return func(*args, **kwargs)
    except RuntimeError as error:
        if "does not require grad" not in str(error):
            raise
    outputs, inputs = (
        each if isinstance(each, list | tuple) else (each,)
        for each in (*args, *(kwargs[key] for key in ("outputs", "inputs") if key in kwargs))[:2]
    )
    recorder.builder.leave_out("the derivative that its forward computes")
    return tuple(
        recorder.record("aten::alias", (outputs[0],), partial(torch.empty_like, each))
        for each in inputs
    )


# The type of a tensor that has no memory, which cannot be made from its name.
_TYPE_OF_NOTHING = re.compile(r"^torch\.meta\.(\w+)Tensor$")
_ELEMENTS: Mapping[str, str] = {"Byte": "uint8", "Char": "int8", "BFloat16": "bfloat16"}


def _typed(
    _recorder: Recorder,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> object:
    """A tensor in the type of another tensor, which is named as a text."""
    wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
    named = _TYPE_OF_NOTHING.match(wanted) if isinstance(wanted, str) else None
    if named is None:
        return func(*args, **kwargs)
    name = _ELEMENTS.get(named[1], named[1].lower())
    return args[0].to(getattr(torch, name))


# Files of torch that sort packed sequences by their length, and put them back in order.
_SORTING = ("torch/nn/utils/rnn.py", "torch/nn/modules/rnn.py")


def _selected(
    recorder: Recorder,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> object:
    """Rows in an order; the order of packed sequences is no part of a design."""
    run = partial(func, *args, **kwargs)
    # The frames between are of this file: the mode, and this function.
    caller = sys._getframe(2).f_code.co_filename.replace(os.sep, "/")
    is_order = caller.endswith(_SORTING)
    return recorder.record("aten::alias", args[:1], run) if is_order else run()


class OpaqueFunctions(TorchFunctionMode):
    """Keeps some functions whole, and does not run them where the tensors have no memory.

    Args:
        recorder: Records the functions; must be active below this mode.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._functions = opaque_functions()
        self._leaving = leaving_functions()
        self._answers = answered_functions()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function, or record it as one operation."""
        kwargs = kwargs or {}
        if func in self._leaving:
            self._recorder.leave(self._leaving[func], args[0])
            return func(*args, **kwargs)
        answer = self._answers.get(func)
        if answer is not None:
            return answer(self._recorder, func, args, kwargs)
        entry = self._functions.get(func)
        if entry is None:
            return func(*args, **kwargs)
        operator, shapes = entry
        every = (*args, *kwargs.values())
        run = partial(lightly, func, shapes, args, kwargs)
        return self._recorder.record(operator, every, run, kwargs)


def lightly(
    func: Callable[..., Any],
    shapes: Shapes | None,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> object:
    """The result of a function; by its shapes alone where these are known and nothing has memory.

    Args:
        func: A function of `opaque_functions`.
        shapes: Gives the shapes of its results, if they are known.
        args: Its arguments, the first of which is a tensor.
        kwargs: The others.
    """
    every = (*args, *kwargs.values())
    if shapes is not None and _is_weightless(every[0]):
        return _empty(every[0], shapes, every)
    return func(*args, **kwargs)


def _empty(like: Tensor, shapes: Shapes, args: tuple[Any, ...]) -> object:
    made = tuple([like.new_empty(shape) for shape in shapes(args)])
    return made[0] if len(made) == 1 else made


def _is_weightless(tensor: Tensor) -> bool:
    return tensor.is_meta or isinstance(tensor, internals.FakeTensor)


def _flex_attention(
    recorder: Recorder, query: Tensor, key: Tensor, value: Tensor, *_: object
) -> tuple[Tensor, Tensor, Tensor]:
    """Record attention whose scores a function of the user changes, without running that function.

    Returns:
        The result, then two statistics of the scores.
    """
    shape = (*query.shape[:-1], value.shape[-1])
    statistics = query.new_empty(query.shape[:-1])

    def run() -> tuple[Tensor, Tensor, Tensor]:
        return query.new_empty(shape), statistics, statistics.clone()

    operator = "aten::scaled_dot_product_attention"
    return recorder.record(operator, (query, key, value), run)


internals.on_flex_attention(Recorder, _flex_attention)
