"""Evaluation: who asks, who answers, and what counts, on vectors drawn by hand."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmark.scoring import evaluate as evaluate_module
from benchmark.scoring.evaluate import Score, Scored, evaluate, score, summarise
from benchmark.scoring.metrics import METRICS, Metric, average_precision
from benchmark.scoring.ranking import NOBODY, Second, best_ranking, rank
from benchmark.tasks.questions import questions, with_equals
from nar.base.errors import InvalidInputError

# Two families that point the same way each, and a loner between them.
VECTORS = np.array([[1, 0], [2, 0.1], [0, 1], [0.1, 3], [1, 1]], dtype=np.float32)
FAMILIES = ["a", "a", "b", "b", "c"]
IDS = ["0", "1", "2", "3", "4"]


ASKED = questions(IDS, FAMILIES)


def test_perfect_neighbours_score_one():
    found = evaluate(VECTORS, ASKED)
    assert (found.queries, found.clusters, found.gallery) == (4, 2, 5)
    assert set(found.scores) == {name for metric in METRICS for name in metric.names()}
    assert set(found.scores.values()) == {Score(1.0, 1.0, 1.0, 1.0)}


def test_sparse_vectors_give_the_same():
    assert evaluate(csr_array(VECTORS), ASKED) == evaluate(VECTORS, ASKED)


def test_the_order_of_items_does_not_matter():
    order = [3, 0, 4, 2, 1]
    asked = questions([IDS[i] for i in order], [FAMILIES[i] for i in order])
    assert evaluate(VECTORS[order], asked) == evaluate(VECTORS, ASKED)


def test_equal_scores_are_ranked_by_id():
    same = np.ones((3, 2), dtype=np.float32)
    found = evaluate(same, questions(["0", "1", "2"], ["a", "b", "b"]))
    assert found.scores["mrr@20"].mean == 0.5  # "0" comes before the relative


def test_twins_are_neither_relevant_nor_in_the_way():
    topologies = ["t", "t", "u", "v", "w"]
    vectors = VECTORS.copy()
    vectors[3] = [1, -1]
    families = ["a", "a", "b", "b", "b"]
    found = evaluate(vectors, questions(IDS, families, apart=topologies))
    assert found.queries == 3  # the two of "a" are one design


def test_some_ask_and_some_answer():
    queries = np.array([True, False, True, False, True])
    gallery = np.array([True, True, False, True, True])
    found = evaluate(VECTORS, questions(IDS, FAMILIES, queries=queries, gallery=gallery))
    assert (found.queries, found.gallery) == (2, 4)
    assert found.scores["mrr@20"].mean == 1.0
    nobody = questions(IDS, FAMILIES, gallery=np.array([True, True, True, False, True]))
    assert nobody.asked().tolist() == [0, 1, 3]  # the gallery of item 2 holds no other b


def test_members_of_one_cluster_are_drawn_together():
    labels = ["a", "a", "b", "b", "b"]
    alone = evaluate(VECTORS, questions(IDS, labels)).scores["map@20"]
    together = evaluate(VECTORS, questions(IDS, labels, cluster=["x"] * 5)).scores["map@20"]
    assert together.mean == alone.mean
    assert together.low == pytest.approx(together.high)


def test_families_weigh_the_same_in_macro():
    vectors = np.array([[1, 0], [1, 0.1], [1, 0.2], [0, 1], [-1, 0]], dtype=np.float32)
    score = evaluate(vectors, questions(IDS, ["a", "a", "a", "b", "b"])).scores["mrr@20"]
    of_b = (1 / 4 + 1 / 1) / 2  # the first of b sees all of a first; the second sees it first
    assert score.macro == pytest.approx((1 + of_b) / 2)
    assert score.mean == pytest.approx((3 * 1 + 2 * of_b) / 5)
    assert score.low <= score.mean <= score.high


def test_chunks_agree_with_one_matrix(monkeypatch):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(700, 8)).astype(np.float32)
    families = [str(number) for number in rng.integers(0, 60, size=700)]
    ids = [f"{number:04d}" for number in range(700)]
    found = evaluate(vectors, questions(ids, families)).scores["map@20"]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = unit @ unit.T
    np.fill_diagonal(scores, -np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :-1]
    number = np.array(families)
    related = number[order] == number[:, None]
    expected = average_precision(related, related.sum(axis=1), 20)[related.any(axis=1)]
    assert found.mean == pytest.approx(expected.mean(), abs=1e-4)


def test_seeds_weigh_the_same_and_share_their_families():
    two = questions(IDS[:2], ["a", "a"])
    few = score(rank(VECTORS[:2], two), two)
    wrong = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], dtype=np.float32)
    four = questions(IDS[:4], ["a", "a", "b", "b"])
    many = score(rank(wrong, four), four)
    alone = summarise([many]).scores["mrr@20"].mean
    together = summarise([few, many])
    assert (together.seeds, together.queries, together.clusters, together.gallery) == (2, 6, 2, 2)
    assert together.scores["mrr@20"].mean == pytest.approx((1 + alone) / 2)


def test_a_ranking_names_who_answers_and_nobody_after_them():
    asked = questions(IDS, FAMILIES, queries=np.array([True, False, False, True, False]))
    ranking = rank(VECTORS, asked)
    assert ranking.queries.tolist() == [0, 3]
    assert ranking.items.tolist() == [[1, 4, 3, 2, NOBODY], [2, 4, 1, 0, NOBODY]]
    assert rank(VECTORS, asked, depth=2).items.tolist() == [[1, 4], [2, 4]]


def test_a_new_metric_is_a_function_and_a_row(monkeypatch):
    def worth(judged, k):
        return judged.gains[:, :k].sum(axis=1).astype(float)

    monkeypatch.setattr(evaluate_module, "METRICS", (*METRICS, Metric("worth", worth, (20,))))
    scores = evaluate(VECTORS, ASKED).scores
    assert scores["worth@20"].mean == 1.0
    assert set(scores) >= {name for metric in METRICS for name in metric.names()}


def test_what_is_relevant_may_change_after_the_ranking():
    ranking = rank(VECTORS, ASKED)
    other = questions(IDS, ["a", "b", "a", "b", "c"])
    assert score(ranking, other).values["mrr@20"].tolist() == [1 / 4, 1 / 3, 1 / 4, 1 / 3]


def test_a_ranking_of_other_questions_is_refused():
    ranking = rank(VECTORS, ASKED)
    with pytest.raises(InvalidInputError, match="answers to these questions"):
        score(ranking, questions([*IDS[:4], "9"], FAMILIES))


def test_it_goes_into_json():
    told = json.loads(json.dumps(evaluate(VECTORS, ASKED).to_dict()))
    assert told["scores"]["map@20"]["mean"] == 1.0


@pytest.mark.parametrize(
    ("vectors", "families", "ids", "field"),
    [
        (VECTORS, ["a"], IDS, "labels"),
        (VECTORS[:2], FAMILIES, IDS, "embeddings"),
        (VECTORS, FAMILIES, ["0"] * 5, "ids"),
        (VECTORS, list("abcde"), IDS, "worth"),
        (VECTORS * np.nan, FAMILIES, IDS, "embeddings"),
    ],
)
def test_what_makes_no_table_is_refused(vectors, families, ids, field):
    with pytest.raises(InvalidInputError) as caught:
        evaluate(vectors, questions(ids, families))
    assert caught.value.field == field


def test_answers_may_be_worth_more_or_less():
    worth = csr_array(np.array([[0, 0, 2, 1, 0]], dtype=np.float32))
    asks = np.array([True, False, False, False, False])
    asked = questions(IDS, worth, cluster=FAMILIES, queries=asks)
    vectors = np.array([[1, 0], [0, 1], [1, 0.2], [1, 0.1], [0, -1]], dtype=np.float32)
    reached = evaluate(vectors, asked).scores
    assert reached["map@20"].mean == 1.0
    assert reached["ndcg@20"].mean == pytest.approx((1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3)))


def test_an_answer_that_equals_a_right_one_is_right():
    worth = csr_array(np.array([[0, 3, 1, 0, 0]], dtype=np.float32))
    assert with_equals(worth, np.array([0, 1, 2, 1, 2])).toarray().tolist() == [[0, 3, 1, 3, 1]]


def test_whole_seeds_are_drawn_as_well():
    right, wrong = (
        Scored(("q",), ("a",), 5, {"map@20": np.array([value])}) for value in (1.0, 0.0)
    )
    assert summarise([right, right]).scores["map@20"].low == 1.0
    both = summarise([right, wrong]).scores["map@20"]
    assert (both.mean, both.low, both.high) == (0.5, 0.0, 1.0)


def test_the_ceiling_is_one_where_all_graphs_differ():
    perfect = score(best_ranking(ASKED, np.arange(5)), ASKED)
    assert perfect.values["map@20"].tolist() == [1.0] * 4


def test_equal_graphs_that_are_called_differently_cannot_all_be_answered():
    # Items 0 and 2 are one graph: whatever is first for the one is first for the other.
    perfect = score(best_ranking(ASKED, np.array([0, 1, 0, 2, 3])), ASKED)
    assert perfect.values["mrr@20"].tolist() == [1.0, 1.0, 0.5, 0.5]


def test_a_second_stage_ranks_the_first_answers_once_more():
    vectors = np.array([[1, 0], [1, 0.1], [1, 0.2], [1, 0.3]], dtype=np.float32)
    asked = questions("abcd", "xxyy", queries=np.array([True, False, False, False]))
    seen = []

    def turned(query, items, scores):
        seen.append((query, items.tolist(), [round(float(score), 2) for score in scores]))
        return items[::-1]

    again = rank(vectors, asked, second=Second(2, turned))
    assert seen == [(0, [1, 2], [1.0, 0.98])]
    assert again.items.tolist() == [[2, 1, 3, NOBODY]]
    plain = rank(vectors, asked)
    assert again.nearest.tolist() == plain.nearest.tolist()  # novelty asks the first stage
