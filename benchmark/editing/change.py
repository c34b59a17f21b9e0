"""What a change is: a name, the data set that it asks for, and how it is done to a model."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from nar.graphs.architecture import Architecture
from nar.graphs.graph import ComputationalGraph
from nar.own import resolve
from nar.zoo.building import Surgery, operating

DataSetName = Literal["edits", "parts"]


@dataclass(frozen=True, slots=True)
class Change:
    """One way to change a model, or to take a part of it.

    Attributes:
        name: E.g. ``layer_scale``.
        dataset: ``edits``, or ``parts``.
        apply: The changed graph of an architecture; raises `NotApplicableError`, `CaptureError`,
            or whatever a library raises for a model that does not bear the change.
    """

    name: str
    dataset: DataSetName
    apply: Callable[[Architecture], ComputationalGraph]


def by_surgery(name: str, dataset: DataSetName, surgery: Surgery) -> Change:
    """A change of the built module, which the model's own source captures again."""
    return Change(name, dataset, partial(_captured_after, surgery))


def _captured_after(surgery: Surgery, original: Architecture) -> ComputationalGraph:
    with operating(surgery):
        return resolve(original.labels.name).capture().graph
