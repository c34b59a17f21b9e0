"""Assumed: what nobody stated of a model that was asked about, and what was taken instead."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class AssumedValue:
    """A value that a model was built with and that its owner did not state.

    Attributes:
        name: The parameter of the constructor: ``config``, ``width``.
        value: The value as text.
        place: Where it comes from: ``configs/a.yaml:3``, ``its name``.
    """

    name: str
    value: str
    place: str


@dataclass(frozen=True, slots=True)
class Assumed:
    """How a user's own model was built and called, as far as its owner did not say.

    Attributes:
        inputs: The inputs of the call, each in the syntax of ``--input``.
        weights_reached: Share of the weights, counted by their elements, that the call reaches;
            None where the inputs are those usual in a known library, of which it is not counted.
        sizes_matter: Whether other sizes run other operators; None where that is not known.
        is_sure: Whether the inputs are those of the model as far as one can tell.
        doubts: Why they may not be, each a clause.
        values: What the constructor was given.
        stand_ins: Packages that are not installed and were touched, each with what was taken
            instead.
        skipped: What was left out of the user's code, each with its line.
        notes: Sentences about what the file says beside its network: an adapter, a quantisation,
            code that was not run, how it was recognised.
    """

    inputs: tuple[str, ...] = ()
    weights_reached: float | None = None
    sizes_matter: bool | None = None
    is_sure: bool = True
    doubts: tuple[str, ...] = ()
    values: tuple[AssumedValue, ...] = ()
    stand_ins: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)
