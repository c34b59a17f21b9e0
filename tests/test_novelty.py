"""Novelty: distances of known designs, and where a query stands among them."""

import numpy as np
import pytest

from nar.novelty import calibrate

VECTORS = np.array([[1, 0], [0.8, 0.6], [0, 1], [1, 0]], dtype=np.float32)


def test_copies_of_a_design_do_not_make_it_near():
    measured = calibrate(VECTORS, ["a", "b", "c", "a"])
    # a and b are 0.2 apart, b and c 0.4: each to its nearest.
    assert measured.distances == pytest.approx([0.2, 0.2, 0.4], abs=1e-6)


@pytest.mark.parametrize(("score", "percentile"), [(1.0, 0), (0.9, 0), (0.7, 200 / 3), (0.1, 100)])
def test_the_percentile_counts_designs_with_a_nearer_neighbour(score, percentile):
    measured = calibrate(VECTORS, ["a", "b", "c", "a"])
    assert measured.percentile(score) == pytest.approx(percentile)
