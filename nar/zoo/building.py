"""From a plan to a capture: build the model, make its inputs, and report what went wrong."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import init
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from nar.base.errors import CaptureError, one_line
from nar.capture import Capture, CaptureInputs
from nar.capture.forward.dispatch import saved_shapes, trace_module, weights_in
from nar.capture.graphs import to_capture
from nar.capture.torch_internals import DeviceContext, fake_mode
from nar.graphs.weights import Shape
from nar.zoo.spec import lap


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model and its inputs are made.

    Attributes:
        build: Makes the module on the default device.
        inputs: Makes one call of that module, on the default device too.
    """

    build: Callable[[], nn.Module]
    inputs: Callable[[nn.Module], CaptureInputs]


Built = tuple[nn.Module, CaptureInputs]
# From a model and its call to another model and its call, on the same device.
Surgery = Callable[[nn.Module, CaptureInputs], Built]

_surgery: ContextVar[Surgery | None] = ContextVar("surgery", default=None)

# The functions that initialisers of weights call, and the whole initialisers that torch passes to a
# mode as one call. Each returns the tensor that it was called on.
FILLS = frozenset({
    init.constant_, init.kaiming_uniform_, init.normal_, init.uniform_,
    Tensor.add_, Tensor.bernoulli_, Tensor.clamp_, Tensor.div_, Tensor.erfinv_,
    Tensor.exponential_, Tensor.fill_, Tensor.mul_, Tensor.normal_, Tensor.sub_, Tensor.uniform_,
    Tensor.zero_,
})  # fmt: skip


class Uninitialised(TorchFunctionMode):
    """Leaves meta tensors as they are when something would fill them in place.

    On the meta device torch still works out every step of a truncated normal: most of the time
    that a vision transformer takes to build.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function unless it fills a tensor that has no values."""
        filled = _filled(func, args, kwargs or {})
        return func(*args, **(kwargs or {})) if filled is None else filled


class UninitialisedOnMeta(DeviceContext):
    """As `Uninitialised`, and tensors are made on the meta device.

    One mode for both: torch asks each mode about every call, and a model is built of thousands.
    """

    def __init__(self) -> None:
        super().__init__(torch.device("meta"))

    def __enter__(self) -> None:
        """Come before the modes around it, as ``with torch.device("meta")`` does.

        A `DeviceContext` would go behind them all: a mode that keeps the value of a constant on the
        meta device would not see that it is made there.
        """
        TorchFunctionMode.__enter__(self)  # type: ignore[no-untyped-call]

    def __exit__(self, *raised: object) -> None:
        """Leave as it was entered."""
        TorchFunctionMode.__exit__(self, *raised)  # type: ignore[no-untyped-call]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function unless it fills a tensor that has no values."""
        filled = _filled(func, args, kwargs or {})
        if filled is not None:
            return filled
        return super().__torch_function__(func, types, args, kwargs)  # type: ignore[no-untyped-call]


