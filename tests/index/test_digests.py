"""RowDigests: a dictionary of digests in 32 bytes a row."""

from hypothesis import given
from hypothesis import strategies as st

from nar.index import digests
from nar.index.digests import RowDigests

# Zero bytes at the end included: they must not be taken for padding.
texts = st.one_of(
    st.binary(min_size=16, max_size=16), st.sampled_from([bytes(16), b"a" + bytes(15)])
).map(bytes.hex)
pages = st.lists(st.dictionaries(texts, texts, max_size=8), max_size=6)


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
