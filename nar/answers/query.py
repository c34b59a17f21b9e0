"""Query and Answer: what is asked, from the command line to the index, and what comes back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from nar.answers.bodies import SharedBody
from nar.answers.coverage import Coverage
from nar.answers.difference import Changes, Explanation
from nar.answers.part_of import Whole
from nar.answers.verdict import FamilyVerdict, Resemblance
from nar.answers.wrapping import Wrapped
from nar.base.errors import NarError
from nar.graphs.architecture import Architecture
from nar.graphs.assumed import Assumed, Unread
from nar.graphs.by import By
from nar.graphs.fingerprints import Fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.index.filters import Filter
from nar.index.rows import Hit, IndexRow

if TYPE_CHECKING:
    # An answer without a card does not read what makes one.
    from nar.answers.design_card import DesignCard

Target = Architecture | Fingerprinted | ComputationalGraph | IndexRow | str | NDArray[np.float32]
# The fields of an `Answer` that cost further searches, or the graphs of hits: they are made where
# the query asks for them.
Part = Literal[
    "resemblance",
    "family",
    "trunk",
    "part_of",
    "bodies",
    "changes",
    "coverage",
    "shared",
    "card",
]
# What `Query.top_k` counts: rows of the index, or networks, of which rows are copies.
Counted = Literal["hits", "networks"]
COUNTED: Final[tuple[Counted, ...]] = get_args(Counted)
PARTS: Final[tuple[Part, ...]] = get_args(Part)
Item = TypeVar("Item")
Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One question.

    Attributes:
        target: A captured architecture, a canonical graph with its fingerprints or without, a row
            whose vector the encoder made, the name or id of an indexed architecture, or a vector
            of shape (dim,).
        top_k: Number of hits wanted, or of networks.
        filter: Conditions that hits must meet.
        by: What hits should share with the target: the whole design, its decoder (what it is for),
            its trunk (what it stands on), or as much as a copy would; or what it may have been
            made from. Encoders without that distinction answer by design.
        parts: Which parts of the answer are made beside the hits.
        parts_if_new: Further parts, made only where nothing known is the same as the target.
        assumed: What was assumed to capture the target; None where nothing was.
        counted: What ``top_k`` counts. Of networks all hits are given that are near enough, copies
            too: hits of one exact fingerprint are one network.
        unread: What capture could not read of the target; None where that is nothing. Of a target
            that was read by less than half, only hits are given.

    Example:
        >>> Query("timm:resnet50", top_k=3).filter == Filter()
        True
    """

    target: Target
    top_k: int = 10
    filter: Filter = field(default_factory=Filter)
    by: By = "design"
    parts: frozenset[Part] = frozenset()
    parts_if_new: frozenset[Part] = frozenset()
    assumed: Assumed | None = None
    counted: Counted = "hits"
    unread: Unread | None = None

    @property
    def has_verdict(self) -> bool:
        """Whether enough of the target was read to say what it is."""
        return self.unread is None or self.unread.has_verdict


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer to one query, each part with its evidence.

    An architecture asked for by name or id is in none of the lists. A part that was not asked for
    is None. Filters concern the hits alone.

    Attributes:
        hits: Nearest first, equal scores by id; of networks, equal scores of several families by
            the year of the family. By copy and by origin: the likeliest first.
        same_network: Known architectures of the same exact fingerprint.
        same_at_inference: Known architectures of another topology that deployment makes the same
            network, as `nar.graphs.fingerprints.same_at_inference` has it.
        same_design: Further known architectures of the same topology fingerprint; where there are
            none, hits of the same topology at inference, if bodies were asked for.
        novelty: How many of a hundred designs of known families have a nearer neighbour; 0 where
            anything known is the same. None where the index has no measured distances.
        resemblance: What the query is like.
        family: What the hits by design say of its family; of a composed model, the hits by family.
        trunk: What the hits by trunk say of what it stands on; None also where the model is not
            composed of decoder and encoder.
        part_of: What it is a part of, the best first.
        bodies: Which networks have its body, with other ends.
        changes: How the known networks that are most like it become it: the network that it
            resembles, or the nearest hit; the network whose body it has; of a known design, the
            network that has the design.
        coverage: How much of it stands in no known architecture; None where nobody has read them.
        shared: Which motifs the first networks among the hits share with it, and what contains it
            and has its body first, where these were asked for.
        card: What it is made of.
        compared: How many hits were compared with it, node by node, for `part_of` and `bodies`:
            the hits whose graphs could be read.
        assumed: What was assumed to capture the target; None where nothing was.
        unread: What capture could not read of the target; None where that is nothing.
        wrapped: What is known behind what deployment put around the target; None where that is
            nothing. Hits and all other parts are then of what is behind it.
        stale_since: Since when a server could not read its store, so that it answers from rows that
            may be old, in seconds since 1970; None where rows are as new as they should be.
    """

    hits: tuple[Hit, ...]
    same_network: tuple[Hit, ...] = ()
    same_at_inference: tuple[Hit, ...] = ()
    same_design: tuple[Hit, ...] = ()
    novelty: float | None = None
    resemblance: Resemblance | None = None
    family: FamilyVerdict | None = None
    trunk: FamilyVerdict | None = None
    part_of: tuple[Whole, ...] | None = None
    bodies: tuple[SharedBody, ...] | None = None
    changes: tuple[Changes, ...] | None = None
    coverage: Coverage | None = None
    shared: tuple[Explanation, ...] | None = None
    card: "DesignCard | None" = None
    compared: int | None = None
    assumed: Assumed | None = None
    unread: Unread | None = None
    wrapped: Wrapped | None = None
    stale_since: float | None = None

    @property
    def is_known(self) -> bool:
        """Whether something known is the same in one way or another, behind a wrapping or not."""
        same = self.same_network or self.same_at_inference or self.same_design
        return bool(same or self.wrapped)


def in_place(
    items: Sequence[Item | NarError], answers: Iterable[Record]
) -> list[Record | NarError]:
    """Answers in the order of their items; an item that is an error stays where it is.

    Example:
        >>> in_place(["a", NarError("bad"), "b"], ["A", "B"])
        ['A', NarError('bad'), 'B']
    """
    remaining = iter(answers)
    return [item if isinstance(item, NarError) else next(remaining) for item in items]
