"""Macro graphs as a network reads them: motifs by their contents, masked by type."""

import numpy as np
import pytest
import torch
from encoding import three_families
from graphs import bert, graph_of, random_graphs, renumbered, resnet
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.methods import macro
from benchmark.methods.macro_network import MacroNetwork, MaskedObjective, macro_graphs
from nar.encoding.training import LONE, no_report, train
from nar.graphs.canonical import canonical
from nar.motifs.config import MotifConfig
from nar.motifs.partition import split_all

CONFIG = MotifConfig()
LONELY = graph_of("input; relu 0")


def read(*graphs):
    return macro_graphs(split_all([canonical(graph) for graph in graphs], CONFIG), CONFIG)


def network():
    torch.manual_seed(0)
    return MacroNetwork().eval()


def vectors(graphs):
    return macro._vectors(network(), graphs)


def test_a_batch_holds_the_motifs_and_links_of_its_graphs_alone():
    # A stem, two blocks of one type, and a head; then one motif without links.
    batch = read(bert(2), resnet([2, 2]), LONELY).take(np.array([1, 2]))
    stem, one, other, head, lonely = batch.types.tolist()
    assert one == other
    assert len({stem, one, head, lonely}) == 4
    assert batch.graphs.tolist() == [0, 0, 0, 0, 1]
    assert batch.before.to_dense().nonzero().tolist() == [[1, 0], [2, 1], [3, 2]]
    assert batch.behind.to_dense().nonzero().tolist() == [[0, 1], [1, 2], [2, 3]]


def test_a_motif_type_counts_once_however_often_it_occurs():
    batch = read(resnet([2]), resnet([5])).take(np.array([0, 1]))
    sums = batch.sums.to_dense().numpy()
    for graph in range(2):
        counted = np.bincount(batch.types, weights=sums[graph], minlength=batch.contents.count)
        occurring = np.unique(batch.types[batch.graphs == graph])
        assert counted[occurring] == pytest.approx(1 / np.sqrt(len(occurring)))


@pytest.mark.slow
@given(st.lists(random_graphs(), min_size=1, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_a_vector_depends_on_neither_numbering_nor_company(graphs, random):
    model, every = network(), read(*graphs)
    with torch.inference_mode():
        alone = torch.cat([model(every.take(np.array([row]))) for row in range(len(graphs))])
        together = model(every.take(np.arange(len(graphs))))
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)
    one, other = (vectors(read(graph)) for graph in (graphs[0], renumbered(graphs[0], random)))
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_motif_of_other_contents_is_another():
    one, other = (read(graph_of(f"input; conv 0; {act} 1; conv 2")) for act in ("relu", "gelu"))
    assert not np.allclose(vectors(one), vectors(other), atol=1e-3)


def test_what_is_masked_is_not_seen():
    model = network()
    batch = read(resnet([2, 2])).take(np.array([0]))
    contents = model.contents(batch).detach()
    everywhere = np.ones(len(batch.types), dtype=np.bool_)
    seen, unseen = (
        model.states(batch, given, everywhere) for given in (contents, torch.zeros_like(contents))
    )
    torch.testing.assert_close(seen, unseen)


def test_all_motifs_of_a_type_are_masked_together():
    graphs = read(*three_families())
    stage = macro._masked_stage(graphs, MaskedObjective(network()), epochs=1, seed=0)
    batch, is_masked = stage.batch(np.arange(graphs.count), 0)
    types, pair = batch.kinds()
    assert 0 < is_masked.sum() < len(types) == len(is_masked)
    assert (types[pair] == batch.types).all()
    assert len(np.unique(np.stack([pair, batch.graphs]), axis=1).T) == len(types)


@pytest.mark.slow
def test_masked_motifs_are_learned_from_what_stands_around_them():
    graphs = read(*(resnet([depth]) for depth in range(2, 6)), *map(bert, range(2, 6)))
    torch.manual_seed(0)
    objective = MaskedObjective(MacroNetwork())
    stage = macro._masked_stage(graphs, objective, epochs=40, seed=0)
    rows = np.arange(graphs.count)
    before = float(objective(stage.batch(rows, 0)).detach())
    train(objective, [lambda: stage], worker=LONE, start=None, after_epoch=no_report)
    assert float(objective(stage.batch(rows, 0)).detach()) < before / 2
