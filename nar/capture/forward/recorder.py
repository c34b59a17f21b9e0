"""Recorder: sees every ATen call of a forward pass and writes it to a trace."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from traceback import walk_tb
from types import FrameType, MappingProxyType
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

import nar.capture.torch_internals as internals
from nar.capture.forward.aten import SPLITS, aten_table
from nar.capture.forward.emitters import AtenCall, Emit, Table, read_through, unknown
from nar.capture.torch_internals import OpOverload, schema_of
from nar.capture.trace import Shape, TraceBuilder
from nar.capture.values import TensorValues, shape_of

T = TypeVar("T")
_NAMESPACES = frozenset(
    {"aten", "nar", "prims", "torchvision"}
)  # in others a name may mean anything
_DEVICE = torch.ops.prim.device.default  # how fake tensors answer for their device
Operands = tuple[tuple[int, ...], tuple[Shape, ...]]


@dataclass(frozen=True, slots=True)
class _Plan:
    """How calls of one overload are recorded.

    Attributes:
        name: ATen name without the underscore of in-place variants.
        emit: Writes the call to the trace.
        writes: Position and name of each argument that is written in place.
    """

    name: str
    emit: Emit
    writes: tuple[tuple[int, str], ...] = ()


@cache
def _table() -> Table:
    return aten_table()


@cache
def _plan(overload: internals.OpOverload) -> _Plan:
    return replace(_whole(str(overload.name())), writes=internals.written_arguments(overload))


@cache
def _whole(operator: str) -> _Plan:
    namespace, _, overload = operator.partition("::")
    name = overload.partition(".")[0]
    name = name if name.startswith("__") else name.rstrip("_")
    known = _table().get(name if namespace in _NAMESPACES else f"{namespace}::{name}")
    return _Plan(name, unknown(f"{namespace}::{name}") if known is None else known)


class Recorder(internals.TorchDispatchMode):
    """Writes every ATen call to a trace while it is active.

    Args:
        builder: Receives the operations.
        values: Knows which value each tensor holds.
        paths: Path of each module that runs, by its identity; none where a graph is interpreted.

    Attributes:
        module: Path of the module that a graph says it runs; None where it does not say.
        last_operator: The last operator called, for error reports.
    """

    def __init__(
        self,
        builder: TraceBuilder,
        values: TensorValues,
        paths: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self.builder = builder
        self.module: str | None = None
        self._paths = paths
        self.values = values
        self.last_operator = "-"
        self._paused = 0

    def __torch_dispatch__(
        self,
        func: internals.OpOverload,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run the call, then record it."""
        kwargs = kwargs or {}
        if self._paused or func is _DEVICE:
            return func(*args, **kwargs)
        self.last_operator = str(func.name())
        with internals.without_torch_functions():
            operands = self._operands((*args, *kwargs.values()))
            # A mode below wants to see every call; without such a mode, forms are computed once.
            is_seen = internals.has_outer_dispatch_mode()
            result = func(*args, **kwargs) if is_seen else run(func, args, kwargs)
            self._record(_plan(func), (args, kwargs), operands, result)
        return result

    def record(
        self,
        operator: str,
        args: tuple[Any, ...],
        run: Callable[[], T],
        named: Mapping[str, Any] | None = None,
    ) -> T:
        """Record one call as a whole, without the operators that it consists of.

        Args:
            operator: The operator that the call stands for, as ``aten::lstm``.
            args: Its arguments, those given by name last.
            run: Computes the result.
            named: The arguments given by name, which are among ``args`` too.
        """
        self.last_operator = operator
        self._paused += 1
        try:
            result = run()
        finally:
            self._paused -= 1
        with internals.without_torch_functions():
            self._record(_whole(operator), (args, named or {}), self._operands(args), result)
        return result

    def leave(self, function: str, tensor: Tensor) -> None:
        """Note a function that takes values out of a tensor."""
        with internals.without_torch_functions():
            self.builder.count_cut(function, self.values.read(tensor))

    def _operands(self, args: tuple[Any, ...]) -> Operands:
        tensors = list(tensors_of(args))
        values = tuple([self.values.read(tensor) for tensor in tensors])
        return values, tuple([shape_of(tensor) for tensor in tensors])

    def _record(
        self,
        plan: _Plan,
        arguments: tuple[tuple[Any, ...], Mapping[str, Any]],
        operands: Operands,
        result: object,
    ) -> None:
        args, kwargs = arguments
        results = tuple(tensors_of((result,)))
        written = [_argument(args, kwargs, *write) for write in plan.writes]
        targets = [tensor for tensor in written if isinstance(tensor, Tensor)]
        if not results and not targets:
            return
        if plan.emit is not read_through:
            self.builder.path = running_module(self._paths) if self._paths else self.module
        shape = shape_of(results[0] if results else targets[0])
        call = AtenCall(plan.name, args, kwargs, *operands, shape)
        if plan.name in SPLITS and not targets:
            for tensor in results:
                part = self._emit(plan, replace(call, shape=shape_of(tensor)))
                self.values.bind(tensor, part)
            return
        value = self._emit(plan, call)
        for tensor in targets:
            self.values.write(tensor, value)
        for tensor in results:
            if not any(tensor is target for target in targets):
                self.values.bind(tensor, value)

    def _emit(self, plan: _Plan, call: AtenCall) -> int:
        if plan.name == "copy" and len(call.values) > 1:
            return call.values[1]
        return plan.emit(self.builder, call) if call.values else self.builder.constant(call.shape)


