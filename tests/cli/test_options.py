"""Bounds of a filter that are multiples of what a model has."""

from dataclasses import dataclass, field

import pytest
from graphs import graph_of

from nar.base.errors import InvalidInputError
from nar.cli.options import Times, resolved
from nar.index.filters import Filter, Range, on

GRAPH = graph_of("input; conv 0; relu 1; conv 2")


@dataclass(frozen=True, slots=True)
class Renamed(Filter):
    """A range of another name than its column, and one of what a graph does not say."""

    operators: Range = field(default=Range(), metadata=on("nodes", "operators in the graph"))
    stars: Range = field(default=Range(), metadata=on("stars", "stars of its repository"))


def test_a_multiple_is_of_the_column_that_a_range_compares():
    wanted = Filter(families=("resnet",), nodes=Range(minimum=1))
    halves = resolved(wanted, {"max_nodes": Times(2), "min_nodes": Times(0.5)}, GRAPH)
    assert halves == Filter(families=("resnet",), nodes=Range(2, 8))
    assert resolved(Renamed(), {"max_operators": Times(0.5)}, GRAPH).operators == Range(None, 2)


def test_a_multiple_of_what_is_not_known_of_a_model_is_refused():
    with pytest.raises(InvalidInputError, match="--max-stars: wanted a count such as 30"):
        resolved(Renamed(), {"max_stars": Times(0.5)}, GRAPH)
