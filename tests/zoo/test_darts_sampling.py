"""Classes: centres apart, members at the distance asked for, always the same ones."""

from itertools import combinations

import pytest

from nar.base.errors import InvalidInputError
from nar.zoo.sources.darts.genotypes import GENOTYPE_COUNT
from nar.zoo.sources.darts.sampling import (
    CENTRE_DISTANCE,
    MAX_EDITS,
    edit_distance,
    sample_centres,
    sample_classes,
    spread,
)


def test_centres_are_apart_and_fixed_by_the_seed():
    centres = sample_centres(seed=3)
    assert centres == sample_centres(seed=3)
    assert centres != sample_centres(seed=4)
    distances = [edit_distance(one, other) for one, other in combinations(centres, 2)]
    assert len(distances) == 45
    assert min(distances) >= CENTRE_DISTANCE


@pytest.mark.parametrize("distance", [1, 4, MAX_EDITS])
def test_members_lie_exactly_so_far_from_their_centre(distance):
    centres = sample_centres(seed=0)
    for member in sample_classes(60, distance=distance):
        assert edit_distance(member.genotype, centres[member.label]) == distance


def test_classes_take_turns_and_members_differ():
    members = sample_classes(35)
    assert [member.label for member in members] == [*range(10)] * 3 + [*range(5)]
    assert len({member.genotype for member in members}) == 35


def test_a_small_sample_begins_a_large_one():
    assert sample_classes(12, seed=1) == sample_classes(30, seed=1)[:12]


def test_a_class_has_120_members_one_edit_away_and_no_more():
    with pytest.raises(InvalidInputError, match="more than the 120 members"):
        sample_classes(1_201, distance=1)


@pytest.mark.parametrize("distance", [0, MAX_EDITS + 1])
def test_distances_that_cannot_be_promised_are_refused(distance):
    with pytest.raises(InvalidInputError, match="wanted 1 to 16"):
        sample_classes(10, distance=distance)


@pytest.mark.slow
def test_a_spread_of_the_space_repeats_nothing_and_is_the_same_in_parts():
    genotypes = spread(0, 2_000)
    assert len(set(genotypes)) == 2_000
    assert genotypes[700:900] == spread(700, 900)
    thirds = [genotype.index * 3 // GENOTYPE_COUNT for genotype in genotypes]
    assert all(abs(thirds.count(third) - 2_000 / 3) < 3 for third in range(3))
