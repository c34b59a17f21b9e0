"""What is said of a captured model beside its graph: what was assumed, and what was not read.

Nobody stated what was assumed, so something was taken instead; where something was not read, the
graph is not the whole model.
"""

from dataclasses import asdict, dataclass
from typing import Any, Final

# A fact that was not worked out: there are inputs, and no result depends on any.
DEPENDENCE: Final = "how a result depends on an input"


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


@dataclass(frozen=True, slots=True)
class Count:
    """How often something was met.

    Attributes:
        name: What was met: ``com.microsoft::Attention``, ``numpy``.
        times: How often, at least once.
    """

    name: str
    times: int


@dataclass(frozen=True, slots=True)
class Unread:
    """What a captured graph lacks of its model.

    Attributes:
        unknown: Operators of the graph that the vocabulary has no class for.
        operators: Number of all operators of the graph.
        cut: Functions that took values out of tensors, such as ``numpy``: what a model makes of
            such values is not in its graph.
        lost: Number of learned scalars that no result of the model depends on.
        parameters: Number of all its learned scalars.
        facts: Shapes and numbers of a file that could not be worked out, or `DEPENDENCE`.
        without: What was left out, each with what was captured instead.

    Example:
        >>> Unread((Count("my::op", 3),), operators=4).has_verdict
        False
    """

    unknown: tuple[Count, ...] = ()
    operators: int = 0
    cut: tuple[Count, ...] = ()
    lost: int = 0
    parameters: int = 0
    facts: tuple[Count, ...] = ()
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything was not read."""
        return bool(self.unknown or self.cut or self.lost or self.facts or self.without)

    @property
    def unknown_times(self) -> int:
        """How many operators of the graph are not known."""
        return sum(each.times for each in self.unknown)

    @property
    def has_verdict(self) -> bool:
        """Whether at least half of the model was read: else nothing is said of the whole.

        Weights that no result depends on are common, and say nothing by themselves: a teacher
        beside a student. Where values left the tensors, or no result depends on an input, the
        layers before were cut off.
        """
        is_cut = bool(self.cut) or any(each.name == DEPENDENCE for each in self.facts)
        is_cut_off = is_cut and 2 * self.lost > self.parameters
        return 2 * self.unknown_times <= self.operators and not is_cut_off

    def kinds(self) -> tuple[str, ...]:
        """What was not read, one text a kind.

        Example:
            >>> Unread((Count("my::op", 3),), lost=5).kinds()
            ('operator my::op 3', 'weights that reach no result 5')
        """
        return (
            *(f"operator {each.name} {each.times}" for each in self.unknown),
            *(f"cut {each.name} {each.times}" for each in self.cut),
            *((f"weights that reach no result {self.lost}",) if self.lost else ()),
            *(f"{each.name} {each.times}" for each in self.facts),
            *(f"without {each}" for each in self.without),
        )

    def to_plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)
