"""Twins: groups across libraries, each of names that their sources resolve."""

import re
from collections import Counter

import pytest

from nar.base.errors import MissingLibraryError
from nar.labels.lineage import twins
from nar.own import resolve
from nar.zoo.sources import source_names

GROUPS = 60


def source_of(name):
    return name.partition(":")[0]


def test_there_are_enough_groups():
    assert len(twins()) >= GROUPS


@pytest.mark.parametrize("field", ["id", "design"])
def test_every_group_is_told_apart_by(field):
    counts = Counter(getattr(group, field) for group in twins())
    assert [value for value, count in counts.items() if count > 1] == []


def test_no_architecture_is_in_two_groups():
    counts = Counter(name for group in twins() for name in group.implementations)
    assert [name for name, count in counts.items() if count > 1] == []


def test_a_group_spans_libraries():
    assert [
        group.id for group in twins() if len({source_of(name) for name in group.members}) < 2
    ] == []


def test_ids_and_citations_are_well_formed():
    assert all(re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", group.id) for group in twins())
    assert all(re.fullmatch(r"arXiv:\d{4}\.\d{4,5}", group.citation) for group in twins())


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", sorted({source_of(name) for group in twins() for name in group.implementations})
)
def test_every_member_is_known_to_its_source(source):
    if source not in source_names():
        pytest.skip(f"{source} is no source")
    every = (name for group in twins() for name in group.implementations)
    names = [name for name in every if source_of(name) == source]
    try:
        resolved = [resolve(name).labels.name for name in names]
    except MissingLibraryError as error:
        pytest.skip(str(error))
    assert resolved == names
