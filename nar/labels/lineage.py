"""Which design was made from which, and which are one design, implemented in several libraries.

Lineage says how relevant one family is to another, and how old it is; twins are one published
design.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Final

from nar.base.workspace import package_yaml

# Chosen: the grades of relevance, as the judgments of searches usually have them, from 0 to 3.
SAME_FAMILY = 3
PARENT_AND_CHILD = 2  # one design was made from the other
SIBLINGS = 1  # both were made from one parent: they may differ much
UNRELATED = 0  # as far as the table says
# After every family whose year is known.
NO_YEAR: Final = 9_999
_ARXIV: Final = re.compile(r"arXiv:(\d\d)\d\d\.")
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")


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

    Returns:
        3 for the same family, 2 for parent and child, 1 for children of one parent, 0 otherwise.
        Siblings count little: ResNeXt and DenseNet are both made from ResNet.

    Example:
        >>> relevance_grade("resnet", "resnext")
        2
    """
    if family_a == family_b:
        return SAME_FAMILY
    if family_a in parents(family_b) or family_b in parents(family_a):
        return PARENT_AND_CHILD
    return UNRELATED if parents(family_a).isdisjoint(parents(family_b)) else SIBLINGS


def parents(family: str) -> frozenset[str]:
    """The families that a family was made from, as far as the table says.

    Example:
        >>> sorted(parents("inception_resnet"))
        ['inception_v3', 'resnet']
    """
    return _edges()[0].get(family, frozenset())


def relatives(family: str) -> frozenset[str]:
    """The parents and children of a family."""
    of_child, of_parent = _edges()
    return of_child.get(family, frozenset()) | of_parent.get(family, frozenset())


def children(family: str) -> frozenset[str]:
    """The families that were made from a family, as far as the table says.

    Example:
        >>> "resnext" in children("resnet")
        True
    """
    return _edges()[1].get(family, frozenset())


def year_of(family: str) -> int:
    """In which year a family was published: of the paper that the table cites for it.

    Example:
        >>> [year_of(family) for family in ("resnet", "resnext", "no_such_family")]
        [2015, 2016, 9999]
    """
    return _years().get(family, NO_YEAR)


@cache
def _years() -> dict[str, int]:
    cited: defaultdict[str, int] = defaultdict(lambda: NO_YEAR)
    for edge in lineage():
        cited[edge.child] = min(cited[edge.child], _year_in(edge.citation))
    return {**cited, **package_yaml("labels", "years.yaml")}


def _year_in(citation: str) -> int:
    """The year of ``arXiv:1611.05431``, or of ``CVPR 2020``."""
    on_arxiv = _ARXIV.match(citation)
    if on_arxiv:
        return 2000 + int(on_arxiv[1])
    said = _YEAR.search(citation)
    return int(said[0]) if said else NO_YEAR


@cache
def _edges() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Parents by child, and children by parent."""
    of_child: defaultdict[str, set[str]] = defaultdict(set)
    of_parent: defaultdict[str, set[str]] = defaultdict(set)
    for edge in lineage():
        of_child[edge.child].add(edge.parent)
        of_parent[edge.parent].add(edge.child)
    first, second = (
        {family: frozenset(others) for family, others in table.items()}
        for table in (of_child, of_parent)
    )
    return first, second


@dataclass(frozen=True, slots=True)
class TwinGroup:
    """Implementations of one published network.

    Attributes:
        id: Unique, lower snake case.
        design: What people call it, e.g. ``ResNet-50``.
        members: Names of architectures, from two sources or more: ``timm:resnet50``. The benchmark
            asks for them, and they identify the group.
        citation: The paper that describes this network: ``arXiv:1512.03385``, or venue and year.
        note: Where the implementations are known to differ; empty if no difference is known.
        also: Implementations that were found later: the benchmark accepts them as answers, and
            does not ask for them.
    """

    id: str
    design: str
    members: tuple[str, ...]
    citation: str
    note: str
    also: tuple[str, ...] = ()

    @property
    def implementations(self) -> tuple[str, ...]:
        """The names of all implementations."""
        return self.members + self.also


@cache
def twins() -> tuple[TwinGroup, ...]:
    """Every group of the reviewed table, in its order."""
    return tuple(
        TwinGroup(
            group["id"],
            group["design"],
            tuple(group["members"]),
            group["citation"],
            group.get("note", ""),
            tuple(group.get("also", ())),
        )
        for group in package_yaml("labels", "twins.yaml")
    )
