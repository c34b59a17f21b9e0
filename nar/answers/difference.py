"""How two models differ: what is the same, operators, motifs, and node by node.

Clients use these records too: no library of an index or of learning is imported.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from nar.answers.bodies import Dissected, differing
from nar.answers.comparison import edits_between
from nar.answers.edits import Edits
from nar.answers.roles import Role
from nar.answers.words import (
    TOO_LITTLE_TEXT,
    assumed_texts,
    changes_text,
    difference_text,
    doubts_texts,
    shared_text,
    unread_texts,
)
from nar.graphs.architecture import Architecture
from nar.graphs.assumed import Assumed, Unread
from nar.graphs.fingerprints import DesignChange, Network, Sameness, design_change, sameness
from nar.graphs.graph import ComputationalGraph, operand_lists
from nar.graphs.normal_form import normal_form
from nar.graphs.ops import ATTRIBUTES, op_name

if TYPE_CHECKING:
    from nar.index.rows import IndexEntry
    from nar.motifs.partition import MotifPartition

# Chosen: share of the nodes that must be alike for a listing; below it most lines of a diff stand
# on one side only, and say nothing.
_NEARLY_EQUAL: Final = 0.6
# Matching lines takes the product of both lengths where few are alike: seconds at this many.
_MAX_LISTED_NODES: Final = 5_000
_NO_EDITS: Final = Edits()
# Chosen: lines around a change, as few as still show where it stands.
_CONTEXT_LINES: Final = 2


@dataclass(frozen=True, slots=True)
class MotifTimes:
    """How often a motif type occurs in one architecture.

    Attributes:
        code: The motif's fingerprint, 16 hex digits.
        operators: Its operators, in canonical order.
        times: Occurrences.
    """

    code: str
    operators: tuple[str, ...]
    times: int


@dataclass(frozen=True, slots=True)
class MotifCounts:
    """How often a motif type occurs in each of two architectures.

    Attributes:
        code: The motif's fingerprint, 16 hex digits.
        operators: Its operators, in canonical order.
        first: Occurrences in the first.
        second: Occurrences in the second.
    """

    code: str
    operators: tuple[str, ...]
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class MotifDifference:
    """The motifs of two architectures side by side.

    Attributes:
        shared: Motif types that both have, the largest number of nodes first.
        other: Motif types that only one has, in the same order.
        at_inference: Whether normal forms were compared.
        edits: How the first becomes the second, operator by operator; none where graphs are not
            known.
    """

    shared: tuple[MotifCounts, ...]
    other: tuple[MotifCounts, ...]
    at_inference: bool = False
    edits: Edits = _NO_EDITS

    @property
    def in_shared(self) -> tuple[float, float]:
        """For each architecture, the share of its operators that have a counterpart, 0 to 1."""
        return self.edits.paired

    def turned(self) -> "MotifDifference":
        """The same with the second as the first.

        Example:
            >>> block = MotifCounts("0" * 16, ("conv",), 3, 1)
            >>> MotifDifference((block,), ()).turned().shared[0].first
            1
        """

        def swapped(counts: Sequence[MotifCounts]) -> tuple[MotifCounts, ...]:
            return tuple(replace(each, first=each.second, second=each.first) for each in counts)

        shared, other = swapped(self.shared), swapped(self.other)
        return replace(self, shared=shared, other=other, edits=self.edits.turned())


def compare_motifs(
    first: Sequence[MotifTimes],
    second: Sequence[MotifTimes],
    *,
    edits: Edits = _NO_EDITS,
    at_inference: bool = False,
) -> MotifDifference:
    """Put the motifs of two architectures side by side.

    Args:
        first: Motif types of the first.
        second: Motif types of the second.
        edits: How the first becomes the second.
        at_inference: Whether they are motifs of normal forms.

    Example:
        >>> block = MotifTimes("0" * 16, ("conv", "relu"), 3)
        >>> stem = MotifTimes("1" * 16, ("input",), 1)
        >>> compared = compare_motifs([stem, block], [block])
        >>> [(each.first, each.second) for each in compared.shared + compared.other]
        [(3, 3), (1, 0)]
    """
    left, right = ({each.code: each for each in motifs} for motifs in (first, second))
    counted = [
        MotifCounts(
            code,
            (left.get(code) or right[code]).operators,
            *(side[code].times if code in side else 0 for side in (left, right)),
        )
        for code in left | right
    ]
    counted.sort(key=lambda each: (-(each.first + each.second) * len(each.operators), each.code))
    return MotifDifference(
        shared=tuple(each for each in counted if each.first and each.second),
        other=tuple(each for each in counted if not (each.first and each.second)),
        at_inference=at_inference,
        edits=edits,
    )


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a network is near a query.

    Attributes:
        name: Name of the network.
        motifs: Motifs side by side; the query is the first.
        differs: Which parts differ at inference; None where `nar.graphs.fingerprints.sameness` says
            more, or where one has too small a body.
    """

    name: str
    motifs: MotifDifference
    differs: tuple[Role, ...] | None


