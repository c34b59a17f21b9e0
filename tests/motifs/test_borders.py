"""Borders: the layers whose width the data decides, on graphs that are seen at a glance."""

import numpy as np
import pytest
from graphs import graph_of

from nar.graphs.canonical import canonical
from nar.graphs.ops import ATTRIBUTES, op_name
from nar.motifs.borders import REACH, at_border
from nar.motifs.feature_sets import feature_sets
from nar.motifs.neighbours import wiring
from nar.motifs.partition import partition_all


def names_at_border(text):
    graph = canonical(graph_of(text))
    marked = at_border(wiring([graph]))
    return sorted(op_name(int(graph.op_ids[node])) for node in np.flatnonzero(marked))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("input; conv 0; relu 1; conv 2; mean 3; linear 4", ["conv", "linear"]),
        ("input; embedding 0; layer_norm 1; linear 2; gelu 3; linear 4", ["embedding", "linear"]),
        # Three outputs, one of them a sum, and a layer that reads the input beside the stem.
        (
            "input; conv 0; linear 1; conv 2; linear 2; conv 0; add 5 2",
            ["conv", "conv", "conv", "linear", "linear"],
        ),
        ("input; relu 0", []),
    ],
)
def test_layers_at_inputs_words_and_results(text, names):
    assert names_at_border(text) == names


def test_operators_without_weights_are_looked_through_but_not_for_ever():
    near, far = (
        "input; "
        + "; ".join(f"relu {node}" for node in range(count))
        + f"; conv {count}; conv {count + 1}; conv {count + 2}"
        for count in (REACH, REACH + 1)
    )
    assert len(names_at_border(near)) == 2
    assert len(names_at_border(far)) == 1


def with_widths(graph, ratios, heads):
    graph = canonical(graph)
    graph.attributes[:, ATTRIBUTES.index("channel_ratio")] = ratios
    graph.attributes[:, ATTRIBUTES.index("heads")] = heads
    return graph


def test_only_widths_inside_a_design_tell_it_apart():
    text = "input; conv 0; conv 1; conv 2; linear 3"
    ratios = [(0, 8, 4, 0, 3), (0, 9, 4, 0, 5), (0, 8, 5, 0, 3)]
    graphs = [with_widths(graph_of(text), each, heads) for heads, each in enumerate(ratios)]
    for border_widths, equal in ((True, [False, False]), (False, [True, False])):
        sets = feature_sets(partition_all(graphs), border_widths=border_widths)
        first, *others = (set(sets.take(np.array([row])).codes.tolist()) for row in range(3))
        assert [other == first for other in others] == equal
