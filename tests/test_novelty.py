"""Novelty: distances of known designs, and where a query stands among them."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_index import tiny_embedder, tiny_index

from nar.answers.novelty import (
    Novelty,
    calibrate,
    calibrate_index,
    keep_novelty,
    read_novelty,
    write_novelty,
)
from nar.base.errors import CorpusError
from nar.index.rows import architecture_id

VECTORS = np.array([[1, 0], [0.8, 0.6], [0, 1], [1, 0]], dtype=np.float32)


def test_copies_of_a_design_do_not_make_it_near():
    measured = calibrate(VECTORS, ["a", "b", "c", "a"])
    # a and b are 0.2 apart, b and c 0.4: each to its nearest.
    assert measured.distances == pytest.approx([0.2, 0.2, 0.4], abs=1e-6)


@pytest.mark.parametrize(("score", "percentile"), [(1.0, 0), (0.9, 0), (0.7, 200 / 3), (0.1, 100)])
def test_the_percentile_counts_designs_with_a_nearer_neighbour(score, percentile):
    measured = calibrate(VECTORS, ["a", "b", "c", "a"])
    assert measured.percentile(score) == pytest.approx(percentile)


@pytest.mark.slow
def test_an_index_is_measured_as_its_vectors_are(tmp_path):
    with tiny_index(tmp_path, tiny_embedder()) as index:
        measured = calibrate_index(index)
        rows = index.sample(100)
    assert [row.id for row in rows] == sorted(row.id for row in rows)
    vectors = np.stack([row.embedding for row in rows])
    wanted = calibrate(vectors, [row.topology for row in rows])
    assert measured.distances == pytest.approx(wanted.distances, abs=1e-5)


@pytest.mark.slow
def test_the_nearest_design_is_found_behind_any_number_of_copies(tmp_path):
    with tiny_index(tmp_path, tiny_embedder()) as index:
        one, *others = index.sample(100)
        names = [f"{one.name}#{number}" for number in range(30)]
        index.upsert([replace(one, id=architecture_id(name), name=name) for name in names])
        measured = calibrate_index(index)
        rows = [one, *others]
    wanted = calibrate(np.stack([row.embedding for row in rows]), [row.topology for row in rows])
    assert measured.distances == pytest.approx(wanted.distances, abs=1e-5)


@pytest.mark.slow
def test_after_few_changes_the_measurement_is_kept_and_after_many_it_is_made_anew(tmp_path):
    path = tmp_path / "novelty.json"
    with tiny_index(tmp_path, tiny_embedder()) as index:
        old = Novelty(np.array([0.25, 0.5], dtype=np.float32))
        write_novelty(path, old, encoder="a" * 64)
        for changed, rows, is_kept in [(1, 100, True), (1, 100, True), (1, 100, False)]:
            keep_novelty(index, path, encoder="a" * 64, changed=changed, rows=rows)
            held = read_novelty(path, encoder="a" * 64)
            assert (held.distances.tolist() == [0.25, 0.5]) == is_kept
        assert held.changed == 0
        write_novelty(path, old, encoder="a" * 64)
        keep_novelty(index, path, encoder="a" * 64)
        assert read_novelty(path, encoder="a" * 64).distances.tolist() != [0.25, 0.5]


@pytest.mark.slow
def test_an_index_of_one_design_says_nothing(tmp_path):
    with tiny_index(tmp_path, tiny_embedder()) as index:
        index.delete([row.id for row in index.sample(100)[1:]])
        assert calibrate_index(index) is None


def test_a_measurement_is_kept_for_its_encoder_only(tmp_path):
    path = tmp_path / "novelty.json"
    assert read_novelty(path, encoder="a" * 64) is None
    write_novelty(path, Novelty(np.array([0.25, 0.5], dtype=np.float32)), encoder="a" * 64)
    assert read_novelty(path, encoder="a" * 64).distances.tolist() == [0.25, 0.5]
    assert read_novelty(path, encoder="b" * 64) is None
    path.write_text("{}")
    with pytest.raises(CorpusError, match=r"novelty\.json holds no measurement"):
        read_novelty(path, encoder="a" * 64)
