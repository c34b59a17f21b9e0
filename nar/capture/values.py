"""The value that a tensor holds: by object, and by storage after a write in place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from nar.capture.torch_internals import storage_address
from nar.capture.trace import Shape, TraceBuilder, port

PARTIAL_VIEWS = frozenset({"slice", "split", "diagonal", "unfold"})


def shape_of(tensor: Tensor) -> Shape:
    """Extents of a tensor, 0 where an extent depends on data and is not known."""
    return tuple([extent if type(extent) is int else 0 for extent in tensor.shape])


def signature(named: Iterable[tuple[str, Tensor]]) -> tuple[str, ...]:
    """Tensors in the form of `nar.graphs.details.Details`: ``input_ids int 1x16``."""
    return tuple(port(name, kind_of(tensor), shape_of(tensor)) for name, tensor in named)


def kind_of(tensor: Tensor) -> str:
    """What the numbers of a tensor are."""
    if tensor.dtype is torch.bool:
        return "bool"
    if tensor.is_complex():
        return "complex"
    return "float" if tensor.is_floating_point() else "int"


def tensor_inputs(tensors: Sequence[Tensor]) -> list[tuple[Shape, bool]]:
    """What `input_values` wants to know of tensors."""
    return [
        (shape_of(tensor), tensor.is_floating_point() or tensor.is_complex()) for tensor in tensors
    ]


def storage_key(tensor: Tensor) -> int:
    """Identity of the memory behind a tensor, real or not, while the tensor lives."""
    if tensor.layout is not torch.strided:
        return id(tensor)  # a binding keeps the tensor alive
    return storage_address(tensor.untyped_storage())


@dataclass(slots=True)
class _Storage:
    """Memory that tensors share: the value of the whole, and how often it was written."""

    value: int
    writes: int = 0


@dataclass(frozen=True, slots=True)
class _Binding:
    """The value of a tensor when last seen. Keeps the tensor alive, so that its id stays unique."""

    tensor: Tensor
    value: int
    storage: _Storage
    writes: int


class TensorValues:
    """Values of the tensors of one forward pass.

    Args:
        builder: Receives the leaves, and what in-place operators on parts of a tensor mean.
        parameters: The learned tensors, by storage key.
    """

    def __init__(self, builder: TraceBuilder, parameters: Mapping[int, Tensor]) -> None:
        self._builder = builder
        self._parameters = parameters
        self._bindings: dict[int, _Binding] = {}
        self._storages: dict[int, _Storage] = {}

    def read(self, tensor: Tensor) -> int:
        """The value a tensor holds now; a tensor never seen is a parameter or a constant."""
        binding = self._bindings.get(id(tensor))
        if binding is not None and binding.writes == binding.storage.writes:
            return binding.value
        key = storage_key(tensor)
        storage = self._storages.get(key)
        if storage is None:
            value = self._leaf(tensor, key)
        elif _covers_storage(tensor):
            value = storage.value
        else:
            value = self._part(tensor, storage.value, binding)
        self.bind(tensor, value)
        return value

    def bind(self, tensor: Tensor, value: int) -> None:
        """Give a tensor that was made, as a new result or as a view, its value."""
        key = storage_key(tensor)
        storage = self._storages.get(key)
        if storage is None:
            storage = self._storages[key] = _Storage(value)
        self._bindings[id(tensor)] = _Binding(tensor, value, storage, storage.writes)

    def write(self, tensor: Tensor, value: int) -> None:
        """Note that a tensor was overwritten: tensors that share its memory have the value, too."""
        storage = self._storages.setdefault(storage_key(tensor), _Storage(value))
        if _covers_storage(tensor):
            storage.value = value
        else:
            whole = self._builder.operations[storage.value].shape
            storage.value = self._builder.emit("scatter", (storage.value, value), whole)
        storage.writes += 1
        self._bindings[id(tensor)] = _Binding(tensor, value, storage, storage.writes)

    def _leaf(self, tensor: Tensor, key: int) -> int:
        parameter = self._parameters.get(key)
        if parameter is None:
            return self._builder.constant(shape_of(tensor))
        return self._builder.parameter(key, shape_of(parameter))

    def _part(self, tensor: Tensor, whole: int, before: _Binding | None) -> int:
        operator = self._builder.operations[before.value].operator if before else "slice"
        kind = operator if operator in PARTIAL_VIEWS else "slice"
        return self._builder.emit(kind, (whole,), shape_of(tensor))


def _covers_storage(tensor: Tensor) -> bool:
    if tensor.layout is not torch.strided:
        return True
    size = tensor.untyped_storage().nbytes()
    return prod(shape_of(tensor)) * tensor.element_size() >= size


def by_storage(tensors: Iterable[Tensor]) -> dict[int, Tensor]:
    """One tensor for every storage: tied parameters count once."""
    return {storage_key(tensor): tensor for tensor in tensors}
