from hypothesis import given
from hypothesis import strategies as st
from tiny_index import known

from nar.config import ServerConfig
from nar.serve.batching import ENVELOPE_BYTES, Size, batches, size_of
from nar.serve.graphs import encode_graph
from nar.serve.limits import limits_of
from nar.v1 import retrieval_pb2 as wire

LIMITS = limits_of(
    ServerConfig(
        **{"max_queries": 3, "max_message_bytes": 1_024, "max_nodes": 10, "max_edges": 10},
        **{"max_call_nodes": 20, "max_call_edges": 30},
    )
)


def of_bytes(*sizes):
    return [Size(1, size) for size in sizes]


@given(
    st.lists(
        st.builds(Size, st.just(1), st.integers(16, 2_000), st.integers(0, 30), st.integers(0, 40)),
        max_size=30,
    )
)
def test_batches_keep_order_and_limits(sizes):
    runs = list(batches(sizes, LIMITS))
    assert [position for start, stop in runs for position in range(start, stop)] == [
        *range(len(sizes))
    ]
    for start, stop in runs:
        items, size_bytes, nodes, edges = map(sum, zip(*sizes[start:stop], strict=True))
        fits = items <= 3 and size_bytes <= 1_024 and nodes <= 20 and edges <= 30
        assert fits or stop - start == 1


def test_batches_are_as_long_as_allowed():
    assert list(batches(of_bytes(*[0] * 7), LIMITS)) == [(0, 3), (3, 6), (6, 7)]
    assert list(batches(of_bytes(512, 512, 513), LIMITS)) == [(0, 2), (2, 3)]
    assert list(batches([Size(1, 0, 10, 9)] * 3, LIMITS)) == [(0, 2), (2, 3)]
    assert list(batches([Size(1, 0, 1, 16)] * 3, LIMITS)) == [(0, 1), (1, 2), (2, 3)]
    assert list(batches(of_bytes(5_000, 1), LIMITS)) == [(0, 1), (1, 2)]
    assert list(batches([], LIMITS)) == []


def test_what_an_item_takes():
    graph = encode_graph(known("timm:residual"))
    assert size_of(graph)[2:] == (8, 8)
    assert size_of(wire.Query(graph=graph))[2:] == (8, 8)
    assert size_of(wire.Query(architecture="timm:x"))[2:] == (0, 0)
    assert size_of("höher") == (1, 6 + ENVELOPE_BYTES, 0, 0)
