"""Whom wrong answers come from: nothing is lost or found twice, and families are told apart."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmark.misses import (
    Misses,
    as_markdown,
    blame,
    kind_of,
    lost_by_family,
    lost_to_nearer,
)
from benchmark.scoring.evaluate import evaluate
from benchmark.scoring.ranking import rank
from benchmark.tasks.questions import questions


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_wrong_answers_share_what_the_query_lacks(make):
    # "a" sees "b" (wrong), "c" (right), "d" (wrong, but after the R-th) in this order.
    vectors = np.array([[1, 0], [0.99, 0.1], [0.9, 0.3], [0, 1]], dtype=np.float32)
    asked = questions(
        ["a", "b", "c", "d"], ["x", "y", "x", "z"], queries=np.array([True, False, False, False])
    )
    assert list(blame(rank(make(vectors), asked), asked)) == [(0, 1, pytest.approx(0.5))]


def test_what_is_blamed_sums_to_what_is_lacking():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(400, 8)).astype(np.float32)
    ids, families = [f"{n:03}" for n in range(400)], rng.integers(30, size=400).tolist()
    asked = questions(ids, families, apart=(np.arange(400) // 2).tolist())
    blamed = list(blame(rank(vectors, asked), asked))
    reached = evaluate(vectors, asked).scores["map@20"].mean
    assert sum(share for *_, share in blamed) == pytest.approx(1 - reached)
    assert not [row for row, item, _ in blamed if families[row] == families[item]]
    assert not [row for row, item, _ in blamed if row // 2 == item // 2]


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_wrong_answers_that_have_more_in_common_than_right_ones_are_told_apart(make):
    # "a" asks; "c" and "d" are right. What answers ranks "b" and "e", both wrong, before them.
    ranked = np.array([[1, 0], [0.99, 0.1], [0.5, 0.5], [0.4, 0.6], [0.98, 0.1]], dtype=np.float32)
    common = np.array([[1, 1], [1, 0.9], [1, 0.5], [1, 0], [0, 1]], dtype=np.float32)
    asking = np.array([True, False, False, False, False])
    asked = questions(["a", "b", "c", "d", "e"], ["x", "y", "x", "x", "z"], queries=asking)
    ranking = rank(ranked, asked)
    blamed = list(blame(ranking, asked))
    assert [item for _, item, _ in blamed] == [1, 4]
    of_first = blamed[0][2]
    assert lost_to_nearer(ranking, asked, blamed, make(common)) == pytest.approx(of_first)


@pytest.mark.parametrize(
    ("family", "other", "kind"),
    [
        ("resnet", "resnet", "same"),
        ("resnet", "wide_resnet", "parent or child"),
        ("wide_resnet", "resnet", "parent or child"),
        ("resnext", "senet", "sibling"),
        ("resnet", "bert", "other"),
    ],
)
def test_families_are_related_by_the_reviewed_lineage(family, other, kind):
    assert kind_of(family, other) == kind


@pytest.mark.slow
def test_shares_are_summed_by_family_and_shown(real):
    cards = real.cards
    lost = lost_by_family(cards, [(0, 1, 0.25), (0, 1, 0.125), (1, 0, 0.125)])
    assert sum(lost.values()) == 0.5
    text = as_markdown({"unseen": Misses(lost, 0.2)})
    assert "lacks 0.500 of a MAP@20 of 1, 0.200 of it to" in text
    assert f"| {cards[0].labels.family} | {cards[1].labels.family} |" in text
