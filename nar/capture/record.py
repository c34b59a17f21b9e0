"""Records of the inputs and of the result of a capture."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nar.graphs.assumed import Assumed
from nar.graphs.fingerprints import Fingerprinted
from nar.graphs.graph import ComputationalGraph


@dataclass(frozen=True, slots=True)
class CaptureInputs:
    """One call of a model: tensors on any device, and whatever else its forward wants.

    Attributes:
        args: Positional arguments.
        kwargs: Keyword arguments.
    """

    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, inputs: object) -> "CaptureInputs":
        """One call from its arguments in any of their forms.

        Args:
            inputs: A tuple or list of positional arguments, a mapping of keyword arguments, or the
                only argument.

        >>> CaptureInputs.of({"x": 1}).kwargs
        {'x': 1}
        """
        if isinstance(inputs, cls):
            return inputs
        if isinstance(inputs, Mapping):
            return cls((), inputs)
        return cls(tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,))


@dataclass(frozen=True, slots=True)
class Capture:
    """A captured graph, and what the vocabulary has no class for.

    Attributes:
        network: A valid graph in canonical order, and its fingerprints.
        unknown_operators: How often each operator outside the vocabulary was met. Such operators
            are in the graph under a hashed id of their own.
        unknown_facts: How often the shape or the number that an operator of an ONNX file gives
            could not be computed: its cost is not counted then.
        assumed: What was assumed of a user's own model; None where nothing was.
    """

    network: Fingerprinted
    unknown_operators: dict[str, int]
    unknown_facts: dict[str, int] = field(default_factory=dict)
    assumed: Assumed | None = None

    @property
    def graph(self) -> ComputationalGraph:
        """The captured graph."""
        return self.network.graph
