"""What a user states of the inputs of a module: as texts of ``--input``, or as a tree in Python.

A text is ``NAME=SIZES``, ``NAME=SIZES:TYPE``, ``NAME=none`` or ``NAME:=VALUE``; sizes are
``1x3x224x224``, or ``scalar`` for a tensor without axes. A text without a name is the next argument
by position. ``batch.image=...`` is a key of a mapping, ``images.0=...`` an entry of a list,
``0.image=...`` a key of the first argument by position. Sizes alone leave the type open. What is
true or false is true, as a mask that hides nothing, and false with ``:zeros`` behind its type.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor

from nar.base.asking import Asking
from nar.base.errors import InvalidInputError
from nar.capture import CaptureInputs

WANTED = (
    "wanted NAME=SIZES[:TYPE], such as x=1x3x224x224, ids=1x32:int64, mask=none or batch.image="
    "1x3x32x32; a value of Python is NAME:=VALUE"
)
_KEY: Final = r'(?:\w+|"(?:[^"\\]|\\.)*")'
_TEXT: Final = re.compile(
    rf"(?:(?P<path>{_KEY}(?:\.{_KEY})*)(?P<equals>:?=)|(?P<value>:=))?(?P<rest>.*)", re.DOTALL
)
_TENSOR: Final = re.compile(r"(?P<sizes>scalar|\d+(?:x\d+)*)(?::(?P<dtype>\w+))?(?P<zeros>:zeros)?")
_NONE, _SCALAR = "none", "scalar"

# A name of a parameter or a key; a number is a position.
_Path: TypeAlias = "tuple[str | int, ...]"


@dataclass(frozen=True, slots=True)
class Sizes:
    """A tensor of which only the sizes are stated, with its type or without.

    Attributes:
        extents: Its shape.
        dtype: Its type; None leaves it to inference.
        is_zero: It holds zeros where ones are usual, as a mask whose ones hide.
    """

    extents: tuple[int, ...]
    dtype: torch.dtype | None = None
    is_zero: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """What a user states of one call of a module.

    The leaves are tensors, `Sizes`, None and other values; nests are lists and dictionaries.

    Attributes:
        args: Arguments by position.
        kwargs: Arguments by name.
    """

    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything is stated."""
        return bool(self.args or self.kwargs)


def read_inputs(texts: Sequence[str]) -> Given:
    """The inputs that texts state, one text a tensor.

    Raises:
        InvalidInputError: A text has another form, or two texts contradict each other.

    Example:
        >>> read_inputs(["1x3x8x8", "mask=none"]).kwargs
        {'mask': None}
    """
    root: dict[str | int, Any] = {}
    for text in texts:
        path, value = _read(text)
        next_place = 1 + max((key for key in root if isinstance(key, int)), default=-1)
        _put(root, path or (next_place,), value, text)
    by_position = {key: value for key, value in root.items() if isinstance(key, int)}
    by_name = {key: _nest(value) for key, value in root.items() if isinstance(key, str)}
    return Given(tuple(_entries(by_position)), by_name)


def stated_of(asking: Asking) -> Given:
    """The inputs that a user states, in either form.

    Raises:
        InvalidInputError: A text or a tree has another form.
    """
    return read_inputs(asking.inputs) if asking.example is None else read_tree(asking.example)


def read_tree(tree: object) -> Given:
    """The inputs that a value of Python states.

    Args:
        tree: The only argument, a tuple or list of arguments by position, or a mapping of arguments
            by name. An argument is a tensor on any device, a shape (a tuple of integers), a text
            of `read_inputs`, any other value, or a nest of these.

    Example:
        >>> read_tree((1, 3, 8, 8)).args
        (Sizes(extents=(1, 3, 8, 8), dtype=None, is_zero=False),)
    """
    if isinstance(tree, Given):
        return tree
    if isinstance(tree, CaptureInputs):
        return Given(tuple(map(_stated, tree.args)), _stated_keys(tree.kwargs))
    if isinstance(tree, str):
        return read_inputs([tree])
    if isinstance(tree, Mapping):
        return Given((), _stated_keys(tree))
    if _is_shape(tree) or not isinstance(tree, list | tuple):
        return Given((_stated(tree),))
    if tree and all(isinstance(part, str) for part in tree):
        return read_inputs(tree)
    return Given(tuple(map(_stated, tree)))


