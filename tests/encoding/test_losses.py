"""The objectives against values worked out by hand."""

from math import e, exp, log

import pytest
import torch

from nar.encoding.losses import (
    graph_contrastive_loss,
    motif_contrastive_loss,
    pretraining_loss,
    structural_negatives,
)

EAST, NORTH, WEST = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]


def vectors(*rows):
    return torch.tensor(rows, requires_grad=True)


def numbers(*values):
    return torch.tensor(values)


def test_equal_structures_are_no_negatives():
    negatives = structural_negatives(numbers(1, 2, 1, 3), numbers(7, 8, 9, 8))
    assert negatives.int().tolist() == [
        [0, 1, 0, 1],  # the third surrounds the same motif
        [1, 0, 1, 0],  # the fourth is the same context
        [0, 1, 0, 1],
        [1, 0, 1, 0],
    ]


def test_a_motif_is_drawn_to_its_context_and_away_from_the_others():
    loss = motif_contrastive_loss(
        vectors(EAST, NORTH),
        vectors(EAST, WEST),
        negatives=~torch.eye(2, dtype=torch.bool),
        temperature=1.0,
    )
    east = -log(e / (e + exp(-1)))  # cosines 1 and -1
    north = -log(1 / (1 + 1))  # cosines 0 and 0
    assert loss.item() == pytest.approx((east + north) / 2)


def test_without_negatives_nothing_is_lost():
    nobody = torch.zeros(2, 2, dtype=torch.bool)
    motifs, contexts = vectors(EAST, NORTH), vectors(NORTH, NORTH)
    loss = motif_contrastive_loss(motifs, contexts, negatives=nobody, temperature=1.0)
    assert loss.item() == 0


def test_temperature_divides_the_cosines():
    everyone = ~torch.eye(2, dtype=torch.bool)
    pair = vectors(EAST, WEST)
    loss = motif_contrastive_loss(pair, pair, negatives=everyone, temperature=0.5)
    assert loss.item() == pytest.approx(-log(exp(2) / (exp(2) + exp(-2))), rel=1e-4)


def test_positives_are_summed_inside_the_logarithm():
    loss = graph_contrastive_loss(
        vectors(EAST, EAST, NORTH, WEST), numbers(0, 0, 0, 1), temperature=1.0
    )
    one_of_two_easts = -log((e + 1) / (e + 1 + exp(-1)))
    north = -log((1 + 1) / (1 + 1 + 1))
    assert loss.item() == pytest.approx((2 * one_of_two_easts + north) / 3)


def test_length_does_not_matter():
    short = graph_contrastive_loss(vectors(EAST, EAST, WEST), numbers(0, 0, 1), temperature=1.0)
    long = graph_contrastive_loss(
        vectors([9.0, 0.0], EAST, WEST), numbers(0, 0, 1), temperature=1.0
    )
    assert short.item() == pytest.approx(long.item())


@pytest.mark.parametrize("families", [(0, 1, 2), (0,)], ids=["all different", "one graph"])
def test_a_batch_without_any_pair_costs_nothing_and_moves_nothing(families):
    embeddings = vectors(*[EAST, NORTH, WEST][: len(families)])
    loss = graph_contrastive_loss(embeddings, numbers(*families), temperature=1.0)
    loss.backward()
    assert loss.item() == 0
    assert embeddings.grad.abs().sum() == 0


def test_anchors_without_positives_leave_the_gradients_finite():
    embeddings = vectors(EAST, NORTH, WEST)
    graph_contrastive_loss(embeddings, numbers(0, 0, 1), temperature=1.0).backward()
    assert embeddings.grad.isfinite().all()


def test_pretraining_adds_the_cross_entropy_of_the_head():
    loss = pretraining_loss(
        vectors(EAST, WEST),
        torch.tensor([[0.0, 0.0], [0.0, log(3)]]),
        families=numbers(5, 5),
        classes=numbers(0, 1),
        temperature=1.0,
    )
    assert loss.item() == pytest.approx((log(2) + log(4 / 3)) / 2)  # the only pair is positive