def _filled(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Tensor | None:
    """The tensor without values that a call would fill, if it would."""
    if func not in FILLS:
        return None
    tensor: Tensor = args[0] if args else kwargs["tensor"]
    return tensor if tensor.is_meta else None


def on_meta(plan: Plan) -> Built:
    """Follow a plan on the meta device: nothing takes memory, no weight is initialised.

    A constructor that reads values of its constants fails at first; a second try keeps only
    parameters and buffers on the meta device.
    """
    try:
        with UninitialisedOnMeta():
            module = plan.build()
    except (NotImplementedError, RuntimeError):
        with weightless(), Uninitialised():
            module = plan.build()
    return module, plan.inputs(module)


def for_real(plan: Plan) -> Built:
    """Follow a plan on the CPU, with the same weights each time.

    For small models whose control flow or shapes depend on the values that they read, or that
    move themselves to a device.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = plan.build()
    return module, plan.inputs(module)


@contextmanager
def weightless() -> Iterator[None]:
    """Modules made inside keep their state, and nothing else, on the meta device."""
    hooks = [
        register_module_parameter_registration_hook(_parameter_on_meta),  # type: ignore[arg-type]
        register_module_buffer_registration_hook(_buffer_on_meta),  # type: ignore[arg-type]
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _parameter_on_meta(_module: nn.Module, _name: str, weight: nn.Parameter) -> nn.Parameter:
    """The parameter itself if it is on the meta device already, so that tied ones stay tied.

    A lazy one stays too: it has no memory yet, and its first input says its shape.
    """
    if is_lazy(weight) or weight.is_meta:
        return weight
    return nn.Parameter(weight.to("meta"), requires_grad=weight.requires_grad)


def _buffer_on_meta(_module: nn.Module, _name: str, buffer: Tensor | None) -> Tensor | None:
    return buffer if buffer is None or is_lazy(buffer) else buffer.to("meta")


def on_fake_cpu(plan: Plan) -> Built:
    """Follow a plan with tensors that say they are on the CPU and take no memory.

    For models that ask about autocast on their device, which the meta device does not support.
    """
    with fake_mode():
        module = plan.build()
        return module, plan.inputs(module)


@contextmanager
def operating(surgery: Surgery) -> Iterator[None]:
    """Inside, every model of every source is changed after it is built and before it is captured.

    Each source builds and captures in contexts of its own; a changed model is captured in the same.
    """
    token = _surgery.set(surgery)
    try:
        yield
    finally:
        _surgery.reset(token)


def capture_plan(name: str, plan: Plan, *, follow: Callable[[Plan], Built] = on_meta) -> Capture:
    """Build a model of a library and capture it, without the warnings it makes on the way.

    Args:
        name: Name of the model, for errors.
        plan: How it and its inputs are made.
        follow: Follows the plan on some device.

    Raises:
        CaptureError: The model could not be built, or not be captured.
        Exception: Whatever a surgery raises: see `operating`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Model libraries raise anything while they build, and one model must not stop a job.
        try:
            with lap("build"):
                module, inputs = follow(plan)
        except Exception as error:
            raise CaptureError(name, "-", one_line(error)) from error
        surgery = _surgery.get()
        if surgery is not None:
            module, inputs = surgery(module, inputs)
        with lap("forward"):
            trace = trace_module(module, inputs, name=name)
        with lap("graph"):
            return replace(to_capture(trace, name=name), weights=weights_in(module))


class _BuiltError(Exception):
    """A module is built, and no more is wanted: it brings the shapes of its weights."""

    def __init__(self, shapes: dict[str, Shape]) -> None:
        super().__init__("built")
        self.shapes = shapes


def shapes_built(capture: Callable[[], Capture]) -> dict[str, Shape]:
    """The shape of each weight of a model, by name, without a forward pass; tied weights once.

    Args:
        capture: Captures a model of a source, as `nar.zoo.spec.ArchitectureSpec` does.

    Raises:
        CaptureError: The model could not be built, or is captured without being built.
    """

    def stop(module: nn.Module, _inputs: CaptureInputs) -> Built:
        raise _BuiltError(saved_shapes(module))

    try:
        with operating(stop):
            capture()
    except _BuiltError as built:
        return built.shapes
    raise CaptureError("-", "-", "wanted a built model, came a model that is traced as a graph")


# Elements from which on a tensor is left as it was allocated: memory that nobody writes is not
# taken. Chosen: the tables that constructors read, of positions and windows, are smaller.
_LARGE: Final = 1_000_000
# Elements from which on what is made lies on the meta device, as caches of keys and values do.
_HUGE: Final = 30_000_000
_FACTORIES: Final = frozenset({
    torch.empty, torch.full, torch.ones, torch.rand, torch.randn, torch.zeros,
})  # fmt: skip


@contextmanager
def lightly() -> Iterator[None]:
    """Inside, modules are made without weights; of large tensors no values are written."""
    with weightless(), _LightFills():
        yield


class _LightFills(TorchFunctionMode):
    """Leaves out fills of large tensors, and makes huge ones without memory."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function unless it only fills a large tensor."""
        named = dict(kwargs or {})
        if func in FILLS:
            filled = args[0] if args else named["tensor"]
            if isinstance(filled, Tensor) and filled.numel() > _LARGE:
                return filled
        elif func in _FACTORIES and _elements(args, named) > _HUGE:
            named["device"] = "meta"
        return func(*args, **named)


def _elements(args: tuple[Any, ...], named: Mapping[str, Any]) -> int:
    """How many elements a factory of tensors is asked for; 0 where its arguments do not tell."""
    sizes = args[0] if args and isinstance(args[0], tuple | list) else args
    sizes = named.get("size", sizes)
    is_whole = all(isinstance(size, int) for size in sizes)
    return math.prod(sizes) if is_whole and sizes else 0
