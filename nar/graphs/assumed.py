"""Assumed: what nobody stated of a model that was asked about, and what was taken instead."""

from collections.abc import Mapping
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
        weights_reached: Share of the weights, counted by their elements, that the call reaches.
        sizes_matter: Whether other sizes run other operators; None where that is not known.
        is_sure: Whether the inputs are those of the model as far as one can tell.
        doubts: Why they may not be, each a clause.
        values: What the constructor was given.
        stand_ins: Packages that are not installed and were touched, each with what was taken
            instead.
        skipped: What was left out of the user's code, each with its line.
    """

    inputs: tuple[str, ...] = ()
    weights_reached: float = 1.0
    sizes_matter: bool | None = None
    is_sure: bool = True
    doubts: tuple[str, ...] = ()
    values: tuple[AssumedValue, ...] = ()
    stand_ins: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Assumed":
        """The record of what `to_plain` gives, before or after a way through JSON.

        Example:
            >>> stated = Assumed(("x=1x3x32x32",), values=(AssumedValue("width", "64", "a.py:3"),))
            >>> Assumed.from_plain(stated.to_plain()) == stated
            True
        """
        return cls(
            inputs=tuple(plain["inputs"]),
            weights_reached=plain["weights_reached"],
            sizes_matter=plain["sizes_matter"],
            is_sure=plain["is_sure"],
            doubts=tuple(plain["doubts"]),
            values=tuple(AssumedValue(**value) for value in plain["values"]),
            stand_ins=tuple(plain["stand_ins"]),
            skipped=tuple(plain["skipped"]),
        )

    def to_plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)
