"""Private interfaces of torch: what each has to do for capture. A failure names what changed."""

import logging

import torch
from torch import nn
from torch.nn.attention import flex_attention as flex
from torch.utils._python_dispatch import TorchDispatchMode

from nar.capture import torch_internals as internals


def test_fake_tensors_have_a_device_and_no_values():
    with internals.fake_mode() as mode:
        fake = torch.empty(2, 8, device="cpu")
    assert isinstance(fake, internals.FakeTensor)
    assert fake.fake_mode is mode
    assert fake.device.type == "cpu"


def test_numbers_read_from_fake_tensors_are_symbols():
    with internals.fake_mode():
        number = torch.ones((), dtype=torch.long).item()
    assert isinstance(number, int | torch.SymInt)


def test_recurrent_layers_call_the_functions_that_are_kept_whole():
    called = []

    class Seen(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            called.append(func)
            return func(*args, **(kwargs or {}))

    with Seen(), torch.no_grad():
        for layer in (nn.LSTM(2, 2), nn.GRU(2, 2), nn.RNN(2, 2)):
            layer(torch.zeros(1, 1, 2))
        nn.RNN(2, 2, nonlinearity="relu")(torch.zeros(1, 1, 2))
    functions = internals.VARIABLE_FUNCTIONS
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        assert getattr(functions, name) in called, name
    assert callable(functions.instance_norm)
    assert callable(functions._pad_packed_sequence)


def test_overloads_know_their_schema():
    overload = torch.ops.aten.relu_.default
    assert isinstance(overload, internals.OpOverload)
    assert overload._schema.arguments[0].alias_info.is_write


def test_trees_are_mapped_by_type():
    found = internals.tree_map_only(int, lambda number: number + 1, {"a": [1, "b"], "c": (2,)})
    assert found == {"a": [2, "b"], "c": (3,)}


def test_scripts_are_left_out_and_let_in_again():
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    with internals.unscripted():
        assert torch.jit.script(twice) is twice
    assert torch.jit._state._enabled.enabled


def test_flex_attention_asks_the_mode():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    asked = []

    def record(mode, query, *_):
        asked.append(type(mode))
        return query, query[..., 0], query[..., 0]

    internals.on_flex_attention(Mode, record)
    query = torch.zeros(1, 1, 16, 8, device="meta")
    with internals.flex_attention_in_the_open(), Mode():
        flex.flex_attention(query, query, query)
    assert asked == [Mode]
    assert not flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG


def test_a_failing_fake_tensor_logs_under_that_name():
    assert internals.FAKE_TENSOR_LOGGER in logging.root.manager.loggerDict
