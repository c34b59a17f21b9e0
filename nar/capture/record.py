"""Records of the inputs and of the result of a capture."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nar.graphs.assumed import Assumed, Count, Unread
from nar.graphs.details import Details
from nar.graphs.fingerprints import Fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import op_id
from nar.graphs.weights import Weights


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
            could not be computed: its cost is not counted then. Or `DEPENDENCE`.
        assumed: What was assumed of a user's own model; None where nothing was.
        cut: How often each function took values out of tensors: ``numpy``, ``tolist``, ``item``.
        lost: Number of learned scalars that no result depends on.
        without: What was left out of the forward pass, each with what was captured instead.
        weights: Names and shapes of the weights; None where they were not seen.
        details: Widths, heads, masks, paths of modules, inputs and outputs; None where the graph
            was drawn, or was captured from another network than it describes.
    """

    network: Fingerprinted
    unknown_operators: dict[str, int]
    unknown_facts: dict[str, int] = field(default_factory=dict)
    assumed: Assumed | None = None
    cut: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    without: tuple[str, ...] = ()
    weights: Weights | None = None
    details: Details | None = None

    @property
    def graph(self) -> ComputationalGraph:
        """The captured graph."""
        return self.network.graph

    @property
    def unread(self) -> Unread | None:
        """What the graph lacks of the model; None where it is the whole."""
        ids = self.graph.op_ids
        unknown = {name: int((ids == op_id(name)).sum()) for name in self.unknown_operators}
        unread = Unread(
            unknown=_counts(unknown),
            operators=self.graph.nodes,
            cut=_counts(self.cut),
            lost=self.lost,
            parameters=self.graph.parameters,
            facts=_counts(self.unknown_facts),
            without=self.without,
        )
        return unread or None


def with_unread(capture: Capture) -> Details | None:
    """The details of a capture, with the kinds of what it could not read."""
    if capture.details is None or capture.unread is None:
        return capture.details
    return replace(capture.details, unread=capture.unread.kinds())


def _counts(times: Mapping[str, int]) -> tuple[Count, ...]:
    """The names that were met, the most frequent first."""
    met = (Count(name, number) for name, number in times.items() if number)
    return tuple(sorted(met, key=lambda each: (-each.times, each.name)))