@dataclass(frozen=True, slots=True)
class Changes:
    """How a known network becomes a query.

    Attributes:
        name: Name of the network.
        edits: What changes.
        design: In what both differ where they have one design; None where they have not.
    """

    name: str
    edits: Edits
    design: DesignChange | None = None


class Cut:
    """A network that is compared with several others: it is cut into motifs once.

    Args:
        network: The network.
    """

    def __init__(self, network: Network) -> None:
        self.network = network

    @cached_property
    def written(self) -> "MotifPartition":
        """The motifs of the graph as it is written."""
        return _partition(self.network.graph)

    @cached_property
    def deployed(self) -> "MotifPartition":
        """The motifs of its normal form."""
        return _partition(normal_form(self.network.graph))


def motif_difference(first: Cut, second: Cut) -> MotifDifference:
    """Compare the motifs of two networks, or of their normal forms where only these are equal."""
    edits = edits_between(first.network.graph, second.network.graph)
    at_inference = sameness(first.network, second.network) == "inference"
    cuts = (cut.deployed if at_inference else cut.written for cut in (first, second))
    one, other = map(motif_times, cuts)
    return compare_motifs(one, other, edits=edits, at_inference=at_inference)


def motif_times(cut: "MotifPartition") -> tuple[MotifTimes, ...]:
    """The motif types of a graph, in the order of first occurrence."""
    return tuple(
        MotifTimes(f"{code:016x}", tuple(cut.operators(code)), times)
        for code, times in cut.counts().items()
    )


def _partition(graph: ComputationalGraph) -> "MotifPartition":
    # Most answers explain nothing, and a client never does.
    from nar.motifs.partition import partition

    return partition(graph)


