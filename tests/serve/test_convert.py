from typing import get_args

import numpy as np
import pytest

from nar.base.errors import InvalidInputError, InvalidQueryError
from nar.graphs.by import By
from nar.index.filters import Filter
from nar.v1 import retrieval_pb2 as wire
from nar.wire.limits import decode_limits, encode_limits, limits_of
from nar.wire.queries import decode_each, decode_query, encode_query
from nar.wire.settings import ServerConfig

LIMITS = limits_of(ServerConfig(max_top_k=20, default_top_k=7, max_nodes=3, max_edges=3))
ONE_NODE = wire.Graph(operators=["input"], nodes=[0])


def decoded(**fields):
    return decode_query(wire.Query(**fields), LIMITS, 3)


def vector(*values):
    return wire.Vector(values=values)


@pytest.mark.parametrize(("asked", "got"), [(0, 7), (1, 1), (19, 19), (20, 20)])
def test_top_k(asked, got):
    assert decoded(architecture="timm:x", top_k=asked).top_k == got


def test_default_top_k_keeps_to_the_maximum():
    assert limits_of(ServerConfig(max_top_k=5)).default_top_k == 5


def test_targets():
    assert decoded(architecture="timm:x").target == "timm:x"
    assert decoded(graph=ONE_NODE).target.graph.nodes == 1
    target = decoded(vector=vector(0.5, 0, -2)).target
    assert target.dtype == np.float32
    assert target.tolist() == [0.5, 0, -2]


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({}, "target", "wanted a graph, an architecture or a vector, came none"),
        ({"architecture": "x", "top_k": 21}, "top_k", "wanted 1 to 20, came 21"),
        ({"architecture": ""}, "architecture", "wanted a name or id, came none"),
        ({"architecture": "x" * 4_097}, "architecture", "wanted at most 4096 bytes, came 4097"),
        ({"graph": wire.Graph()}, "graph.nodes", "wanted at least one node, came none"),
        ({"vector": vector()}, "vector.values", "wanted 3 numbers, came 0"),
        ({"vector": vector(1, 2, 3, 4)}, "vector.values", "wanted 3 numbers, came 4"),
        ({"vector": vector(0, 0, 0)}, "vector.values", "wanted a direction, came only zeros"),
        ({"vector": vector(1, 2, np.nan)}, "vector.values[2]", "wanted a finite number, came nan"),
        ({"vector": vector(1, -np.inf, 2)}, "vector.values[1]", "came -inf"),
        (
            {"architecture": "x", "filter": wire.Filter(families=["a", "b" * 5_000])},
            "filter.families[1]",
            "wanted at most 4096 bytes",
        ),
        (
            {"architecture": "x", "filter": wire.Filter(nodes=wire.Range(minimum=-1))},
            "filter.nodes.minimum",
            "wanted a whole number from 0",
        ),
        (
            {"architecture": "x", "filter": wire.Filter(flops=wire.Range(minimum=3, maximum=2))},
            "filter.flops",
            "minimum 3 is above maximum 2",
        ),
    ],
)
def test_a_fault_is_named_by_its_field(fields, field, reason):
    with pytest.raises(InvalidInputError) as caught:
        decoded(**fields)
    assert caught.value.field == field
    assert reason in caught.value.reason


def test_tiny_and_huge_vectors_are_directions_too():
    for size in (1e-45, 3e38):
        assert decoded(vector=vector(size, size, size)).target.all()


@pytest.mark.parametrize("by", get_args(By))
def test_what_hits_share_there_and_back(by):
    message = encode_query("timm:x", 3, Filter(), by)
    assert decode_query(message, LIMITS, 3).by == by


def test_what_hits_share_is_the_design_where_nothing_is_said():
    assert decoded(architecture="timm:x").by == "design"


def test_what_hits_share_is_a_number_that_is_known():
    with pytest.raises(InvalidQueryError) as caught:
        decoded(architecture="timm:x", by=9)
    assert caught.value.field == "by"
    assert "came number 9" in caught.value.reason


def test_limits_there_and_back():
    assert decode_limits(encode_limits(LIMITS)) == LIMITS


def refuse_b(item):
    if item == "b":
        raise InvalidQueryError("letter", "wanted no b")
    return item.upper()


def test_an_item_at_fault_leaves_the_others_alone():
    first, error, third = decode_each("items", ["a", "b", "c"], refuse_b, max_items=3)
    assert (first, third) == ("A", "C")
    assert (error.field, error.reason) == ("items[1].letter", "wanted no b")


@pytest.mark.parametrize(("count", "fits"), [(0, False), (1, True), (3, True), (4, False)])
def test_number_of_items(count, fits):
    if fits:
        assert len(decode_each("items", ["a"] * count, refuse_b, max_items=3)) == count
    else:
        with pytest.raises(InvalidQueryError, match=f"items: wanted 1 to 3, came {count}"):
            decode_each("items", ["a"] * count, refuse_b, max_items=3)
