"""The memory of motifs: each type is encoded once, and forgetting changes nothing."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from encoding import small_encoder, three_families
from graphs import resnet

from nar.encoding.paper import encoder as encoder_module
from nar.encoding.paper.encoder import MotifMemory, PaperEncoder
from nar.graphs.canonical import canonical
from nar.motifs.partition import partition, partition_all

PARTITIONS = partition_all(three_families())


def encoding(**options):
    fresh = small_encoder()
    return PaperEncoder(fresh.config, fresh.motif, fresh.macro, **options)


def test_motifs_are_encoded_once(monkeypatch):
    once = encoding()
    once.encode([partition(canonical(resnet([3, 4, 6, 3])))])
    monkeypatch.setattr(encoder_module, "motif_subgraph", None)  # would be called for a new motif
    once.encode([partition(canonical(resnet([3, 4, 23, 3])))])


def test_a_memory_too_small_changes_nothing():
    forgetful, expected = encoding(cached_motifs=1), encoding().encode(PARTITIONS)
    for _ in range(2):
        assert forgetful.encode(PARTITIONS) == pytest.approx(expected, abs=1e-6)


def test_the_memory_forgets_what_was_not_used_for_longest():
    memory = MotifMemory(room=2)
    memory.learn({1: "one", 2: "two"})
    memory.recall([1])
    memory.learn({3: "three"})
    assert memory.recall([1, 2, 3]) == {1: "one", 3: "three"}


@pytest.mark.slow
def test_threads_may_share_an_encoding():
    shared, parts = encoding(cached_motifs=3), PARTITIONS * 4
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(lambda part: shared.encode([part])[0], parts))
    assert np.stack(vectors) == pytest.approx(encoding().encode(parts), abs=1e-6)


def test_another_process_begins_with_an_empty_memory():
    known = encoding()
    known.encode(PARTITIONS)
    copy = pickle.loads(pickle.dumps(known))
    assert copy.encode(PARTITIONS) == pytest.approx(known.encode(PARTITIONS), abs=1e-6)
