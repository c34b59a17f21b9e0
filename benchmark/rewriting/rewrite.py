"""What a rewrite is: a name, what it may change, and how it is done to a model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmark.rewriting.originals import Original
from nar.graphs.graph import ComputationalGraph

Wanted = Literal["equal", "near"]


class NotApplicableError(Exception):
    """A rewrite has nothing to rewrite in a model, or its library offers no way to do it."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One way to write a model otherwise.

    Attributes:
        name: E.g. ``eager_attention``.
        wanted: ``equal`` where the design stays the same, ``near`` where it changes a little.
        apply: The rewritten model's graph; raises `NotApplicableError`, or `CaptureError`.
        leaves_zoo: Whether other tools than the zoo run the model, outside its surroundings.
    """

    name: str
    wanted: Wanted
    apply: Callable[[Original], ComputationalGraph]
    leaves_zoo: bool = False
