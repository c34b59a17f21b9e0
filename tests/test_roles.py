"""Embedding, body and head of graphs that are seen at a glance, and of any graph."""

import numpy as np
import pytest
from graphs import bert, graph_of, random_graphs, resnet, swin
from hypothesis import given

from nar.answers.roles import roles
from nar.graphs.canonical import canonical
from nar.graphs.ops import op_name
from nar.motifs.borders import at_border
from nar.motifs.neighbours import wiring

RESIDUAL = "conv 0; relu 1; conv 2; add 3 1; relu 4"
TRANSFORMER = "linear 0; attention 1; linear 2; add 3 0; layer_norm 4"


def ends(graph):
    """The operators of the embedding, and those of the head."""
    graph = canonical(graph)
    told = roles(graph)
    assert (told.embedding ^ told.body ^ told.head).all()
    assert not (told.embedding & told.body & told.head).any()
    return tuple(
        " ".join(op_name(each) for each in graph.op_ids[mask].tolist())
        for mask in (told.embedding, told.head)
    )


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("", ""),
        ("adaptive_avg_pool 5", "adaptive_avg_pool"),
        ("adaptive_avg_pool 5; linear 6", "adaptive_avg_pool linear"),
        # A multilayer perceptron, with a norm of its own.
        (
            "adaptive_avg_pool 5; layer_norm 6; linear 7; relu 8; linear 9",
            "adaptive_avg_pool layer_norm linear relu linear",
        ),
        # A decoder is no head: its last layer is one.
        ("upsample 5; conv 6; relu 7; conv 8; upsample 9", "conv upsample"),
        # What makes features belongs to the body, whether something comes after it or not.
        ("conv 5; batch_norm 6; relu 7", ""),
        ("conv 5; batch_norm 6; relu 7; mean 8; linear 9", "mean linear"),
    ],
)
def test_heads_of_a_residual_network(text, head):
    drawn = graph_of("; ".join(filter(None, ["input", RESIDUAL, text])))
    assert ends(drawn) == ("input conv", head)


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("", ""),
        ("linear 5", "linear"),
        ("linear 5; gelu 6; layer_norm 7; linear 8", "linear gelu layer_norm linear"),
        ("slice 5; linear 6; tanh 7; linear 8", "slice linear tanh linear"),
        ("linear 5; linear 5", "linear linear"),
        # The mean of two heads, and their results side by side.
        (
            "slice 5; linear 6; slice 5; linear 8; add 7 9; div 10",
            "slice linear slice linear add div",
        ),
        ("linear 5; linear 5; concat 6 7", "linear linear concat"),
    ],
)
def test_heads_of_a_transformer_begin_after_the_last_norm(text, head):
    drawn = graph_of("; ".join(filter(None, ["input", TRANSFORMER, text])))
    assert ends(drawn)[1] == head


def test_a_sum_at_the_end_is_a_head_only_where_no_residual_ends_there():
    residual = "input; conv 0; layer_norm 1; linear 2; gelu 3; linear 4; add 5 1"
    assert ends(graph_of(residual)) == ("input conv", "")


def test_words_and_positions_are_the_embedding_and_their_norm_is_not():
    assert ends(bert(2))[0] == "embedding embedding add"
    scaled = "embedding; mul 0; embedding; add 1 2; layer_norm 3; linear 4; relu 5; add 6 4"
    assert ends(graph_of(scaled))[0] == "embedding mul embedding add"


def test_patches_with_a_token_and_positions_are_the_embedding():
    text = "input; conv 0; concat 1; add 2; layer_norm 3; linear 4; gelu 5; add 6 3"
    assert ends(graph_of(text))[0] == "input conv concat add"


def test_what_is_made_of_parameters_alone_goes_with_what_reads_it():
    """Positions that a slice takes out of a table; a bias that attention reads."""
    text = "input; conv 0; slice; add 1 2; linear 3; index; attention 4 5; gelu 6; add 7 3"
    assert sorted(ends(graph_of(text))[0].split()) == ["add", "conv", "input", "slice"]


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (resnet([2, 2]), ("input conv", "adaptive_avg_pool linear")),
        (swin([1, 2]), ("input conv", "mean linear")),
        (graph_of("input; linear 0; relu 1; linear 2"), ("input", "linear relu linear")),
        (graph_of("input"), ("input", "")),
    ],
    ids=["resnet", "swin", "perceptron", "nothing"],
)
def test_ends_of_whole_networks(graph, expected):
    assert ends(graph) == expected


@pytest.mark.slow
@given(random_graphs())
def test_parts_follow_each_other(graph):
    """What the embedding reads is embedding or made of parameters; what reads the head is head."""
    graph = canonical(graph)
    told = roles(graph)
    assert (told.embedding.astype(int) + told.body + told.head == 1).all()
    source, target = graph.edge_index
    assert told.head[target[told.head[source]]].all()
    assert not told.head[source[told.embedding[target]]].any()


@pytest.mark.slow
@given(random_graphs())
def test_layers_of_an_embedding_are_at_a_border(graph):
    graph = canonical(graph)
    embedded = roles(graph).embedding & (graph.op_ids == graph_of("conv").op_ids[0])
    assert not (embedded & ~at_border(wiring([graph]))).any()
    assert not np.isin(graph.op_ids[roles(graph).embedding], graph_of("relu").op_ids).any()
