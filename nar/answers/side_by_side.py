"""What two architectures share and where they differ: operators, motifs, and node by node."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff

from nar.answers.bodies import Dissected, differing
from nar.answers.difference import MotifDifference
from nar.answers.explanation import motif_difference
from nar.answers.roles import Role
from nar.graphs.architecture import Architecture
from nar.graphs.fingerprints import Sameness, sameness
from nar.graphs.graph import ComputationalGraph, operand_lists
from nar.graphs.ops import ATTRIBUTES, op_name
from nar.motifs.partition import partition

# Share of the nodes that must be alike before a listing of the rest says anything.
_NEARLY_EQUAL = 0.6
# Matching lines takes the product of both lengths where few are alike.
_MAX_LISTED_NODES = 5_000
_CONTEXT_LINES = 2


@dataclass(frozen=True, slots=True)
class OperatorCounts:
    """How often an operator occurs in each of two architectures."""

    operator: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Two architectures side by side.

    Attributes:
        first: One of them.
        second: The other.
        operators: Every operator of either, the largest difference first.
        motifs: Which they share, and which one of them has alone.
        alike: Share of the nodes that have a counterpart with the same operator, attributes and
            operands at the same distances, 0 to 1.
        differs: Which of embedding, body and head are not the same at inference; None where one
            has no body to speak of.
        listing: Unified diff of the nodes; empty where too few are alike or too many to list.
    """

    first: Architecture
    second: Architecture
    operators: tuple[OperatorCounts, ...]
    motifs: MotifDifference
    alike: float
    differs: tuple[Role, ...] | None
    listing: tuple[str, ...]

    @property
    def sameness(self) -> Sameness | None:
        """What both have in common, as `nar.graphs.fingerprints.sameness` has it."""
        return sameness(self.first, self.second)


def difference(first: Architecture, second: Architecture) -> Difference:
    """Compare two architectures as they are written."""
    lines = (node_lines(first.graph), node_lines(second.graph))
    alike = likeness(*lines)
    return Difference(
        first=first,
        second=second,
        operators=operator_counts(first.graph, second.graph),
        motifs=motif_difference(partition(first.graph), partition(second.graph)),
        alike=alike,
        differs=differing(Dissected(first), Dissected(second)),
        listing=_listing(first, second, *lines) if alike >= _NEARLY_EQUAL else (),
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


def likeness(first: Sequence[str], second: Sequence[str]) -> float:
    """Share of the lines of the longer of two lists that the other has as well, 0 to 1."""
    common = (Counter(first) & Counter(second)).total()
    return common / max(len(first), len(second), 1)


def _listing(
    first: Architecture, second: Architecture, left: Sequence[str], right: Sequence[str]
) -> tuple[str, ...]:
    if max(len(left), len(right)) > _MAX_LISTED_NODES:
        return ()
    names = (first.labels.name, second.labels.name)
    return tuple(unified_diff(left, right, *names, n=_CONTEXT_LINES, lineterm=""))


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
