"""RowDigests: a dictionary of digests in 40 bytes a row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nar.index import digests
from nar.index.digests import RowDigests, packed_rows

# Zero bytes at the end included: they must not be taken for padding.
texts = st.one_of(
    st.binary(min_size=16, max_size=16), st.sampled_from([bytes(16), b"a" + bytes(15)])
).map(bytes.hex)
pages = st.lists(st.dictionaries(texts, texts, max_size=8), max_size=6)


@pytest.mark.slow
@given(pages, st.dictionaries(texts, texts, max_size=8), st.integers(1, 5))
def test_it_answers_as_a_dictionary_does(known, asked, waiting):
    wanted: dict[str, str] = {}
    before, digests._WAITING = digests._WAITING, waiting
    try:
        held = RowDigests(known)
    finally:
        digests._WAITING = before
    for page in known:
        wanted |= page
    assert len(held) == len(wanted)
    assert held.holds(list(asked)) == [key in wanted for key in asked]
    assert held.differing(asked) == [wanted.get(key) != value for key, value in asked.items()]
    places = held.places(sorted(wanted))
    assert places.tolist() == list(range(len(wanted)))
    assert held.ids(places) == sorted(wanted)
    left = held.without(list(asked))
    assert left.ids(left.places(left.beside())) == sorted(wanted.keys() - asked.keys())
    assert held.beside(left) == sorted(wanted.keys() & asked.keys())


def test_ids_with_the_same_first_half_are_told_apart():
    keys = [f"{first:016x}{second:016x}" for first in (0, 5, 2**64 - 1) for second in range(5)]
    held = RowDigests([{key: key} for key in keys[::2]])
    held._sort_in()
    held.add({key: key for key in keys[::3]})
    wanted = sorted({*keys[::2], *keys[::3]})
    assert held.holds(keys) == [key in wanted for key in keys]
    assert held.ids(held.places(wanted)) == wanted


def test_rows_cross_processes_in_bytes():
    rows = {32 * "a": 32 * "1", 32 * "0": 32 * "2"}
    held = RowDigests()
    held.add_packed(packed_rows(rows))
    places, are_same = held.compared(packed_rows({**rows, 32 * "0": 32 * "3", 32 * "f": 32 * "2"}))
    assert (places.tolist(), are_same.tolist()) == ([1, 0, -1], [True, False, False])
