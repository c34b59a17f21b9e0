"""The area under the ROC curve, its pooling, and who is asked."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import mannwhitneyu

from nar.evaluation.benchmark.datasets import REAL, load_dataset
from nar.evaluation.benchmark.frozen import read, roles_of
from nar.evaluation.novelty import as_markdown, asked_of, distances, novelty_roles
from nar.evaluation.scoring.roc import Asked, area, pooled


def test_the_area_is_that_of_mann_and_whitney():
    rng = np.random.default_rng(0)
    farther = np.round(rng.normal(size=200), 1)  # ties
    is_new = rng.random(200) < 0.3
    u = mannwhitneyu(farther[is_new], farther[~is_new]).statistic
    wanted = u / (is_new.sum() * (~is_new).sum())
    assert area(farther, is_new, np.ones(200)) == pytest.approx(wanted)


def test_a_weight_of_two_is_the_same_row_twice():
    farther, is_new = np.array([0.1, 0.2, 0.3]), np.array([False, True, False])
    twice = area(np.append(farther, 0.1), np.append(is_new, False), np.ones(4))
    assert area(farther, is_new, np.array([2.0, 1, 1])) == pytest.approx(twice)


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_the_distance_is_that_to_the_nearest_learned_row(make):
    vectors = np.array([[1, 0], [0, 2], [3, 4], [4, 3]], dtype=np.float32)
    nearest = distances(make(vectors), np.array([2, 3]), np.array([0, 1]))
    assert nearest == pytest.approx([0.2, 0.2])


def test_seeds_are_pooled_and_families_drawn_whole():
    asked = Asked(np.arange(4), np.array([True, True, False, False]), ("a", "a", "b", "c"))
    perfect = np.array([0.9, 0.8, 0.1, 0.2])
    both = pooled("size", [(perfect, asked), (perfect[::-1].copy(), asked)])
    assert (both.mean, both.new, both.known) == (0.5, 4, 4)
    text = as_markdown([both])
    assert "| size only | 0.500 |" in text
    assert "--results results" in text


def test_families_held_out_and_designs_held_out_are_told_apart(tmp_path):
    cards = load_dataset(REAL, tmp_path).cards
    table = read()
    unseen = roles_of(table, "unseen", 0)
    roles = novelty_roles(unseen, roles_of(table, "distinct", 0))
    asked = asked_of(cards, roles)
    learned = [card for card in cards if roles[card.labels.name] == "train"]
    families = {card.labels.family for card in learned}
    designs = {card.topology for card in learned}
    for row, is_new, family in zip(asked.rows, asked.is_new, asked.families, strict=True):
        assert (family in families) != is_new
        assert cards[row].topology not in designs
    assert 0.1 < asked.is_new.mean() < 0.9
