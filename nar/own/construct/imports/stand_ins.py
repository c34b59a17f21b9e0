"""Stand-ins for what is not there: they let code be defined, and stop where a result is wanted.

A stand-in may be a decorator, a base class, an annotation, an attribute. It is false and iterates
as nothing, so that ``if apex:`` takes the other branch. Where a number, a tensor or a layer is
wanted of it, it raises `StandInUsedError`: a network with a part that nobody has is another one.
"""

import dis
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import nn

from nar.own.construct.findings import Findings

# Whether a file's statements are run, which may call stand-ins, or a module is built or called.
_is_defining: ContextVar[bool] = ContextVar("is_defining", default=False)

# Calls whose result is dropped and that only report or register something.
_REPORTS = re.compile(r"init|info|log|print|warn|debug|register|seed|set_|add_", re.IGNORECASE)
# What constructors make beside the layers of a model; a forward that uses it stops there.
_BESIDE_THE_MODEL = re.compile(
    r"Loss|LPIPS|Criterion|Metric|Accuracy|Logger|Tokenizer|Writer|Profiler", re.IGNORECASE
)
_MODULE_NAME = re.compile(r"Module|Layer|Net|Model|Block|Backbone|Head|Encoder|Decoder")
_NUMBER_METHODS = (
    "int", "float", "index", "complex", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv",
    "rtruediv", "floordiv", "rfloordiv", "mod", "rmod", "pow", "rpow", "lt", "le", "gt", "ge",
    "neg", "abs", "len", "contains", "matmul", "rmatmul", "setitem",
)  # fmt: skip


class StandInUsedError(RuntimeError):
    """A stand-in was used for a number, a tensor or a layer."""


@contextmanager
def defining() -> Iterator[None]:
    """Inside, calls of stand-ins give stand-ins: a file's statements define and compute nothing."""
    token = _is_defining.set(True)
    try:
        yield
    finally:
        _is_defining.reset(token)


class StandIn:
    """Stands for an object of a package that is not installed, or for a file that is not there.

    Args:
        name: Dotted name, as the user's code writes it.
        findings: Where it reports that it was touched.
        reason: Why it is not there, and the way out.
    """

    def __init__(self, name: str, findings: Findings, reason: str) -> None:
        self.__dict__.update(
            _name=name,
            _findings=findings,
            _reason=reason,
            __name__=name.rpartition(".")[2],
            __qualname__=name.rpartition(".")[2],
            __module__=name.rpartition(".")[0],
            __doc__=None,
        )

    def __getattr__(self, attribute: str) -> "StandIn":
        if attribute.startswith("__") and attribute.endswith("__"):
            raise AttributeError(attribute)
        return self._part(f".{attribute}")

    def __setattr__(self, attribute: str, value: object) -> None:
        """Nothing is kept: what a stand-in has is a stand-in."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Decorate what is defined; stop where a result is wanted."""
        is_decorator = len(args) == 1 and not kwargs and _is_definition(args[0])
        if is_decorator:
            return args[0]
        is_beside = bool(_BESIDE_THE_MODEL.search(str(self.__dict__["__name__"])))
        if is_beside:
            self._touched()
        if _is_defining.get() or (is_beside and not _has_tensors(args, kwargs)):
            return self._part("()")
        caller = inspect.currentframe()
        assert caller is not None, "a call has a frame"
        if _is_report(str(self.__dict__["_name"]), args, kwargs, caller.f_back):
            self._touched()
            return None
        raise StandInUsedError(
            f"{_call_text(self.__dict__['_name'], args, kwargs)} is needed: "
            f"{self.__dict__['_reason']}"
        )

    def __getitem__(self, key: object) -> "StandIn":
        if _is_defining.get():
            return self._part("[]")
        raise self._used("it is indexed")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        self._touched()
        return (_base_class(str(self.__dict__["__name__"])),)

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<stand-in for {self.__dict__['_name']}>"

    def __or__(self, other: object) -> object:
        return Any

    __ror__ = __or__

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        """Stop where a function of torch is given a stand-in."""
        given = next(_stand_ins_in((args, *(kwargs or {}).values())))
        raise given._used(f"it is given to torch's {getattr(func, '__name__', func)}")

    def _part(self, suffix: str) -> "StandIn":
        own = self.__dict__
        return StandIn(f"{own['_name']}{suffix}", own["_findings"], own["_reason"])

    def _touched(self) -> None:
        own = self.__dict__
        own["_findings"].stand_in(f"{own['_name']} ({own['_reason']})")

    def _used(self, how: str) -> StandInUsedError:
        own = self.__dict__
        return StandInUsedError(f"{own['_name']} is needed, for {how}: {own['_reason']}")


def _refusing(method: str) -> Callable[..., Any]:
    def refused(self: StandIn, *_: object) -> Any:  # noqa: ANN401
        raise self._used(f"it is used as a number or a collection ({method})")

    return refused


for _method in _NUMBER_METHODS:
    setattr(StandIn, f"__{_method}__", _refusing(_method))


class _AnyModule(nn.Module):
    """A base class that is a module and takes any arguments."""

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()


class _AnyObject:
    """A base class that takes any arguments."""

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()


def _base_class(name: str) -> type:
    """A base class of that name, a module where its name says so."""
    return type(name, (_AnyModule if _MODULE_NAME.search(name) else _AnyObject,), {})


def _stand_ins_in(given: object) -> Iterator[StandIn]:
    if isinstance(given, StandIn):
        yield given
    elif isinstance(given, tuple | list):
        for each in given:
            yield from _stand_ins_in(each)


def _is_definition(candidate: object) -> bool:
    return inspect.isfunction(candidate) or inspect.isclass(candidate)


def _is_report(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], caller: FrameType | None
) -> bool:
    """Whether a call is a statement by itself: it reports, as to a logger, or fills arrays."""
    if caller is None or _has_tensors(args, kwargs):
        return False
    # A compiled function that is given arrays fills them: their values differ, no operator does.
    fills = any(isinstance(each, np.ndarray) for each in (*args, *kwargs.values()))
    if not fills and not _REPORTS.search(name):
        return False
    after = (
        each
        for each in dis.get_instructions(caller.f_code)
        if each.offset > caller.f_lasti and each.opname != "CACHE"
    )
    return getattr(next(after, None), "opname", "") == "POP_TOP"


def _has_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(isinstance(each, torch.Tensor | nn.Module) for each in (*args, *kwargs.values()))


def _call_text(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A call as it could be written, with short arguments only.

    Example:
        >>> _call_text("parallel.Linear", (64, 128), {"bias": False})
        'parallel.Linear(64, 128, bias=False)'
    """
    parts = [_short(each) for each in args]
    parts += [f"{key}={_short(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def _short(value: object) -> str:
    is_plain = isinstance(value, str | int | float | bool | type(None))
    return repr(value)[:40] if is_plain else type(value).__name__
