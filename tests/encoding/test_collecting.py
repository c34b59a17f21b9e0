"""A corpus that is read once, part by part: the same is learned, and no graph is kept."""

from itertools import pairwise

import pytest
from encoding import DEFAULT_RECIPE, RECIPE, three_family_corpus
from hypothesis import given
from hypothesis import strategies as st

from nar.encoding.checkpoint import fingerprint
from nar.encoding.collecting import chunks, collected, kin_targets
from nar.encoding.training import pretrain
from nar.motifs.config import MotifConfig

CORPUS = three_family_corpus()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [DEFAULT_RECIPE, RECIPE], ids=lambda recipe: recipe.encoder)
def test_a_corpus_in_small_parts_teaches_the_same(recipe, monkeypatch):
    whole = pretrain(CORPUS, MotifConfig(), recipe)
    monkeypatch.setattr(f"nar.encoding.{recipe.encoder}.pretraining.NODES_A_CHUNK", 100)
    in_parts = pretrain(iter(CORPUS), MotifConfig(), recipe)
    assert fingerprint(in_parts) == fingerprint(whole)


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
