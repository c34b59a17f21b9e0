"""Values of small tensors on the meta device, for control flow that reads them.

A model that asks how many images a prompt holds, or where its padding ends, reads integers that
its inputs and its code fix, not its weights. These integers are computed beside the meta tensors.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

import nar.capture.torch_internals as internals
from nar.capture.forward.recorder import run, tensors_of

# Chosen: larger tensors are states, not sizes or positions; a mask over an image is smaller.
MAX_ELEMENTS = 1 << 22

_CPU = torch.device("cpu")
_META = torch.device("meta")
_READS = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
# Their result does not depend on the values of the tensor that they are given.
_FILLS = ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")
_FROM_NUMBERS = (torch.tensor, torch.as_tensor)
_INDEXED = ("index", "index_put", "index_put_", "_unsafe_index", "_unsafe_index_put")

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@contextmanager
def known_values() -> Iterator[None]:
    """Inside, meta tensors that are made from numbers and integer inputs can be read."""
    values = _KnownValues()
    with values, _Constants(values):
        yield


class _KnownValues(internals.TorchDispatchMode):
    """Knows the value of every small meta tensor that is made from numbers and inputs.

    Inputs that come to the meta device bring their values. A tensor that is computed from known
    values alone is known; a tensor that depends on weights or on randomness is not. Code that reads
    a known value gets it. Fake tensors are left alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self._values = WeakTensorKeyDictionary()
        # Storages that an unknown value was written into; views share them. They are kept alive, so
        # that no other storage gets the same address.
        self._spoilt: dict[int, torch.UntypedStorage] = {}

    def __torch_dispatch__(
        self,
        func: internals.OpOverload,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run an operator on meta tensors and, where all it reads is known, for real beside."""
        options = dict(kwargs or {})
        if any(issubclass(kind, internals.FakeTensor) for kind in types):
            return func(*args, **options)
        if not _makes_known(func) and self._are_unknown(args, options):
            return run(func, args, options)
        if _wants(func, "_to_copy"):
            return self._move(func, args, options)
        args, options = self._on_one_device(args, options)
        if any(tag in func.tags for tag in _READS) and self.are_known(args, options):
            return self.to_meta(self._for_real(func, args, options))
        if _wants(func, *_INDEXED):
            args = (args[0], self._positions(args[1]), *args[2:])
        result = func(*args, **options)
        self._follow(func, args, options, result)
        return result

    def _are_unknown(self, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        """Whether there are tensors among some arguments, all on the meta device, none known."""
        given = list(tensors_of((*args, *options.values())))
        return bool(given) and all(t.is_meta and t not in self._values for t in given)

    def _move(
        self, func: internals.OpOverload, args: tuple[Any, ...], options: dict[str, Any]
    ) -> object:
        """Values stay with a tensor from the CPU to meta, and come back."""
        source, device = args[0], options.get("device")
        value = self.value(source)
        if value is None or device is None or source.device == device:
            result = func(*args, **options)
            self._follow(func, args, options, result)
            return result
        real = cast("Tensor", func(value, **{**options, "device": _CPU}))
        if torch.device(device) == _CPU:
            return real.clone() if real is value else real
        return self.to_meta(real) if real.numel() <= MAX_ELEMENTS else real.to(_META)

    def _follow(
        self,
        func: internals.OpOverload,
        args: tuple[Any, ...],
        options: dict[str, Any],
        result: object,
    ) -> None:
        """Note the value of a result, or that a tensor that was written into is known no longer."""
        is_random = torch.Tag.nondeterministic_seeded in func.tags
        results = list(tensors_of((result,)))
        elements = sum(tensor.numel() for tensor in results)
        can_follow = (
            not is_random and any(tensor.is_meta for tensor in results) and elements <= MAX_ELEMENTS
        )
        if can_follow and "empty" in internals.schema_of(func).name:
            self._follow_empty(results)
            return
        if can_follow and _wants(func, *_FILLS):
            args = (torch.empty(args[0].shape, dtype=args[0].dtype, device=_CPU), *args[1:])
        if can_follow and self.are_known(args, options):
            reals = internals.tree_leaves(self._for_real(func, args, options))
            for tensor, real in zip(internals.tree_leaves(result), reals, strict=True):
                if isinstance(tensor, Tensor) and tensor.is_meta:
                    self._values[tensor] = real
        elif internals.schema_of(func).is_mutable:
            self._spoil(func, args, options)

    def _follow_empty(self, results: list[Tensor]) -> None:
        """Integers are written before they are read; floats may be weights."""
        for tensor in results:
            if not tensor.is_floating_point() and not tensor.is_complex():
                self._values[tensor] = torch.zeros(tensor.shape, dtype=tensor.dtype, device=_CPU)

    def _spoil(
        self, func: internals.OpOverload, args: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        for position, name in internals.written_arguments(func):
            written = args[position] if position < len(args) else options.get(name)
            for tensor in tensors_of((written,)):
                value = self._noted(tensor)
                if value is not None:
                    storage = value.untyped_storage()
                    self._spoilt[internals.storage_address(storage)] = storage

    def _noted(self, tensor: Tensor) -> Tensor | None:
        value: Tensor | None = self._values.get(tensor)
        return value

    def value(self, tensor: Tensor) -> Tensor | None:
        """The values of a tensor, if they are known."""
        if not tensor.is_meta:
            return tensor
        value = self._noted(tensor)
        if value is None or internals.storage_address(value.untyped_storage()) in self._spoilt:
            return None
        return value

    def are_known(self, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        """Whether the values of all tensors among some arguments are known."""
        return all(
            self.value(tensor) is not None for tensor in tensors_of((*args, *options.values()))
        )

    def _for_real(
        self, func: internals.OpOverload, args: tuple[Any, ...], options: dict[str, Any]
    ) -> object:
        real_args, real_options = internals.tree_map_only(Tensor, self.value, (args, options))
        if real_options.get("device") is not None:
            real_options["device"] = _CPU
        return func(*real_args, **real_options)

    def _on_one_device(self, args: tuple[Any, ...], options: dict[str, Any]) -> Arguments:
        """Bring tensors that were read back to the CPU to the meta device of the others."""
        devices = {tensor.device for tensor in tensors_of((*args, *options.values()))}
        if len(devices) < 2:
            return args, options
        moved: Arguments = internals.tree_map_only(
            Tensor, lambda t: t if t.is_meta else self.to_meta(t), (args, options)
        )
        return moved

    def _positions(self, indices: list[Tensor | None]) -> list[Tensor | None]:
        """Masks among the indices as positions, whose number is known if the mask is."""
        positions: list[Tensor | None] = []
        for index in indices:
            value = None if index is None or index.dtype != torch.bool else self.value(index)
            if value is None:
                positions.append(index)
            else:
                positions += self.to_meta(list(value.nonzero(as_tuple=True)))
        return positions

    def to_meta(self, real: object) -> Any:  # noqa: ANN401
        """Tensors on the meta device that know their values; numbers as they are."""

        def move(tensor: Tensor) -> Tensor:
            meta = torch.empty_strided(
                tensor.shape, tensor.stride(), dtype=tensor.dtype, device=_META
            )
            self._values[meta] = tensor
            return meta

        return internals.tree_map_only(Tensor, move, real)


class _Constants(TorchFunctionMode):
    """Numbers that become a tensor on the meta device stay known: torch drops them by itself."""

    def __init__(self, values: _KnownValues) -> None:
        super().__init__()
        self._values = values

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,  # noqa: ANN401
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Make the constant on the CPU, then move it."""
        options = dict(kwargs or {})
        if func is Tensor.__getitem__ and args[0].is_meta:
            return func(args[0], self._as_known(args[1]))
        device = options.get("device")
        if func not in _FROM_NUMBERS or device is None or torch.device(device) != _META:
            return func(*args, **options)
        if not self._values.are_known(args, options):
            return func(*args, **options)
        numbers = internals.tree_map_only(Tensor, self._values.value, args)
        return self._values.to_meta(func(*numbers, **{**options, "device": _CPU}))

    def _as_known(self, index: object) -> object:
        """An index, its lists of numbers as tensors."""
        if isinstance(index, tuple):
            return tuple([self._as_known(part) for part in index])
        if isinstance(index, list) and all(type(position) is int for position in index):
            return self._values.to_meta(torch.tensor(index, dtype=torch.long, device=_CPU))
        return index


@cache
def _wants(func: internals.OpOverload, *names: str) -> bool:
    return internals.schema_of(func).name.removeprefix("aten::") in names


@cache
def _makes_known(func: internals.OpOverload) -> bool:
    """Whether a result may be known though no argument is."""
    return _wants(func, *_FILLS) or "empty" in internals.schema_of(func).name
