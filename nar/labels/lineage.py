"""Which design was made from which, and how relevant that makes one family to another."""

from dataclasses import dataclass
from functools import cache

from nar.files import package_yaml

SAME_FAMILY = 2
PARENT_AND_CHILD = 1
UNRELATED = 0


@dataclass(frozen=True, slots=True)
class Lineage:
    """One design that was made from another.

    Attributes:
        parent: Family that was there before.
        child: Family that starts from it.
        citation: The paper that introduced the child: ``arXiv:1611.05431``, or venue and year.
    """

    parent: str
    child: str
    citation: str


@cache
def lineage() -> tuple[Lineage, ...]:
    """Every edge of the reviewed table, in its order."""
    return tuple(Lineage(*row) for row in package_yaml("labels", "lineage.yaml"))


def relevance_grade(family_a: str, family_b: str) -> int:
    """How relevant architectures of one family are to a query of another; symmetric.

    Only a direct edge counts: children of one parent (ResNeXt and DenseNet, of ResNet) may have as
    little in common as any two designs, and ResNet has dozens.

    Returns:
        2 for the same family, 1 for parent and child, 0 otherwise.
    """
    if family_a == family_b:
        return SAME_FAMILY
    return PARENT_AND_CHILD if (family_a, family_b) in _linked() else UNRELATED


@cache
def _linked() -> frozenset[tuple[str, str]]:
    pairs = [(edge.parent, edge.child) for edge in lineage()]
    return frozenset([*pairs, *((child, parent) for parent, child in pairs)])