@dataclass(frozen=True, slots=True)
class OperatorCounts:
    """How often an operator occurs in each of two architectures."""

    operator: str
    first: int
    second: int


Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Difference:
    """Two architectures side by side.

    Attributes:
        first: The first architecture.
        second: The second architecture.
        operators: Every operator of either, the largest difference first.
        motifs: Motif types that both have, motif types that only one has, and how the first
            becomes the second.
        differs: Which of embedding, body and head are not the same at inference; None where one
            architecture has too small a body.
        assumed: What was assumed to capture each; None where nothing was.
        unread: What capture could not read of each; None where that is nothing.
    """

    first: Architecture
    second: Architecture
    operators: tuple[OperatorCounts, ...]
    motifs: MotifDifference
    differs: tuple[Role, ...] | None
    assumed: tuple[Assumed | None, Assumed | None] = (None, None)
    unread: tuple[Unread | None, Unread | None] = (None, None)

    @property
    def alike(self) -> float:
        """Share of the operators of the larger graph that have a counterpart, 0 to 1."""
        return min(self.motifs.in_shared)

    @property
    def sameness(self) -> Sameness | None:
        """What both have in common, as `nar.graphs.fingerprints.sameness` has it."""
        return sameness(self.first, self.second)

    @property
    def verdict(self) -> str:
        """In what way they are the same, or in which parts they differ."""
        if any(each is not None and not each.has_verdict for each in self.unread):
            return TOO_LITTLE_TEXT
        same = self.sameness
        graphs = self.first.graph, self.second.graph
        change = design_change(*graphs) if same == "design" else None
        return difference_text(same, change, self.differs, self.alike)

    @property
    def shared(self) -> str:
        """A sentence: how much of each has a counterpart in the other."""
        return shared_text(self._names, self.motifs.in_shared)

    @property
    def changes(self) -> str:
        """A sentence: how the first becomes the second."""
        return changes_text(self._names, self.motifs.edits)

    @property
    def _names(self) -> tuple[str, str]:
        return self.first.labels.name, self.second.labels.name

    @property
    def doubts(self) -> tuple[str, ...]:
        """Sentences: why either may be another model than its owner's, or is not the whole."""
        return (
            *self._of_each(doubts_texts, self.assumed),
            *self._of_each(unread_texts, self.unread),
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Sentences: what was assumed of each."""
        return self._of_each(assumed_texts, self.assumed)

    def _of_each(
        self, say: Callable[[Record], Iterable[str]], records: tuple[Record, Record]
    ) -> tuple[str, ...]:
        sides = zip((self.first, self.second), records, strict=True)
        return tuple(f"{side.labels.name}: {text}" for side, each in sides for text in say(each))

    @property
    def listing(self) -> tuple[str, ...]:
        """Unified diff of the nodes; empty where too few are alike or too many to list.

        It is made when it is read: thousands of nodes take seconds.
        """
        left, right = node_lines(self.first.graph), node_lines(self.second.graph)
        if self.alike < _NEARLY_EQUAL or max(len(left), len(right)) > _MAX_LISTED_NODES:
            return ()
        return tuple(unified_diff(left, right, *self._names, n=_CONTEXT_LINES, lineterm=""))


_ROWS: Final[Mapping[Sameness | None, str]] = {
    "network": "They are the same network.",
    "design": "They are one design; their sizes differ.",
    "inference": "They are the same network once they are deployed.",
    None: "They are different designs.",
}


@dataclass(frozen=True, slots=True)
class RowsCompared:
    """Two architectures of which at least one is known by its row in an index alone.

    Attributes:
        first: What the index has on the first.
        second: The same of the second.
        motifs: Their motifs, by a server that has their graphs; None where nobody has.
        why_not: Why motifs are not compared, and the way out; empty where they are.
    """

    first: "IndexEntry"
    second: "IndexEntry"
    motifs: MotifDifference | None
    why_not: str = ""

    @property
    def verdict(self) -> str:
        """In what way they are the same."""
        return _ROWS[sameness(self.first, self.second)]

    @property
    def texts(self) -> tuple[str, ...]:
        """How the first becomes the second, and how much they share; or why that is not known."""
        names = self.first.name, self.second.name
        if self.motifs is None:
            return (self.why_not,)
        changes = changes_text(names, self.motifs.edits)
        return changes, shared_text(names, self.motifs.in_shared)


def difference(first: Architecture, second: Architecture) -> Difference:
    """Compare two architectures, node by node and by their motifs, as they are written."""
    one, other = (motif_times(_partition(side.graph)) for side in (first, second))
    return Difference(
        first=first,
        second=second,
        operators=operator_counts(first.graph, second.graph),
        motifs=compare_motifs(one, other, edits=edits_between(first.graph, second.graph)),
        differs=differing(Dissected(first), Dissected(second)),
    )


def node_lines(graph: ComputationalGraph) -> list[str]:
    """One line a node; operands are named by how many nodes back they stand, not by number."""
    rows = zip(
        graph.op_ids.tolist(),
        graph.attributes.tolist(),
        operand_lists(graph.nodes, graph.edge_index),
        strict=True,
    )
    return [_line(node, *row) for node, row in enumerate(rows)]


def _line(node: int, identifier: int, values: list[int], operands: list[int]) -> str:
    reads = ", ".join(str(source - node) for source in operands)
    named = zip(ATTRIBUTES, values, strict=True)
    attributes = " ".join(f"{name}={value}" for name, value in named if value)
    return f"{op_name(identifier)}({reads})  {attributes}".rstrip()


def operator_counts(
    first: ComputationalGraph, second: ComputationalGraph
) -> tuple[OperatorCounts, ...]:
    """Every operator of either graph, the largest difference first."""
    left, right = (Counter(graph.op_ids.tolist()) for graph in (first, second))
    counts = (
        OperatorCounts(op_name(identifier), left[identifier], right[identifier])
        for identifier in left | right
    )
    return tuple(
        sorted(
            counts,
            key=lambda count: (
                -abs(count.first - count.second),
                -count.first - count.second,
                count.operator,
            ),
        )
    )
