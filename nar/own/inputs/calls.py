"""What a run of a module leaves behind: each call of a function of torch, and how the run ended."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from nar.capture.forward.opaque import lightly, opaque_functions
from nar.own.clock import Deadline
from nar.own.inputs.slots import Extents

Sources = frozenset[str]
NOTHING: Final[Sources] = frozenset()
CONVOLUTION: Final = re.compile(r"conv(?P<transposed>_transpose)?(?P<axes>[123])d$")
POOLING: Final = re.compile(r"(adaptive_)?(max|avg)_pool(?P<axes>[123])d(_with_indices)?$")
CONCATENATIONS: Final = frozenset({"cat", "concat", "concatenate"})
# Places of the tensor of indices among the tensors of a call.
INDEX_AT: Final = {
    "embedding": 0, "scatter": 1, "scatter_": 1, "scatter_add_": 1, "gather": 1, "index_select": 1,
}  # fmt: skip
# They are called by the thousand and say nothing of what the input has to be.
_QUESTIONS: Final = frozenset({
    "size", "dim", "__set__", "is_floating_point", "numel", "requires_grad_", "__len__", "stride",
    "is_complex",
})  # fmt: skip
_MARK: Final = "_nar_sources"  # the attribute of a tensor that holds the inputs it comes from
_NEST = 3  # chosen: lists of lists of tensors, as states of recurrent layers


class RefusedCallError(RuntimeError):
    """A call that torch would take, and that the module was not written for."""


@dataclass(frozen=True, slots=True)
class TorchCall:
    """One call of a function of torch.

    Attributes:
        function: Its name.
        path: The module that called it.
        turn: How many calls of it that module had made before.
        shapes: The shapes of its tensors.
        sources: For each tensor, the inputs that it comes from.
        is_owned: For each tensor, whether it is a parameter or a buffer.
        detail: The argument beside the tensors that decides what they have to be.
    """

    function: str
    path: str
    turn: int
    shapes: tuple[Extents, ...]
    sources: tuple[Sources, ...]
    is_owned: tuple[bool, ...] = ()
    detail: object = None

    @property
    def site(self) -> tuple[str, str, int]:
        """Where it stands in the module, whatever the inputs."""
        return self.function, self.path, self.turn


@dataclass(frozen=True, slots=True)
class RunningModule:
    """A module that was running when a run failed."""

    module: nn.Module
    path: str
    shapes: tuple[Extents, ...]
    sources: tuple[Sources, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        calls: The calls of functions of torch, in their order.
        error: What was raised; None where tensors came out.
        failing: The call that raised it, if a call of torch did.
        layer: The innermost module that was running.
        first_uses: For each input, the first call that brings it together with weights.
        used: The names of the parameters that were read.
        placement: The number of the placement that it ran in.
    """

    calls: tuple[TorchCall, ...] = ()
    error: BaseException | None = None
    failing: TorchCall | None = None
    layer: RunningModule | None = None
    first_uses: Mapping[str, TorchCall] = field(default_factory=dict)
    used: frozenset[str] = frozenset()
    placement: int = 0

    @property
    def is_ok(self) -> bool:
        """Whether it ended well."""
        return self.error is None

    @property
    def message(self) -> str:
        """What the error says."""
        return str(self.error)

    def at(self, site: tuple[str, str, int]) -> TorchCall | None:
        """The call at a site, if the run came so far."""
        return next((call for call in self.calls if call.site == site), None)

    def passed(self, site: tuple[str, str, int] | None) -> bool:
        """Whether the run came beyond a site."""
        if self.is_ok:
            return True
        if site is None or self.at(site) is None:
            return False
        return self.failing is None or self.failing.site != site


def sources_of(tensor: Tensor) -> Sources:
    """The inputs that a tensor comes from."""
    found: Sources = getattr(tensor, _MARK, NOTHING)
    return found


def mark(tensors: Iterable[Tensor], sources: Sources) -> None:
    """Note the inputs that tensors come from."""
    for tensor in tensors:
        setattr(tensor, _MARK, sources)


def tensors_of_call(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Tensor]:
    """The tensors among the arguments of a call, nests included."""
    values = (*args, *kwargs.values()) if kwargs else args
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple | dict):
            found.extend(tensors_in(value))
    return found


def tensors_in(value: object, depth: int = 0) -> Iterator[Tensor]:
    """The tensors of an argument, nests included."""
    if isinstance(value, Tensor):
        yield value
    elif depth <= _NEST and isinstance(value, list | tuple):
        for part in value:
            yield from tensors_in(part, depth + 1)
    elif depth <= _NEST and isinstance(value, dict):
        for part in value.values():
            yield from tensors_in(part, depth + 1)


