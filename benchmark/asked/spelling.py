"""A value as the Python that makes it: arguments of constructors and inputs of forward passes.

What a library's example builds and calls is caught as objects. It is kept as text, so that a table
of it can be read by a person, and made again where that example is not.
"""

import enum
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from nar.base.errors import NarError

# Chosen: edges, lengths and masks of an example are shorter; a longer tensor is told by its bounds.
_LITERAL: Final = 64
# Chosen: depth of a configuration of a detector is 7; what is deeper refers to itself.
_DEEPEST: Final = 12
MADE_BY: Final = "_asked_made_by"


class NoTextError(NarError):
    """A value cannot be written as Python."""


@dataclass(frozen=True, slots=True)
class MadeBy:
    """What a module was made by.

    Attributes:
        args: Positional arguments of its constructor.
        kwargs: The others.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class Spelling:
    """Writes values as Python, and gathers the names that have to be imported for it.

    Attributes:
        imports: Name in the text -> (module, name there).
    """

    def __init__(self) -> None:
        self.imports: dict[str, tuple[str, str]] = {}

    def lines(self) -> list[str]:
        """The imports, a line each."""
        return [
            f"from {module} import {name}" + ("" if name == short else f" as {short}")
            for short, (module, name) in sorted(self.imports.items())
        ]

    def value(self, value: object, depth: int = 0) -> str:
        """One value.

        Raises:
            NoTextError: It has no text, or is nested too deeply.
        """
        if depth > _DEEPEST:
            raise NoTextError("it is nested too deeply")
        for kinds, spell in _KINDS:
            if isinstance(value, kinds):
                return spell(self, value, depth + 1)
        if is_dataclass(value):
            given = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
            return self.call(type(value), (), given, depth + 1)
        if callable(getattr(value, "to_diff_dict", None)):
            return f"{self.named(type(value))}.from_dict({self.value(value.to_diff_dict(), depth)})"  # type: ignore[attr-defined]
        return self.by_attributes(value, depth)

    def by_attributes(self, value: object, depth: int) -> str:
        """A plain object that keeps what its constructor is given under the same names.

        Raises:
            NoTextError: It does not.
        """
        kept = getattr(value, "__dict__", {})
        try:
            wanted = list(inspect.signature(type(value)).parameters.values())
        except (TypeError, ValueError):
            wanted = []
        if not wanted or any(each.name not in kept for each in wanted):
            raise NoTextError(f"{type(value).__name__} has no text")
        return self.call(type(value), (), {each.name: kept[each.name] for each in wanted}, depth)

    def call(
        self, function: object, args: tuple[Any, ...], kwargs: Mapping[str, Any], depth: int = 0
    ) -> str:
        """A call: of a class, for one."""
        given = [self.value(each, depth) for each in args]
        given += [f"{name}={self.value(each, depth)}" for name, each in kwargs.items()]
        return f"{self.named(function)}({', '.join(given)})"

    def named(self, function: Any) -> str:  # noqa: ANN401
        """The name that a class or function is imported by.

        Raises:
            NoTextError: It cannot be imported.
        """
        module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
        if module == "builtins":
            return str(name)
        if not module or module == "__main__" or not name.isidentifier():
            raise NoTextError(f"{module}.{name} cannot be imported")
        short, number = name, 1
        while self.imports.get(short, (module, name)) != (module, name):
            number += 1
            short = f"{name}_{number}"
        self.imports[short] = (module, name)
        return str(short)

    def module(self, module: nn.Module, depth: int = 0) -> str:
        """The call that made a module.

        Raises:
            NoTextError: It was made before calls were recorded, or by what has no text.
        """
        made = module.__dict__.get(MADE_BY)
        if made is None:
            raise NoTextError(f"nobody saw how {type(module).__name__} was made")
        return self.call(type(module), made.args, made.kwargs, depth)

    def tensor(self, tensor: Tensor) -> str:
        """A tensor: of zeros where it has real numbers; else by its values, or by their bounds."""
        shape = ", ".join(str(extent) for extent in tensor.shape)
        dtype = "" if tensor.dtype == torch.float32 else f", dtype={tensor.dtype}"
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex or _has_no_values(tensor):
            return f"torch.zeros(({shape}{',' * (tensor.dim() == 1)}){dtype})"
        low, high = int(tensor.min()), int(tensor.max())
        if low == high:
            fill = bool(low) if tensor.dtype == torch.bool else low
            return f"torch.full(({shape}{',' * (tensor.dim() == 1)}), {fill}{dtype})"
        if tensor.numel() <= _LITERAL or tensor.dtype == torch.bool:
            return f"torch.tensor({tensor.tolist()}{dtype})"
        size = f"({shape}{',' * (tensor.dim() == 1)})"
        return f"(torch.arange({tensor.numel()}).mul(7) % {high - low + 1} + {low}).view({size}).to({tensor.dtype})"  # noqa: E501


def _has_no_values(tensor: Tensor) -> bool:
    return tensor.is_meta or type(tensor) is not Tensor or tensor.numel() == 0


def _array(spelling: Spelling, array: np.ndarray[Any, Any], _depth: int) -> str:
    if array.size > _LITERAL:
        raise NoTextError(f"an array of {array.size} numbers has no text")
    spelling.imports["array"] = ("numpy", "array")
    return f"array({array.tolist()!r}, dtype='{array.dtype}')"


def _float(_spelling: Spelling, number: float, _depth: int) -> str:
    return repr(float(number)) if math.isfinite(number) else f"float('{number}')"


def _enum(spelling: Spelling, member: enum.Enum, _depth: int) -> str:
    return f"{spelling.named(type(member))}.{member.name}"


def _items(spelling: Spelling, values: Any, depth: int) -> str:  # noqa: ANN401
    return ", ".join(spelling.value(each, depth) for each in values)


def _list(spelling: Spelling, values: list[Any], depth: int) -> str:
    return f"[{_items(spelling, values, depth)}]"


def _tuple(spelling: Spelling, values: tuple[Any, ...], depth: int) -> str:
    if hasattr(values, "_fields") and type(values) is not tuple:
        return spelling.call(type(values), tuple(values), {}, depth)
    return f"({_items(spelling, values, depth)}{',' * (len(values) == 1)})"


def _set(spelling: Spelling, values: set[Any], depth: int) -> str:
    return f"set([{_items(spelling, sorted(values, key=repr), depth)}])"


def _dict(spelling: Spelling, values: Mapping[Any, Any], depth: int) -> str:
    pairs = (
        f"{spelling.value(key, depth)}: {spelling.value(each, depth)}"
        for key, each in values.items()
    )
    return f"{{{', '.join(pairs)}}}"


def _partial(spelling: Spelling, value: "functools.partial[Any]", depth: int) -> str:
    spelling.imports["partial"] = ("functools", "partial")
    call = spelling.call(value.func, value.args, value.keywords, depth)
    name, given = call.split("(", 1)
    return f"partial({name}{', ' if given != ')' else ''}{given}"


def _range(_spelling: Spelling, value: range, _depth: int) -> str:
    return repr(value)


def _plain(_spelling: Spelling, value: object, _depth: int) -> str:
    return repr(value)


def _number(_spelling: Spelling, value: "np.generic[Any]", _depth: int) -> str:
    return repr(value.item())


def _scripted(_spelling: Spelling, value: object, _depth: int) -> str:
    raise NoTextError(f"{type(value).__name__} is compiled")


def _module(spelling: Spelling, value: nn.Module, depth: int) -> str:
    return spelling.module(value, depth)


def _tensor(spelling: Spelling, value: Tensor, _depth: int) -> str:
    return spelling.tensor(value)


def _function(spelling: Spelling, value: object, _depth: int) -> str:
    return spelling.named(value)


_Spell = Callable[[Spelling, Any, int], str]
# The first row that fits spells a value.
_KINDS: Final[tuple[tuple[type | tuple[type, ...], _Spell], ...]] = (
    (enum.Enum, _enum),
    ((bool, int, str, bytes, type(None)), _plain),
    (float, _float),
    (np.generic, _number),
    (np.ndarray, _array),
    ((torch.dtype, torch.device), _plain),
    (torch.jit.ScriptModule, _scripted),
    (nn.Module, _module),
    (Tensor, _tensor),
    (list, _list),
    (tuple, _tuple),
    ((set, frozenset), _set),
    (range, _range),
    (Mapping, _dict),
    (functools.partial, _partial),
    ((type, type(inspect.isclass), type(len)), _function),
)
