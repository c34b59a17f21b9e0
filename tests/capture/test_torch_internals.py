"""Private interfaces of torch: what each has to do for capture. A failure names what changed."""

import ast
import logging
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.distributions import Distribution
from torch.nn.attention import flex_attention as flex

from nar.capture import torch_internals as internals

ROOT = Path(__file__).parents[2]
HOME = "nar/capture/torch_internals.py"
# Whatever is private to these is private to torch, under whichever name an object goes.
OWNERS = (
    torch.empty(0), torch.UntypedStorage(), nn.Module(), Distribution, torch.ops.aten.relu.default,
    internals.VARIABLE_FUNCTIONS, internals.fake_mode(),
)  # fmt: skip


def test_fake_tensors_have_a_device_and_no_values():
    with internals.fake_mode() as mode:
        fake = torch.empty(2, 8, device="cpu")
    assert isinstance(fake, internals.FakeTensor)
    assert fake.fake_mode is mode
    assert fake.device.type == "cpu"


@pytest.mark.slow
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
    assert callable(internals.PAD_PACKED_SEQUENCE)


def test_overloads_know_their_schema():
    overload = torch.ops.aten.relu_.default
    assert isinstance(overload, internals.OpOverload)
    schema = internals.schema_of(overload)
    assert schema.name == "aten::relu_"
    assert schema.arguments[0].alias_info.is_write
    assert schema.is_mutable


def test_written_arguments_are_those_of_in_place_and_out_variants():
    assert internals.written_arguments(torch.ops.aten.relu.default) == ()
    assert internals.written_arguments(torch.ops.aten.add_.Tensor) == ((0, "self"),)
    assert internals.written_arguments(torch.ops.aten.add.out) == ((3, "out"),)


def test_trees_are_mapped_by_type():
    mapped = internals.tree_map_only(int, lambda number: number + 1, {"a": [1, "b"], "c": (2,)})
    assert mapped == {"a": [2, "b"], "c": (3,)}
    assert internals.tree_leaves(mapped) == [2, "b", 3]


def test_scripts_are_left_out_and_let_in_again():
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    with internals.unscripted():
        assert torch.jit.script(twice) is twice
    assert torch.jit._state._enabled.enabled


def test_flex_attention_asks_the_mode():
    class Mode(internals.TorchDispatchMode):
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


class Outermost(internals.TorchDispatchMode):
    """Notes for each operator whether another mode is to see it."""

    def __init__(self):
        super().__init__()
        self.outer = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.outer.append(internals.has_outer_dispatch_mode())
        return func(*args, **(kwargs or {}))


def test_a_mode_knows_whether_another_waits():
    alone, inner = Outermost(), Outermost()
    with alone:
        torch.zeros(1)
        with inner:
            torch.zeros(1)
    assert inner.outer == [True]
    assert alone.outer == [False, False]