class ProbeRecord(TorchFunctionMode):
    """Records the calls of one run, and refuses what the module was not written for.

    Args:
        owned: Names of parameters and buffers, by the id of the tensor.
        deadline: When the run has to end.
        is_strict: Whether unbatched calls are refused.
    """

    def __init__(self, owned: Mapping[int, str], deadline: Deadline, *, is_strict: bool) -> None:
        super().__init__()
        self.calls: list[TorchCall] = []
        # The modules that run, the innermost last: each with its path and what it was called with.
        self.running: list[tuple[nn.Module, str, list[Tensor]]] = []
        self.failing: TorchCall | None = None
        self.first_uses: dict[str, TorchCall] = {}
        self.used: set[str] = set()
        self._owned, self._deadline, self._is_strict = owned, deadline, is_strict
        self._turns: dict[tuple[str, str], int] = {}

    def __torch_function__(
        self,
        func: Any,  # noqa: ANN401
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Run a function and record it."""
        name = getattr(func, "__name__", "")
        kwargs = kwargs or {}
        if name in _QUESTIONS:
            return func(*args, **kwargs)
        if name == "__get__":
            return self._attribute(func, args, kwargs)
        tensors = tensors_of_call(args, kwargs)
        if not tensors:
            return func(*args, **kwargs)
        self._deadline.check()
        sources = tuple(map(sources_of, tensors))
        names = [self._owned.get(id(tensor)) for tensor in tensors]
        self.used.update(filter(None, names))
        whole = NOTHING.union(*sources)
        call = self._call(name, tensors, sources, names, _detail(name, args, kwargs))
        self.failing = call
        place = INDEX_AT.get(name, len(tensors))
        is_float = place < len(tensors) and tensors[place].is_floating_point()
        refuse(call, is_float=is_float, is_strict=self._is_strict)
        shapes = _LIGHT().get(func, _RUN)[1]
        result = _marked(lightly(func, shapes, args, kwargs), whole)
        if whole and (any(call.is_owned) or name == "embedding"):
            for source in whole:
                self.first_uses.setdefault(source, call)
        self.failing = None
        return result

    def _attribute(
        self,
        func: Any,  # noqa: ANN401
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> object:
        """An attribute of a tensor: its sizes, which are asked for most, or ``tensor.T``."""
        tensor = args[0]
        name = self._owned.get(id(tensor))
        if name is not None:
            self.used.add(name)
        result = func(*args, **kwargs)
        return _marked(result, sources_of(tensor)) if isinstance(result, Tensor) else result

    @property
    def innermost(self) -> RunningModule | None:
        """The innermost module that runs."""
        if not self.running:
            return None
        layer, path, tensors = self.running[-1]
        shapes = tuple(tuple(tensor.shape) for tensor in tensors)
        return RunningModule(layer, path, shapes, tuple(map(sources_of, tensors)))

    def _call(
        self,
        name: str,
        tensors: list[Tensor],
        sources: tuple[Sources, ...],
        names: list[str | None],
        detail: object,
    ) -> TorchCall:
        path = self.running[-1][1] if self.running else ""
        turn = self._turns[name, path] = self._turns.get((name, path), -1) + 1
        shapes = tuple(tuple(tensor.shape) for tensor in tensors)
        is_owned = tuple(name is not None for name in names)
        call = TorchCall(name, path, turn, shapes, sources, is_owned, detail)
        self.calls.append(call)
        return call


def refuse(call: TorchCall, *, is_float: bool, is_strict: bool) -> None:
    """Refuse a call of torch that only a wrong input makes.

    Args:
        call: The call.
        is_float: Whether the tensor that holds its indices, if it has one, is of floats.
        is_strict: Whether a call without a batch is refused.

    Raises:
        RefusedError: Indices that are floats, positions beyond their table, channels that a
            transposed convolution does not have, or, where that is strict, no batch.
    """
    if is_float:
        raise RefusedCallError(f"{call.function} wants integers: expected dtype int64 for index")
    if call.function == "embedding" and len(call.shapes) > 1:
        at, rows = call.shapes[0], call.shapes[1][0]
        if not call.sources[0] and at and at[-1] > rows:
            raise RefusedCallError("there are more positions than the table has rows")
    found = CONVOLUTION.match(call.function) or POOLING.match(call.function)
    if is_strict and found and call.sources[0]:
        wanted = int(found["axes"]) + 2
        if len(call.shapes[0]) != wanted:
            raise RefusedCallError(f"wanted {wanted} axes with the batch")
    if found and found.groupdict().get("transposed") and len(call.shapes) > 1:
        axes, weight = int(found["axes"]) + 1, call.shapes[1]
        # Without data torch does not look.
        if len(call.shapes[0]) >= axes and call.shapes[0][-axes] != weight[0]:
            raise RefusedCallError(f"a transposed convolution wants {weight[0]} channels")


def _marked(result: object, sources: Sources) -> object:
    if sources:
        mark(tensors_in(result), sources)
    return result


def _detail(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    kind = "convolution" if CONVOLUTION.match(name) else "pool" if POOLING.match(name) else name
    read = _DETAILS.get(kind)
    return None if read is None else read(args, kwargs)


def _argument(args: tuple[Any, ...], kwargs: Mapping[str, Any], place: int, *names: str) -> object:
    if len(args) > place:
        return args[place]
    return next((kwargs[name] for name in names if name in kwargs), None)


def _groups(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    # The seventh argument of a transposed convolution is the groups as well.
    found = _argument(args, kwargs, 6, "groups")
    return found if isinstance(found, int) else 1


def _joined_axis(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    found = _argument(args, kwargs, 1, "dim", "axis")
    return found if isinstance(found, int) else 0


_LIGHT: Final = cache(opaque_functions)
_RUN: Final = ("", None)
_DETAILS: Final = {
    "convolution": _groups,
    "pool": lambda args, kwargs: _argument(args, kwargs, 1, "kernel_size"),
    "__getitem__": lambda args, _kwargs: args[1] if len(args) > 1 else None,
    "einsum": lambda args, kwargs: args[0] if args else None,
    "layer_norm": lambda args, kwargs: _argument(args, kwargs, 1, "normalized_shape"),
    "rms_norm": lambda args, kwargs: _argument(args, kwargs, 1, "normalized_shape"),
    "squeeze": lambda args, kwargs: _argument(args, kwargs, 1, "dim"),
    "group_norm": lambda args, kwargs: _argument(args, kwargs, 1, "num_groups"),
    **dict.fromkeys(CONCATENATIONS, _joined_axis),
}
