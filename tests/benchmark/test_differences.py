"""Differences between methods: query by query, seeds alike, families drawn whole."""

import numpy as np
import pytest

from benchmark.scoring.evaluate import Scored, difference
from nar.base.errors import InvalidInputError


def scored(values, queries="abcd", clusters="xxyy"):
    return Scored(tuple(queries), tuple(clusters), 9, {"map@20": np.array(values, dtype=float)})


def test_the_mean_is_that_of_the_pairs():
    apart = difference([scored([1, 0.5, 0.5, 0])], [scored([0.5, 0.5, 0, 0.2])], "map@20")
    assert apart.mean == pytest.approx((0.5 + 0 + 0.5 - 0.2) / 4)
    # Each of the two families alone is an end: 0.25 and 0.15.
    assert (apart.low, apart.high) == pytest.approx((0.15, 0.25))
    assert not apart.is_none


def test_turned_around_it_is_the_negative():
    one, other = [scored([1, 0.5, 0.5, 0])], [scored([0.5, 0.5, 0, 0.2])]
    there, back = difference(one, other, "map@20"), difference(other, one, "map@20")
    assert back.mean == pytest.approx(-there.mean)
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))


def test_seeds_weigh_the_same_however_many_queries_they_drew():
    one = [scored([1, 1, 1, 1]), scored([0], "a", "x")]
    other = [scored([0, 0, 0, 0]), scored([0], "a", "x")]
    assert difference(one, other, "map@20").mean == pytest.approx(0.5)


def test_the_order_of_queries_does_not_matter():
    one, other = scored([1, 0.5, 0.5, 0]), scored([0.5, 0.5, 0, 0.2])
    turned = scored([0.2, 0, 0.5, 0.5], "dcba", "yyxx")
    assert difference([one], [turned], "map@20") == difference([one], [other], "map@20")


def test_pairs_know_more_than_two_means_do():
    """Families differ a lot, the methods by the same little in each: the difference is sure."""
    hard = np.array([0.1, 0.2, 0.8, 0.9])
    apart = difference([scored(hard + 0.01)], [scored(hard)], "map@20")
    assert apart.low == pytest.approx(0.01) == apart.high


def test_families_that_disagree_leave_none():
    apart = difference([scored([1, 1, 0, 0])], [scored([0, 0, 1, 1])], "map@20")
    assert (apart.mean, apart.low, apart.high) == (0, -1, 1)
    assert apart.is_none


def test_the_same_method_is_no_different():
    same = [scored([1, 0.5, 0.5, 0])]
    assert difference(same, same, "map@20").is_none


@pytest.mark.parametrize(
    ("other", "field", "said"),
    [
        ([scored([1, 1, 1, 1], "abce")], "queries", "4 and 4, d in one only"),
        ([scored([1, 1, 1], "abc", "xxy")], "queries", "4 and 3, d in one only"),
        ([scored([1, 1, 1, 1, 1], "abcda", "xxyyx")], "queries", "repeated"),
        ([scored([1, 1, 1, 1])] * 2, "seeds", "1, 2"),
    ],
)
def test_other_queries_are_refused(other, field, said):
    with pytest.raises(InvalidInputError, match=said) as caught:
        difference([scored([1, 1, 1, 1])], other, "map@20")
    assert caught.value.field == field