def zeros_of(given: Given) -> CaptureInputs:
    """The call that is stated, of zeros; a type that is left open is float32.

    Example:
        >>> zeros_of(read_inputs(["1x3"])).args
        (tensor([[0., 0., 0.]]),)
    """

    def filled(value: object) -> object:
        if isinstance(value, Sizes):
            return torch.zeros(value.extents, dtype=value.dtype or torch.float32)
        if isinstance(value, Mapping):
            return {name: filled(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(filled, value))
        return value

    named = {name: filled(each) for name, each in given.kwargs.items()}
    return CaptureInputs(tuple(map(filled, given.args)), named)


def written(inputs: CaptureInputs, names: Sequence[str] = ()) -> tuple[str, ...]:
    """The inputs of a call as `read_inputs` reads them.

    Args:
        inputs: The call.
        names: Names of the parameters by position; where one has none, none is written.

    Raises:
        InvalidInputError: A value can be written in no text, or a mapping has keys that are no
            text.

    Example:
        >>> written(CaptureInputs((torch.zeros(1, 8),), {"mask": None}), ["x"])
        ('x=1x8:float32', 'mask=none')
    """
    keys: Sequence[str | int] = names if len(names) >= len(inputs.args) else range(len(inputs.args))
    named: list[tuple[_Path, object]] = [
        ((key,), value) for key, value in zip(keys, inputs.args, strict=False)
    ]
    named += [((name,), value) for name, value in inputs.kwargs.items()]
    return tuple(text for path, value in named for text in _texts(path, value))


def _read(text: str) -> tuple[_Path, object]:
    found = _TEXT.fullmatch(text.strip())
    assert found is not None, "every text fits: its last part may be anything"
    path = tuple(map(_key, re.findall(_KEY, found["path"]))) if found["path"] else ()
    if ":=" in (found["equals"], found["value"]):
        try:
            return path, ast.literal_eval(found["rest"])
        except (SyntaxError, ValueError) as error:
            raise InvalidInputError(text, WANTED) from error
    if found["rest"] == _NONE:
        return path, None
    tensor = _TENSOR.fullmatch(found["rest"])
    if tensor is None:
        raise InvalidInputError(text, WANTED)
    sizes = tensor["sizes"]
    extents = () if sizes == _SCALAR else tuple(map(int, sizes.split("x")))
    dtype = _dtype(text, tensor["dtype"]) if tensor["dtype"] else None
    return path, Sizes(extents, dtype, is_zero=tensor["zeros"] is not None)


def _key(text: str) -> str | int:
    if text.startswith('"'):
        return str(json.loads(text))
    return int(text) if text.isdecimal() else text


def _dtype(text: str, name: str) -> torch.dtype:
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise InvalidInputError(text, f"wanted a type of torch, such as int64, came {name}")
    return dtype


def _put(root: dict[str | int, Any], path: _Path, value: object, text: str) -> None:
    """Put a leaf into a nest of dictionaries, whose keys are as in a path."""
    *above, last = path
    nest = root
    for key in above:
        nest = nest.setdefault(key, {})
        if not isinstance(nest, dict):
            raise InvalidInputError(text, "wanted a tensor or its parts, came both")
    if last in nest:
        raise InvalidInputError(text, "wanted each input once")
    # A dictionary of the user's own is a leaf here: no path leads into it.
    nest[last] = _Leaf(value)


@dataclass(frozen=True, slots=True)
class _Leaf:
    value: object


def _nest(value: object) -> object:
    if isinstance(value, _Leaf):
        return value.value
    assert isinstance(value, dict)
    if all(isinstance(key, int) for key in value):
        return _entries(value)
    return {str(key): _nest(part) for key, part in value.items()}


def _entries(parts: Mapping[int, object]) -> list[object]:
    if sorted(parts) != list(range(len(parts))):
        places = ", ".join(map(str, sorted(parts)))
        raise InvalidInputError("input", f"wanted the entries 0, 1, 2 and so on, came {places}")
    return [_nest(parts[place]) for place in range(len(parts))]


def _stated_keys(tree: Mapping[Any, object]) -> dict[str, object]:
    for key in tree:
        if not isinstance(key, str):
            raise InvalidInputError("inputs", f"wanted names of parameters as keys, came {key!r}")
    return {key: _stated(value) for key, value in tree.items()}


def _stated(value: object) -> object:
    if _is_shape(value):
        return Sizes(tuple(value))  # type: ignore[arg-type]
    if type(value) is dict:
        return {key: _stated(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_stated, value))  # type: ignore[call-arg, call-overload]
    return value


def _is_shape(value: object) -> bool:
    if isinstance(value, torch.Size):
        return True
    return type(value) is tuple and len(value) > 0 and all(type(part) is int for part in value)


def _texts(path: _Path, value: object) -> Iterator[str]:
    is_nest = isinstance(value, Mapping | list | tuple) and any(True for _ in _tensors(value))
    if isinstance(value, Mapping) and is_nest:
        for key, part in value.items():
            if not isinstance(key, str):
                raise InvalidInputError(_head(path), f"wanted texts as keys, came {key!r}")
            yield from _texts((*path, key), part)
    elif isinstance(value, list | tuple) and is_nest:
        for place, part in enumerate(value):
            yield from _texts((*path, place), part)
    elif isinstance(value, Tensor | Sizes):
        yield f"{_head(path)}{'' if _is_position(path) else '='}{_tensor_text(value)}"
    elif value is None:
        yield f"{_head(path)}{'' if _is_position(path) else '='}{_NONE}"
    else:
        yield f"{_head(path)}:={_literal(path, value)}"


def _tensors(value: object) -> Iterator[object]:
    """Every tensor in a nest."""
    if isinstance(value, Tensor | Sizes):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)


def _tensor_text(tensor: Tensor | Sizes) -> str:
    extents = tensor.extents if isinstance(tensor, Sizes) else tensor.shape
    sizes = "x".join(map(str, extents)) or _SCALAR
    text = f"{sizes}:{str(tensor.dtype).removeprefix('torch.')}" if tensor.dtype else sizes
    return f"{text}:zeros" if _is_false(tensor) else text


def _is_false(tensor: Tensor | Sizes) -> bool:
    """Whether nothing is true of what is true or false."""
    if isinstance(tensor, Sizes):
        return tensor.is_zero
    return tensor.dtype is torch.bool and not tensor.is_meta and not bool(tensor.any())


def _is_position(path: _Path) -> bool:
    return len(path) == 1 and isinstance(path[0], int)


def _head(path: _Path) -> str:
    return "" if _is_position(path) else ".".join(map(_key_text, path))


def _key_text(key: str | int) -> str:
    is_plain = isinstance(key, int) or (re.fullmatch(r"\w+", key) and not key.isdecimal())
    return str(key) if is_plain else json.dumps(key)


def _literal(path: _Path, value: object) -> str:
    text = repr(value)
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError) as error:
        came = type(value).__name__
        reason = f"wanted a tensor, a number or a text, came {came}"
        raise InvalidInputError(_head(path), reason) from error
    return text