def test_functions_that_are_switched_off_are_not_seen():
    called = []

    class Seen(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            called.append(func)
            return func(*args, **(kwargs or {}))

    with Seen(), internals.without_torch_functions():
        torch.zeros(1)
    assert called == []


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_views_share_the_address_of_their_storage(device):
    whole, other = torch.empty(4, device=device), torch.empty(4, device=device)
    address = internals.storage_address(whole.untyped_storage())
    assert internals.storage_address(whole[1:].untyped_storage()) == address
    assert internals.storage_address(other.untyped_storage()) != address


def test_writes_are_counted():
    tensor = torch.zeros(2)
    before = internals.writes_so_far(tensor)
    tensor.sum()
    assert internals.writes_so_far(tensor) == before
    tensor[0] = 1
    assert internals.writes_so_far(tensor) > before


def test_distributions_say_whether_they_are_checked():
    before = internals.are_distributions_checked()
    Distribution.set_default_validate_args(not before)
    try:
        assert internals.are_distributions_checked() is not before
    finally:
        Distribution.set_default_validate_args(before)


def test_hooks_parameters_and_buffers_are_where_a_module_keeps_them():
    layer = nn.BatchNorm1d(2)
    assert set(internals.registered_parameters(layer)) == {"weight", "bias"}
    assert internals.registered_buffers(layer)["running_mean"] is layer.running_mean
    internals.registered_buffers(layer)["running_mean"] = None
    assert layer.running_mean is None
    layer.register_forward_hook(lambda *_: None)
    layer.register_forward_pre_hook(lambda *_: None)
    layer.register_full_backward_hook(lambda *_: None)
    layer.register_full_backward_pre_hook(lambda *_: None)
    assert [len(vars(layer)[name]) for name in internals.HOOKS] == [1, 1, 1, 1]


def test_children_stand_under_all_their_names():
    layer = nn.Linear(1, 1)
    both = nn.Sequential(layer, layer)
    assert internals.registered_modules(both) == {"0": layer, "1": layer}
    del internals.registered_modules(both)["1"]
    assert len(both) == 1


def test_convolutions_have_one_base():
    for kind in (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d):
        assert issubclass(kind, internals.AnyConvolution)


def test_batch_norms_have_one_base():
    for kind in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm):
        assert issubclass(kind, internals.AnyBatchNorm)


def test_a_pair_is_one_number_twice_or_two():
    assert tuple(internals.pair(3)) == (3, 3)
    assert tuple(internals.pair((3, 4))) == (3, 4)


def test_a_shape_as_a_tensor():
    assert internals.SHAPE_AS_TENSOR(torch.empty(2, 3)).tolist() == [2, 3]


def test_the_log_of_the_onnx_exporter_can_be_switched_off():
    internals.disable_onnx_log()
    assert not torch._C._jit_is_onnx_log_enabled()


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def dotted_imports(tree):
    """Each name that a file imports, and the dotted path that it stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.asname or each.name, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for each in node.names:
                yield each.asname or each.name, f"{node.module}.{each.name}"


def private_names(path):
    """Private names of torch that a file imports or reads."""
    tree = ast.parse(path.read_text())
    imported = dict(dotted_imports(tree))
    owned = {name for owner in OWNERS for name in dir(owner) if is_private(name)}
    read = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    chains = {(ast.unparse(node), node.attr) for node in read}
    whole = {chain: chain.partition(".") for chain, _ in chains}
    paths = {imported.get(first, first) + dot + rest for first, dot, rest in whole.values()}
    for dotted in sorted({*imported.values(), *paths}):
        first, *rest = dotted.split(".")
        if first == "torch" and any(map(is_private, rest)):
            yield dotted
    for chain, attr in sorted(chains):
        if attr in owned and chain != f"self.{attr}":
            yield chain


@pytest.mark.slow
def test_no_other_module_reads_what_is_private_to_torch():
    read = {
        path.relative_to(ROOT).as_posix(): names
        for package in ("nar", "cluster")
        for path in (ROOT / package).rglob("*.py")
        if (names := list(private_names(path)))
    }
    assert "torch._C._len_torch_dispatch_stack" in read.pop(HOME)
    assert read == {}


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("import torch._ops", "torch._ops"),
        ("from torch._ops import OpOverload", "torch._ops.OpOverload"),
        ("from torch.utils import _pytree", "torch.utils._pytree"),
        ("def f():\n torch._C.x()", "torch._C.x"),
        ("def f(x):\n return x.untyped_storage()._cdata", "x.untyped_storage()._cdata"),
        ("child._parameters", "child._parameters"),
        (
            "from torch.nn.attention import flex_attention as flex\nflex._validate_device",
            "torch.nn.attention.flex_attention._validate_device",
        ),
        ("self._buffers = 1", None),
        ("from torch import nn\nconfig._attn_implementation", None),
    ],
)
def test_a_private_name_is_seen(tmp_path, text, target):
    path = tmp_path / "module.py"
    path.write_text(text)
    assert list(private_names(path))[-1:] == ([target] if target else [])
