"""The language of example inputs: shapes of numbers and names, values, lists and constants."""

import doctest

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nar.zoo import example
from nar.zoo.example import made, shape_of

SETTINGS = {"layers": [2, 3], "width": None, "channels": 4, "dims": 3}


def known(name):
    return SETTINGS.get(name)


def test_the_examples_of_the_module_hold():
    assert doctest.testmod(example).failed == 0


def test_shapes_are_sums_of_products_of_alternatives():
    extents = [1, "channels*2+1", "layers", "width|channels", "width|7", "2*3+channels"]
    assert shape_of(extents, known) == (1, 9, 2, 4, 7, 10)


def test_sides_are_as_many_as_there_are_dimensions():
    assert shape_of([1, {"sides": 96}], known) == (1, 96, 96, 96)


@pytest.mark.slow
@given(st.lists(st.integers(0, 5), max_size=4))
def test_numbers_stand_for_themselves(extents):
    tensor = made(extents, known)
    assert tensor.shape == tuple(extents)
    assert tensor.dtype == torch.float
    assert bool((tensor == 1).all())


@pytest.mark.parametrize("names", ["width", "width|height"])
def test_a_setting_that_is_missing_is_named(names):
    with pytest.raises(ValueError, match="wanted one of width"):
        shape_of([names], known)


def test_a_mark_that_is_unknown_is_named():
    with pytest.raises(ValueError, match="half: wanted one of float, long, bool"):
        made({"half": [1]}, known)


@pytest.mark.parametrize(
    ("entry", "dtype", "values"),
    [
        ({"long": [2]}, torch.long, [1, 1]),
        ({"bool": [2], "value": False}, torch.bool, [False, False]),
        ({"float": [2], "value": "channels"}, torch.float, [4.0, 4.0]),
        ({"long": [2, 2], "value": ["channels", 9]}, torch.long, [[4, 9], [4, 9]]),
        ({"long": [2, 3], "value": "range"}, torch.long, [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_tensors_are_filled_with_what_is_asked_for(entry, dtype, values):
    tensor = made(entry, known)
    assert tensor.dtype == dtype
    assert tensor.tolist() == values


def test_nests_hold_entries_and_constants():
    entry = {"named": {"pair": {"each": [[1], "channels"]}, "as_is": {"value": [[1, 8]]}}}
    nest = made(entry, known)
    assert nest["pair"][0].shape == (1,)
    assert nest["pair"][1] == 4
    assert nest["as_is"] == [[1, 8]]


@pytest.mark.parametrize("constant", [None, False, 1.5, 3])
def test_what_is_no_shape_is_passed_as_it_is(constant):
    assert made(constant, known) is constant
