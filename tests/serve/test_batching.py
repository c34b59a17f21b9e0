from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_index import known

from nar.base.errors import InvalidQueryError
from nar.client.questions import ENVELOPE_BYTES, Size, batches, size_of
from nar.v1 import retrieval_pb2 as wire
from nar.wire.graphs import encode_graph
from nar.wire.limits import limits_of
from nar.wire.settings import ServerConfig

LIMITS = limits_of(
    ServerConfig(
        **{"max_queries": 3, "max_message_bytes": 1_024, "max_nodes": 10, "max_edges": 10},
        **{"max_call_nodes": 20, "max_call_edges": 30},
    )
)


def itself(size):
    return size


def cut(sizes):
    return list(batches(sizes, LIMITS, itself))


def lengths(sizes):
    return [len(run) for run in cut(sizes)]


def of_bytes(*sizes):
    return [Size(1, size) for size in sizes]


@pytest.mark.slow
@given(
    st.lists(
        st.builds(Size, st.just(1), st.integers(16, 1_040), st.integers(0, 30), st.integers(0, 40)),
        max_size=30,
    )
)
def test_batches_keep_order_and_limits(sizes):
    runs = cut(sizes)
    assert [size for run in runs for size in run] == sizes
    for run in runs:
        items, size_bytes, nodes, edges = map(sum, zip(*run, strict=True))
        fits = items <= 3 and size_bytes <= 1_024 and nodes <= 20 and edges <= 30
        assert fits or len(run) == 1


def test_batches_are_as_long_as_allowed():
    assert lengths(of_bytes(*[0] * 7)) == [3, 3, 1]
    assert lengths(of_bytes(512, 512, 513)) == [2, 1]
    assert lengths([Size(1, 0, 10, 9)] * 3) == [2, 1]
    assert lengths([Size(1, 0, 1, 16)] * 3) == [1, 1, 1]
    assert lengths(of_bytes(1_040, 1)) == [1, 1]
    assert lengths([]) == []


def test_an_item_that_is_larger_than_a_message_is_told():
    with pytest.raises(InvalidQueryError, match="at most 1,024 bytes in a message, came 1,025"):
        cut(of_bytes(1, 1_025 + ENVELOPE_BYTES))


def test_no_item_is_asked_for_before_its_run():
    asked = []
    endless = (asked.append(number) or Size(1) for number in count())
    assert next(batches(endless, LIMITS, itself)) == [Size(1)] * 3
    assert asked == [0, 1, 2, 3]


def test_what_an_item_takes():
    graph = encode_graph(known("timm:residual"))
    assert size_of(graph)[2:] == (8, 8)
    assert size_of(wire.Query(graph=graph))[2:] == (8, 8)
    assert size_of(wire.NewArchitecture(name="mine:x", graph=graph))[2:] == (8, 8)
    assert size_of(wire.Query(architecture="timm:x"))[2:] == (0, 0)
    assert size_of("höher") == (1, 6 + ENVELOPE_BYTES, 0, 0)
