"""Collation on graphs that fit on a line, and who takes which part of an epoch."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nar.base.errors import ConfigError
from nar.encoding.paper.merged import RowGraph, collate, merged
from nar.encoding.training import BatchShare, epoch_batches
from nar.graphs.ragged import slices_within

TABLE = torch.tensor([[1.0], [2.0], [3.0]])


def row_graph(rows, *edges):
    return RowGraph(np.array(rows), np.array(edges, dtype=np.int32).reshape(-1, 2).T)


def read(*graphs):
    return collate(merged(graphs, 1), TABLE)


def test_colours_take_their_rows_of_the_table():
    assert sorted(read(row_graph([2, 0, 2])).x.flatten().tolist()) == [1, 3]


def test_adjacency_is_undirected_normalised_and_has_self_loops():
    graphs = merged([row_graph([0, 1, 2], (0, 1), (1, 2))], 1)
    batch = collate(graphs, TABLE)
    order, own = batch.x.flatten().argsort(), batch.x.flatten()[graphs.rounds[0].own].argsort()
    a, b = 1 / 2, 6**-0.5  # ends have degree 2, the middle 3
    expected = torch.tensor([[a, b, 0], [b, 1 / 3, b], [0, b, a]])
    assert torch.allclose(batch.adjacencies[0].to_dense()[own][:, order], expected)


def test_edges_both_ways_are_one_link():
    (both,) = read(row_graph([0, 1], (0, 1), (1, 0))).adjacencies
    assert torch.allclose(both.to_dense(), torch.full((2, 2), 0.5))


def test_graphs_stay_apart():
    batch = read(row_graph([0, 1], (0, 1)), row_graph([2]))
    (adjacency,) = batch.adjacencies
    means = (batch.mean @ (adjacency @ batch.x)).flatten().tolist()
    assert means == pytest.approx([1.5, 3])


def test_runs_stay_below_the_budget_and_a_large_item_stands_alone():
    sizes = [2, 2, 9, 1, 1, 3]
    assert [sizes[part] for part in slices_within(sizes, budget=4)] == [[2, 2], [9], [1, 1], [3]]


@pytest.mark.slow
@given(st.integers(8, 60), st.integers(8, 20), st.integers(1, 2), st.integers(0, 9))
def test_the_workers_share_every_item_once(items, batch_size, world, epoch):
    shares = [BatchShare(rank, world) for rank in range(world)]
    parts = [epoch_batches(items, batch_size, seed=7, epoch=epoch, share=share) for share in shares]
    assert len({len(part) for part in parts}) == 1
    assert sorted(np.concatenate([np.concatenate(part) for part in parts])) == list(range(items))
    assert max(sum(map(len, together)) for together in zip(*parts, strict=True)) <= batch_size


def test_epochs_differ_and_repeat():
    def order(epoch):
        return np.concatenate(
            epoch_batches(30, 10, seed=1, epoch=epoch, share=BatchShare())
        ).tolist()

    assert order(0) == order(0)
    assert order(0) != order(1)


def test_too_few_items_for_the_workers_are_refused():
    with pytest.raises(ConfigError, match=r"each of 4 workers, came 7 of 7 in all"):
        epoch_batches(7, 256, seed=0, epoch=0, share=BatchShare(0, 4))
