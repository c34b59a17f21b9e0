"""From a module to its capture: the inputs that were stated, brought, usual or found, and the run.

The order of evidence: what the user states, what the module or its factory brings, what is usual in
a known library, and last what the module itself shows.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter
from typing import Final

from torch import nn

from nar.base.errors import CaptureError, InvalidInputError
from nar.capture import Capture, CaptureInputs
from nar.capture.forward.dispatch import trace_module, weights_in
from nar.capture.forward.untouched import silence, untouched
from nar.capture.graphs import to_capture
from nar.graphs.assumed import Assumed, AssumedValue
from nar.own.clock import Deadline, OutOfTimeError, ending
from nar.own.given import Given, read_tree, written
from nar.own.inputs import (
    Budget,
    Inferred,
    NoInputsError,
    UndecidedError,
    infer_inputs,
    stated_call,
    wants_data,
)
from nar.own.inputs.evidence import names_of, parameters_of
from nar.own.inputs.names import kind_by_name
from nar.own.usual import usual_inputs, usual_settings

# How the reason ends where a call gives None in place of a tensor.
_NO_OUTPUT: Final = "came None"
_BY_NAME: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
# Of the capture of another call; chosen: it runs without data as the first one did.
_MOST_SECONDS: Final = 4.0
_LOG = logging.getLogger(__name__)


class ModuleCaller:
    """Calls the module that one question is about, in each attempt at building it.

    Inputs that were found in one attempt serve the next one as well.

    Args:
        name: Name of the model, for errors.
        given: What the user states of the inputs.
        stated: Finds values of a forward's parameters by their names, with where each stands.
    """

    def __init__(
        self,
        name: str,
        given: Given,
        stated: Callable[[Sequence[str]], Mapping[str, tuple[object, AssumedValue]]] = lambda _: {},
    ) -> None:
        self._name, self._given, self._stated_values = name, given, stated
        self._budget = Budget()
        self._found: Inferred | None = None
        self._values: tuple[AssumedValue, ...] = ()

    def capture(self, module: nn.Module, brought: object = None) -> Capture:
        """The graph of a module, with what was assumed of its inputs.

        Args:
            module: The module.
            brought: The inputs that the module or its factory brings, or None.

        Raises:
            NoInputsError: No inputs were found that it runs on, or others might as well be meant.
            InvalidInputError: An input is stated of a name that its forward does not have.
            CaptureError: It could not be captured with its inputs.
        """
        given = self._given or (Given() if brought is None else read_tree(brought))
        _check_names(module, given)
        whole = stated_call(module, given) if given else None
        if whole is not None:
            try:
                return traced(self._name, module, whole)
            except CaptureError as error:
                # A loss without targets: what the call leaves at None is found.
                if not error.reason.endswith(_NO_OUTPUT) or not _left_open(module, given):
                    raise
        if not given:
            usual = self._captured_as_usual(module)
            if usual is not None:
                return usual
        with usual_settings(module):
            self._found = self._found or self._inferred(module, given)
        assumed = replace(_assumed(self._found), values=self._values)
        capture = traced(self._name, module, self._found.inputs)
        self._refuse_a_guess(module, capture, self._found)
        return replace(capture, assumed=assumed)

    def _refuse_a_guess(self, module: nn.Module, capture: Capture, found: Inferred) -> None:
        """Refuse where another call that might as well be meant has another graph.

        Raises:
            UndecidedError: It has; the reason says both.
        """
        for other in found.readings:
            try:
                with ending(Deadline(_MOST_SECONDS)):
                    topology = traced(self._name, module, other.inputs).network.topology
            except CaptureError:
                continue
            except OutOfTimeError:
                topology = ""  # so many more operators
            if topology != capture.network.topology:
                raise UndecidedError(self._name, found.texts, other)

    def _inferred(self, module: nn.Module, given: Given) -> Inferred:
        """The inputs that are found.

        Stated lists are no tensors, and are given at once; numbers may be of another thing
        of that name, and are given where nothing else leads to an answer.
        """
        whence = {} if given else self._stated_values(_open_parameters(module))
        known = {name: value for name, (value, _) in whence.items()}
        lists = {name: value for name, value in known.items() if isinstance(value, list | tuple)}
        failure: NoInputsError | None = None
        ways = (lists, known, {}) if lists else ({}, known)
        for number, settings in enumerate(ways):
            if settings in ways[:number]:
                continue
            stated = Given((), settings) if settings else given
            try:
                found = infer_inputs(self._name, module, stated, self._budget)
            except NoInputsError as error:
                failure = failure or error
            else:
                self._values = tuple(whence[name][1] for name in settings)
                return found
        assert failure is not None, "each way that did not return failed"
        raise failure

    def _captured_as_usual(self, module: nn.Module) -> Capture | None:
        """The graph with the inputs that are usual in a known library; None if they do not fit."""
        try:
            usual = usual_inputs(self._name, module)
            if usual is None:
                return None
            assumed = Assumed(written(usual, names_of(module)))
            return replace(traced(self._name, module, usual), assumed=assumed)
        except CaptureError as error:
            # Other inputs help only where these were wrong.
            if wants_data(error.__cause__):
                raise
            _LOG.info("%s: usual inputs do not fit: %s", self._name, error.reason)
            return None


def capture_lent(name: str, module: nn.Module, example: object = None) -> Capture:
    """The graph of a module of a running program, with what was assumed of its inputs.

    Args:
        name: Name of the model, for errors.
        module: The module, which is afterwards as it was. Hooks from outside do not fire.
        example: Its inputs as `read_tree` takes them; None lets them be found.

    Raises:
        CaptureError: No inputs were found, or it could not be captured with them.
    """
    with untouched(module) as children:
        silence(children)
        return ModuleCaller(name, Given()).capture(module, example)


def _open_parameters(module: nn.Module) -> list[str]:
    """The names of parameters behind the first that may be settings: no name says an input."""
    return [
        each.name
        for each in parameters_of(module)[1:]
        if each.kind in _BY_NAME
        and each.default in (None, Parameter.empty)
        and kind_by_name(each.name) is None
    ]


def _left_open(module: nn.Module, given: Given) -> list[str]:
    """The names of parameters that a call leaves at None."""
    stated = {*names_of(module)[: len(given.args)], *given.kwargs}
    return [
        each.name
        for each in parameters_of(module)
        if each.default is None and each.name not in stated
    ]


def _check_names(module: nn.Module, given: Given) -> None:
    """Refuse inputs for parameters that a module's forward lacks.

    Raises:
        InvalidInputError: Says which it has.
    """
    parameters = parameters_of(module)
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        return
    names = [each.name for each in parameters if each.kind in _BY_NAME]
    strange = [name for name in given.kwargs if name not in names]
    if strange:
        raise InvalidInputError(
            f"--input {strange[0]}=",
            f"wanted a parameter of {type(module).__name__}.forward: {', '.join(names)}",
        )


def traced(name: str, module: nn.Module, inputs: CaptureInputs) -> Capture:
    """The graph of a module that is called with inputs.

    Raises:
        CaptureError: It could not be captured with them.
    """
    with usual_settings(module):
        capture = to_capture(trace_module(module, inputs, name=name), name=name)
        return replace(capture, weights=weights_in(module))


def _assumed(found: Inferred) -> Assumed:
    return Assumed(
        inputs=found.texts,
        weights_reached=found.weights_reached,
        sizes_matter=found.sizes_matter,
        is_sure=found.is_sure,
        doubts=found.doubts,
    )
