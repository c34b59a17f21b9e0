"""The area under the ROC curve, its pooling, and who is asked."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.cells import Cell, cell_path, run_on, write_cell
from benchmark.novelty import PROTOCOL, NoveltyQueries, area, as_markdown, asked_of, measure, pooled
from benchmark.tasks.datasets import REAL
from benchmark.tasks.frozen import SEEDS


def test_the_area_is_that_of_mann_and_whitney():
    # Imported here: every process of the tests imports this file, and scipy.stats takes a second.
    from scipy.stats import mannwhitneyu

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


def test_seeds_are_pooled_and_families_drawn_whole():
    is_new = np.array([True, True, False, False])
    families, is_relative = ("a", "a", "b", "c"), np.array([True, False, False, False])
    asked = NoveltyQueries(np.arange(4), is_new, families, is_relative)
    perfect = np.array([0.9, 0.8, 0.1, 0.2])
    both = pooled("size", [(perfect, asked), (perfect[::-1].copy(), asked)])
    assert (both.mean, both.new, both.known) == (0.5, 4, 4)
    assert (both.by_seed, both.unjudged) == ((1.0, 0.0), 0.5)
    text = as_markdown([both])
    assert "| size only | 0.500 |" in text
    assert "--results results" in text


@pytest.mark.slow
def test_new_is_of_whose_family_nothing_was_learned(real, real_task):
    task, cards = real_task("unseen", 0), real.cards
    learned = [cards[row] for row in task.train]
    families = {card.labels.family for card in learned}
    designs = {card.topology for card in learned}
    asked = asked_of(task.asked[PROTOCOL])
    for row, is_new, family in zip(asked.rows, asked.is_new, asked.families, strict=True):
        assert (family in families) != is_new
        assert cards[row].topology not in designs
    assert 0.1 < asked.is_new.mean() < 0.9


@pytest.mark.slow
def test_the_distance_is_that_of_the_first_answer_that_a_cell_keeps(tmp_path, real_task):
    seeds = SEEDS[:2]
    for seed in seeds:
        cell = Cell(REAL, "unseen", "size", seed)
        task = real_task(cell.split, seed)
        asked = {PROTOCOL: task.asked[PROTOCOL]}
        write_cell(cell_path(tmp_path, cell), run_on(cell, replace(task, asked=asked)))
    measured = measure("size", tmp_path, seeds)
    assert 0.4 < measured.mean < 0.8
    assert measured.low < measured.mean < measured.high