def _argument(args: tuple[Any, ...], kwargs: Mapping[str, Any], position: int, name: str) -> object:
    return args[position] if position < len(args) else kwargs.get(name)


def tensors_of(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among arguments or results, lists laid flat, in order."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_of(value)


def running_module(paths: Mapping[int, str]) -> str | None:
    """The path of the module whose method runs: the innermost of a model on the stack of calls.

    The stack is read, and nothing is put around modules: what a module finds about itself, such as
    its hooks, stays as it is.

    Args:
        paths: Path of each module of the model by its identity.
    """
    above: FrameType | None = sys._getframe(1)
    while above is not None:
        path = _path_of(above, paths)
        if path is not None:
            return path
        above = above.f_back
    return None


def failing_module(error: BaseException, paths: Mapping[int, str]) -> str:
    """The path of the innermost module of a model that an error left; empty where there is none."""
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    passed = [path for path in (_path_of(frame, paths) for frame in frames) if path]
    return passed[-1] if passed else ""


def _path_of(frame: FrameType, paths: Mapping[int, str]) -> str | None:
    """The path of the module whose method a frame runs."""
    code = frame.f_code
    if not code.co_argcount or code.co_varnames[0] != "self":
        return None
    return paths.get(id(frame.f_locals.get("self")))


# Calls on meta tensors, computed once: the same call again gives results of the same form.
#
# Torch computes most forms through many layers of Python: 0.1 to 15 ms a call, where an empty
# tensor takes 4 microseconds. Networks repeat their layers, and a zoo repeats its networks. The
# form of a tensor is its shape, its strides and its element type.

CALLS = 1 << 16  # chosen: a call with its forms takes about 1 KB, so 64 MB when full
_META = torch.device("meta")
_PLAIN = (Tensor, nn.Parameter)
_OPTIONS = frozenset({
    int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format,
})  # fmt: skip
Form = tuple[torch.Size, tuple[int, ...], torch.dtype]
Forms = Form | tuple[Form, ...] | Literal["written"]
_forms: dict[object, Forms] = {}


def run(func: OpOverload, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    """The result of a call: computed, or empty tensors of the form that an equal call gave."""
    gives = _gives(func)
    if gives == "views":
        return func(*args, **kwargs)
    try:
        call = (func, _key(args), *((name, _key(value)) for name, value in kwargs.items()))
    except _NoFormError:
        return func(*args, **kwargs)
    forms = _forms.get(call)
    if forms is not None:
        return args[0] if forms == "written" else _empty(forms)
    result = func(*args, **kwargs)
    new_forms = _written(args, call, result) if gives == "written" else _forms_of(result)
    if new_forms is not None:
        if len(_forms) >= CALLS:
            _forms.clear()
        _forms[call] = new_forms
    return result


class _NoFormError(Exception):
    """An argument is a tensor with values, or an object that cannot be compared."""


@cache
def _gives(func: OpOverload) -> Literal["new", "written", "views"]:
    """Whether a call makes new tensors, writes its first argument, or does something else."""
    schema = schema_of(func)
    aliases = [each.alias_info for each in schema.arguments if each.alias_info is not None]
    returned = [each.alias_info for each in schema.returns if each.alias_info is not None]
    if not aliases and not returned:
        return "new"
    is_in_place = len(aliases) == len(returned) == 1 and aliases[0].is_write
    return "written" if is_in_place and schema.arguments[0].alias_info else "views"


def _key(value: object) -> object:
    """A key that is equal for arguments that lead to the same form."""
    if isinstance(value, Tensor):
        return _form(value)
    if isinstance(value, list | tuple):
        return tuple([_key(part) for part in value])
    if type(value) not in _OPTIONS:
        raise _NoFormError
    return type(value), value


def _form(tensor: Tensor) -> Form:
    is_plain = type(tensor) in _PLAIN and tensor.is_meta and tensor.layout is torch.strided
    if not is_plain or tensor.dtype.is_complex:
        raise _NoFormError
    return tensor.shape, tensor.stride(), tensor.dtype


def _forms_of(result: object) -> Forms | None:
    try:
        if isinstance(result, tuple):
            return tuple([_form(part) for part in result])
        return _form(result) if isinstance(result, Tensor) else None
    except (_NoFormError, AttributeError):
        return None


def _written(args: tuple[Any, ...], call: tuple[Any, ...], result: object) -> Forms | None:
    """``written`` if the first argument kept its form: some calls give it another shape."""
    return "written" if result is args[0] and _key(args) == call[1] else None


def _empty(forms: Any) -> object:  # noqa: ANN401
    if forms and isinstance(forms[0], torch.Size):
        shape, stride, dtype = forms
        return torch.empty_strided(shape, stride, dtype=dtype, device=_META)
    return tuple([_empty(form) for form in forms])
