"""Watching: the call that a program makes of its own model is caught, with its true inputs.

What a program calls may be wrapped: compiled, distributed over processes, adapted, given hooks.
The model inside is captured, and afterwards it is as it was before.
"""

import copy
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from threading import local
from types import FrameType
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from nar.base.errors import CaptureError, InvalidInputError
from nar.capture import Capture, CaptureInputs
from nar.capture.forward.dispatch import capture_module
from nar.capture.forward.placement import flat_tensors
from nar.capture.torch_internals import tree_map_only
from nar.graphs.architecture import UNKNOWN, Architecture, Labels, architecture
from nar.own.given import written
from nar.own.unwrapping import bare, gathered, leave_autocast, unwrapped
from nar.own.usual import is_of_transformers, usual_settings

# Arguments of models of transformers that belong to the generation of text or to a training.
_OF_GENERATION: Final = frozenset({"cache_position", "labels", "logits_to_keep", "use_cache"})
_CACHE: Final = "past_key_values"
_ENCODED: Final = "encoder_outputs"


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """A call that a program has made.

    Attributes:
        module: What it called.
        args: Arguments by position.
        kwargs: Arguments by name.
        before: What the encoder of the model was given before, where the model gets only what that
            made of it.
    """

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    before: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which call is caught.

    Attributes:
        module: Name of a class, or the path of a part inside of the outermost module, such as
            ``model.encoder``; without it the outermost module that has weights.
        number: Which of the calls of that module, from 1.
        instance: The very module; None for any.
    """

    module: str = ""
    number: int = 1
    instance: nn.Module | None = None

    def fits(self, module: nn.Module, outermost: nn.Module) -> bool:
        """Whether a module is wanted that runs inside of an outermost module, or is that module."""
        inside = unwrapped(module)
        if self.instance is not None:
            return inside is unwrapped(self.instance)
        if not self.module:
            return module is outermost
        if type(inside).__name__ == self.module:
            return True
        with suppress(AttributeError):
            return unwrapped(outermost).get_submodule(self.module) is module
        return False


class CallWatcher:
    """Catches one call of a module, wherever the program makes it.

    Args:
        wanted: Which call.
        take: Gets the call, before it runs.
    """

    def __init__(self, wanted: Wanted, take: Callable[[ProgramCall], None]) -> None:
        self._wanted, self._take = wanted, take
        self._seen = 0
        self._before: Mapping[str, Any] = {}
        self._running = local()
        self._call: Callable[..., Any] | None = None
        self._watched: Callable[..., Any] | None = None
        self._compiled = ExitStack()

    def start(self) -> None:
        """Watch from now on, until the call is caught."""
        original = nn.Module.__call__

        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            if self._watched is None or not _is_a_model(module):
                return original(module, *args, **kwargs)
            with self._entered(module) as outermost:
                if module is outermost and _is_encoding(module):
                    self._before = kwargs
                elif self._wanted.fits(module, outermost) and self._is_the_one():
                    self.stop()
                    self._take(ProgramCall(module, args, kwargs, self._before))
                return original(module, *args, **kwargs)

        self._call, self._watched = original, call
        # A compiled function calls no modules: its compiler has read them.
        self._compiled.enter_context(torch.compiler.set_stance("force_eager"))
        nn.Module.__call__ = call  # type: ignore[method-assign]

    def stop(self) -> None:
        """Watch no longer; calls are what they were."""
        if nn.Module.__call__ is self._watched:
            nn.Module.__call__ = self._call  # type: ignore[method-assign, assignment]
        self._watched = None
        self._compiled.close()

    @contextmanager
    def _entered(self, module: nn.Module) -> Iterator[nn.Module]:
        """Inside of a call; gives the outermost module that this thread calls."""
        outermost: nn.Module | None = getattr(self._running, "outermost", None)
        if outermost is not None:
            yield outermost
            return
        self._running.outermost = module
        try:
            yield module
        finally:
            self._running.outermost = None

    def _is_the_one(self) -> bool:
        self._seen += 1
        return self._seen == self._wanted.number


def _is_a_model(module: nn.Module) -> bool:
    """Whether a module that is called has weights, and is asked for what it computes."""
    return next(module.parameters(), None) is not None and not _is_step(unwrapped(module))


def _is_encoding(module: nn.Module) -> bool:
    """Whether a model that generates calls its encoder, before it calls itself."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "generate":
            whole = frame.f_locals.get("self")
            return isinstance(whole, nn.Module) and _is_part(module, whole)
        frame = frame.f_back
    return False


def _is_part(module: nn.Module, whole: nn.Module) -> bool:
    return unwrapped(module) is not unwrapped(whole) and module in set(whole.modules())


def _is_step(module: nn.Module) -> bool:
    """Whether a module's forward is a whole step of a training for the moment.

    Lightning does that, to let wrappers see the step; the models inside are called by the step.
    """
    forward = vars(module).get("forward")
    is_replaced = (
        forward is not None and getattr(forward, "__func__", None) is not type(module).forward
    )
    return is_replaced and hasattr(module, "training_step")


