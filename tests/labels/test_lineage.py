"""Lineage: a graph without cycles over families that exist, and grades of relevance from it."""

import re
from collections import Counter
from graphlib import TopologicalSorter

import pytest

from nar.labels.families import definings, entrypoints
from nar.labels.lineage import lineage, relevance_grade

CITATION = re.compile(r"arXiv:\d{4}\.\d{4,5}|[A-Z][A-Za-z ]+ (19|20)\d\d")


@pytest.mark.slow
def test_every_family_exists(defining_names):
    tables = [*definings().values(), *entrypoints().values()]
    known = {family for rows in tables for family in rows.values()}
    known = known.union(*defining_names.values())
    named = {family for edge in lineage() for family in (edge.parent, edge.child)}
    assert named - known == set()


def test_nothing_is_its_own_ancestor():
    parents = {}
    for edge in lineage():
        parents.setdefault(edge.child, set()).add(edge.parent)
    TopologicalSorter(parents).prepare()


def test_no_edge_is_there_twice():
    counts = Counter((edge.parent, edge.child) for edge in lineage())
    assert [pair for pair, count in counts.items() if count > 1] == []


def test_every_edge_has_its_citation():
    assert [edge for edge in lineage() if not CITATION.fullmatch(edge.citation)] == []


def test_there_are_enough_edges():
    assert len(lineage()) >= 120


@pytest.mark.parametrize(
    ("one", "other", "grade"),
    [
        ("resnet", "resnet", 3),
        ("resnet", "resnext", 2),
        ("resnext", "resnet", 2),
        ("resnext", "densenet", 1),  # children of one parent
        ("vgg", "resnext", 0),  # grandchild
        ("bert", "resnet", 0),
        ("no_such_family", "no_such_family", 3),
    ],
)
def test_a_direct_edge_counts_more_than_a_common_parent(one, other, grade):
    assert relevance_grade(one, other) == grade
