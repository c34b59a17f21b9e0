"""Metrics: by hand, and against trec_eval on random runs."""

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RR, nDCG

from benchmark.scoring.metrics import (
    average_precision,
    family_success,
    ndcg,
    reciprocal_rank,
    success,
)
from benchmark.scoring.ranking import top_ranked

# Ranks:                  1  2  3  4
RELEVANCE = np.array([[0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=bool)
RELEVANT = np.array([3, 2, 4])
IDEAL = np.arange(4) < RELEVANT[:, None]


def test_reciprocal_rank():
    assert reciprocal_rank(RELEVANCE, 4).tolist() == [0.5, 1.0, 0.0]
    assert reciprocal_rank(RELEVANCE, 1).tolist() == [0.0, 1.0, 0.0]


def test_average_precision_divides_by_the_best_that_fits():
    at_4 = [(1 / 2 + 2 / 4) / 3, 1.0, 0.0]
    at_2 = [(1 / 2) / 2, 1.0, 0.0]
    assert average_precision(RELEVANCE, RELEVANT, 4).tolist() == pytest.approx(at_4)
    assert average_precision(RELEVANCE, RELEVANT, 2).tolist() == pytest.approx(at_2)


def test_average_precision_as_trec_eval_divides_by_all():
    by_all = average_precision(RELEVANCE, RELEVANT, 2, divide_by_all=True)
    assert by_all.tolist() == pytest.approx([(1 / 2) / 3, 1.0, 0.0])


def test_ndcg_has_an_ideal_cut_at_k():
    second, fourth = 1 / np.log2(3), 1 / np.log2(5)
    ideal_of_3 = 1 + second + 1 / 2
    expected = [(second + fourth) / ideal_of_3, 1.0, 0.0]
    assert ndcg(RELEVANCE, IDEAL, 4).tolist() == pytest.approx(expected)


def test_graded_answers_are_worth_what_they_are_against_the_best_order():
    gains, ideal = np.array([[1.0, 0.0, 3.0]]), np.array([[3.0, 2.0, 1.0]])
    best = 3 + 2 / np.log2(3) + 1 / 2
    assert ndcg(gains, ideal, 3).tolist() == pytest.approx([(1 + 3 / 2) / best])


def test_success_is_one_right_answer():
    assert success(RELEVANCE, 1).tolist() == [0.0, 1.0, 0.0]
    assert success(RELEVANCE, 2).tolist() == [1.0, 1.0, 0.0]


def test_families_count_once_however_many_of_their_members_answer():
    families = np.array([[0, 0, 0, 1], [0, 1, 0, 2], [0, 1, 2, 3]])
    relevance = np.array([[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    assert family_success(relevance, families, 2).tolist() == [1.0, 0.0, 0.0]
    assert family_success(relevance, families, 3).tolist() == [1.0, 1.0, 0.0]


def test_a_cut_beyond_the_ranking_changes_nothing():
    assert ndcg(RELEVANCE, IDEAL, 99).tolist() == ndcg(RELEVANCE, IDEAL, 4).tolist()
    assert reciprocal_rank(RELEVANCE, 99).tolist() == [0.5, 1.0, 0.0]


def test_a_query_without_relevant_items_scores_zero():
    nothing = np.zeros((1, 3), dtype=bool)
    assert average_precision(nothing, np.array([0]), 3).tolist() == [0.0]
    assert ndcg(nothing, np.zeros((1, 3)), 3).tolist() == [0.0]


def test_equal_scores_are_ranked_by_column():
    scores = np.array([[0.5, 0.9, 0.5, 0.9, 0.5], [0.0, 0.0, 0.0, 0.0, 1.0]])
    assert top_ranked(scores, 3).tolist() == [[1, 3, 0], [4, 0, 1]]
    assert top_ranked(scores, 9).tolist() == [[1, 3, 0, 2, 4], [4, 0, 1, 2, 3]]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 5, 20, 100])
def test_agreement_with_trec_eval(seed, k):
    rng = np.random.default_rng(seed)
    scores = rng.permuted(np.tile(np.arange(60.0), (12, 1)), axis=1)
    related = rng.random(scores.shape) < rng.uniform(0.05, 0.6, size=(12, 1))
    related[:, 0] = True
    ranked = np.take_along_axis(related, top_ranked(scores, k), axis=1)
    relevant = related.sum(axis=1)
    ours = {
        RR @ k: reciprocal_rank(ranked, k),
        AP @ k: average_precision(ranked, relevant, k, divide_by_all=True),
        nDCG @ k: ndcg(ranked, np.sort(related, axis=1)[:, ::-1], k),
    }
    theirs = by_trec_eval(list(ours), scores, related)
    for measure, values in ours.items():
        assert values.tolist() == pytest.approx(theirs[measure], abs=1e-9), measure


def by_trec_eval(measures, scores, related):
    qrels = {
        str(query): {str(item): int(flag) for item, flag in enumerate(row)}
        for query, row in enumerate(related)
    }
    run = {
        str(query): {str(item): float(score) for item, score in enumerate(row)}
        for query, row in enumerate(scores)
    }
    values = {measure: [0.0] * len(scores) for measure in measures}
    for metric in ir_measures.iter_calc(measures, qrels, run):
        values[metric.measure][int(metric.query_id)] = metric.value
    return values
