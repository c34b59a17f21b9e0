"""Which value a tensor holds: by object, and by storage where something was written in place."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from torch import Tensor

from nar.capture.torch_internals import storage_address
from nar.capture.trace import Shape, TraceBuilder

PARTIAL_VIEWS = frozenset({"slice", "split", "diagonal", "unfold"})


def shape_of(tensor: Tensor) -> Shape:
    """Extents of a tensor, 0 for one that depends on data and is not known."""
    return tuple([extent if type(extent) is int else 0 for extent in tensor.shape])


def storage_key(tensor: Tensor) -> int:
    """Identity of the memory behind a tensor, real or not, while the tensor lives."""
    return storage_address(tensor.untyped_storage())


@dataclass(slots=True)
class _Storage:
    """Memory that tensors share: the value of the whole, and how often it was written."""

    value: int
    writes: int = 0


@dataclass(frozen=True, slots=True)
class _Held:
    """What a tensor held when it was last seen. Keeps it alive: its id is never given again."""

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
        self._held: dict[int, _Held] = {}
        self._storages: dict[int, _Storage] = {}

    def read(self, tensor: Tensor) -> int:
        """The value a tensor holds now; a tensor never seen is a parameter or a constant."""
        held = self._held.get(id(tensor))
        if held is not None and held.writes == held.storage.writes:
            return held.value
        key = storage_key(tensor)
        storage = self._storages.get(key)
        if storage is None:
            value = self._leaf(tensor, key)
        elif _covers_storage(tensor):
            value = storage.value
        else:
            value = self._part(tensor, storage.value, held)
        self.bind(tensor, value)
        return value

    def bind(self, tensor: Tensor, value: int) -> None:
        """A tensor was made, as a new result or as a view."""
        key = storage_key(tensor)
        storage = self._storages.get(key)
        if storage is None:
            storage = self._storages[key] = _Storage(value)
        self._held[id(tensor)] = _Held(tensor, value, storage, storage.writes)

    def write(self, tensor: Tensor, value: int) -> None:
        """A tensor was overwritten: whoever shares its memory sees it at the next read."""
        storage = self._storages.setdefault(storage_key(tensor), _Storage(value))
        if _covers_storage(tensor):
            storage.value = value
        else:
            whole = self._builder.operations[storage.value].shape
            storage.value = self._builder.emit("scatter", (storage.value, value), whole)
        storage.writes += 1
        self._held[id(tensor)] = _Held(tensor, value, storage, storage.writes)

    def _leaf(self, tensor: Tensor, key: int) -> int:
        parameter = self._parameters.get(key)
        if parameter is None:
            return self._builder.constant(shape_of(tensor))
        return self._builder.parameter(key, shape_of(parameter))

    def _part(self, tensor: Tensor, whole: int, held: _Held | None) -> int:
        operator = self._builder.operations[held.value].operator if held else "slice"
        kind = operator if operator in PARTIAL_VIEWS else "slice"
        return self._builder.emit(kind, (whole,), shape_of(tensor))


def _covers_storage(tensor: Tensor) -> bool:
    size = tensor.untyped_storage().nbytes()
    return prod(shape_of(tensor)) * tensor.element_size() >= size


def by_storage(tensors: Iterable[Tensor]) -> dict[int, Tensor]:
    """One tensor for every storage: tied parameters count once."""
    return {storage_key(tensor): tensor for tensor in tensors}