def capture_call(call: ProgramCall) -> Capture:
    """The graph of the model that a call runs, with the inputs of the call.

    Neither the model, nor the inputs, nor the random numbers that follow are other ones than if
    nobody had looked.

    Raises:
        CaptureError: The model could not be captured.
    """
    name = type(unwrapped(call.module)).__name__
    failure: CaptureError | None = None
    with ExitStack() as stack:
        for context in (_kept_random(), gathered(call.module), torch.inference_mode(False)):
            stack.enter_context(context)
        model = unwrapped(call.module)
        stack.enter_context(bare(model))
        is_mixed = leave_autocast(stack)
        for inputs in _inputs_of(model, call):
            own = _of_weights(model, inputs) if is_mixed else inputs
            try:
                with usual_settings(model):
                    return capture_module(_WithoutLoss(model), own, name=name)
            except CaptureError as error:
                failure = failure or error
    assert failure is not None, "a call has inputs"
    raise failure


def architecture_of_call(call: ProgramCall) -> Architecture:
    """The model that a call runs, as NAR reads it; it is named by its class.

    Raises:
        CaptureError: The model could not be captured.
    """
    kind = type(unwrapped(call.module))
    library = kind.__module__.partition(".")[0]
    labels = Labels(kind.__name__, "python", library, UNKNOWN, UNKNOWN)
    return architecture(labels, capture_call(call).network)


def stated_inputs(call: ProgramCall) -> str:
    """The tensors of a call as the options of a command state them."""
    texts: list[str] = []
    named = {str(place): value for place, value in enumerate(call.args)} | dict(call.kwargs)
    for name, value in named.items():
        if list(flat_tensors(value)):
            with suppress(InvalidInputError):
                one = (value,) if name.isdecimal() else ()
                texts += written(CaptureInputs(one, {} if one else {name: value}))
    return " ".join(f"--input {text}" for text in texts)


class _WithoutLoss(nn.Module):
    """A model without the single numbers among its outputs: a loss is no part of its design."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any, **kwargs: Any) -> object:  # noqa: ANN401
        """What the model returns; its tensors alone where one of them is a single number."""
        result = self.model(*args, **kwargs)
        tensors = tuple(flat_tensors(result))
        large = tuple(tensor for tensor in tensors if tensor.dim())
        return large if large and len(large) < len(tensors) else result


def _inputs_of(model: nn.Module, call: ProgramCall) -> Iterator[CaptureInputs]:
    """The inputs of a call as the corpus has those of such models, then as they came."""
    args, kwargs = _copied(call.args), _copied(dict(call.kwargs))
    if any(map(is_of_transformers, model.modules())):
        plain = {name: value for name, value in kwargs.items() if name not in _OF_GENERATION}
        if _is_empty(plain.get(_CACHE)):
            plain.pop(_CACHE, None)
        if call.before and plain.pop(_ENCODED, None) is not None:
            given = {
                name: value for name, value in call.before.items() if list(flat_tensors(value))
            }
            plain = {**_copied(given), **plain}
        shift = getattr(model, "prepare_decoder_input_ids_from_labels", None)
        if shift and kwargs.get("labels") is not None and "decoder_input_ids" not in plain:
            plain["decoder_input_ids"] = shift(labels=kwargs["labels"])
        if plain.keys() != kwargs.keys():
            yield CaptureInputs(args, plain)
    yield CaptureInputs(args, kwargs)


def _is_empty(cache: object) -> bool:
    """Whether a cache of keys and values holds nothing yet."""
    length = getattr(cache, "get_seq_length", None)
    # A cache of encoder and decoder is in two parts.
    return length is not None and not length()


def _copied(values: Any) -> Any:  # noqa: ANN401 -- a tree of whatever a call is given
    """Copies, which a forward pass may change: of tensors, and of objects that can be copied."""

    def copied(value: object) -> object:
        if isinstance(value, Tensor):
            return value.detach().clone()
        try:
            return copy.deepcopy(value)
        except Exception:  # objects of users may refuse in any way
            return value

    return tree_map_only(object, copied, values)


def _of_weights(model: nn.Module, inputs: CaptureInputs) -> CaptureInputs:
    """The same inputs, their real numbers of the type of the weights."""
    kind = next((each.dtype for each in model.parameters() if each.is_floating_point()), None)

    def moved(tensor: Tensor) -> Tensor:
        return tensor.to(kind) if tensor.is_floating_point() else tensor

    args, kwargs = tree_map_only(Tensor, moved, (inputs.args, dict(inputs.kwargs)))
    return CaptureInputs(args, kwargs)


@contextmanager
def _kept_random() -> Iterator[None]:
    """Random numbers afterwards are those that would have come now."""
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 -- users' own
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002


def is_first_rank() -> bool:
    """Whether this process is the one of a distributed program that reports."""
    return os.environ.get("RANK", "0") == "0"
