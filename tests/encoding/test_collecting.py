"""A corpus that is read once, part by part: the same is learned, and no graph is kept."""

from itertools import pairwise

import numpy as np
import pytest
from encoding import DEFAULT_RECIPE, RECIPE, three_family_corpus
from hypothesis import given
from hypothesis import strategies as st

from nar.encoding.collecting import chunks, collected, keep_samples, kept_samples, kin_targets
from nar.encoding.embed import fingerprint
from nar.encoding.training import pretrain, training_module
from nar.motifs.config import MotifConfig

CORPUS = three_family_corpus()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [DEFAULT_RECIPE, RECIPE], ids=lambda recipe: recipe.encoder)
def test_a_corpus_in_small_parts_teaches_the_same(recipe, monkeypatch):
    whole = pretrain(CORPUS, MotifConfig(), recipe)
    monkeypatch.setattr(f"nar.encoding.{recipe.encoder}.pretraining.NODES_A_CHUNK", 100)
    in_parts = pretrain(iter(CORPUS), MotifConfig(), recipe)
    assert fingerprint(in_parts) == fingerprint(whole)


def never():
    raise AssertionError("the corpus was read")
    yield


@pytest.mark.slow
def test_kept_samples_teach_the_same_and_nothing_is_read_of_the_corpus(tmp_path, caplog):
    recipe, kept = DEFAULT_RECIPE, tmp_path / "samples"
    first = pretrain(CORPUS, MotifConfig(), recipe, kept=kept)
    again = pretrain(never(), MotifConfig(), recipe, kept=kept)
    assert (
        fingerprint(again)
        == fingerprint(first)
        == fingerprint(pretrain(CORPUS, MotifConfig(), recipe))
    )
    # Whoever was second leaves what the first has written.
    keep_samples(kept, training_module("default").collect(CORPUS[:3], MotifConfig()))
    assert [each.name for each in tmp_path.iterdir()] == ["samples"]
    file = kept / "graphs" / "codes.npy"
    file.write_bytes(file.read_bytes()[:40])
    assert fingerprint(pretrain(CORPUS, MotifConfig(), recipe, kept=kept)) == fingerprint(first)
    assert "are damaged" in caplog.text


def test_large_arrays_are_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr("nar.encoding.collecting._MAPPED_BYTES", 0)
    samples = training_module("default").collect(CORPUS, MotifConfig())
    keep_samples(tmp_path / "kept", samples)
    read = kept_samples(tmp_path / "kept", type(samples), {"config": MotifConfig()})
    assert isinstance(read.graphs.codes, np.memmap)
    np.testing.assert_array_equal(read.graphs.codes, samples.graphs.codes)
    np.testing.assert_array_equal(read.motifs.sets.start, samples.motifs.sets.start)
    np.testing.assert_array_equal(read.targets.families, samples.targets.families)


@given(st.integers(1, 2 * sum(item.graph.nodes for item in CORPUS)))
def test_parts_are_as_large_as_allowed_and_in_order(nodes):
    cut = list(chunks(CORPUS, nodes))
    assert [item for part in cut for item in part] == CORPUS
    sizes = [[item.graph.nodes for item in part] for part in cut]
    assert all(len(part) == 1 or sum(part) <= nodes for part in sizes)
    assert all(sum(one) + after[0] > nodes for one, after in pairwise(sizes))


def test_no_architecture_is_asked_for_before_its_part():
    given_out, seen = [], []

    def one_by_one():
        for item in CORPUS:
            given_out.append(item)
            yield item

    class Reader:
        def read(self, graphs):
            seen.extend(graphs)
            # The first of the next part is what ends this one.
            assert len(given_out) <= len(seen) + 1

        def samples(self, targets):
            return targets.families.tolist()

    families = collected(one_by_one(), Reader(), kin_targets, nodes_a_chunk=1)
    assert families == kin_targets(CORPUS).families.tolist()
