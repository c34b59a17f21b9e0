"""Pages by id: every index shows the rows that pass, each once, whatever is written meanwhile."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import DIM, Oracle, passes, row

from nar.base.errors import InvalidQueryError
from nar.index.exact import ExactIndex
from nar.index.filters import EVERYTHING, Filter, Range
from nar.index.rows import COLUMNS, architecture_id

ROWS = [
    row(f"row {number}", 1, number, nodes=number, family="abc"[number % 3]) for number in range(90)
]
FEW = Filter(any_of=(Filter(nodes=Range(3, 3)), Filter(families=("a",), nodes=Range(80, 88))))
LAST = "f" * 32


def listed(index, size, wanted=EVERYTHING):
    """All pages of some size, one behind the other, as a caller asks for them."""
    entries, page = [], index.page("", size, wanted)
    while page:
        entries += page
        assert len(page) <= size
        page = index.page(page[-1].id, size, wanted)
    return entries


def columns_of(entries):
    return [tuple(getattr(entry, column) for column in COLUMNS) for entry in entries]


def expected(wanted):
    return columns_of(sorted((r for r in ROWS if passes(wanted, r)), key=lambda item: item.id))


@pytest.mark.parametrize(
    "wanted", [EVERYTHING, FEW, Filter(families=("c",)), Filter(names=("no",))]
)
def test_pages_hold_every_row_that_passes_once_and_by_id(backend, wanted):
    index = backend.fill(ROWS)
    for size in (7, 30, 90, 16_384):
        assert columns_of(listed(index, size, wanted)) == expected(wanted)


def test_pages_of_one_row(backend):
    index = backend.fill(ROWS[:20])
    assert [entry.id for entry in listed(index, 1)] == sorted(item.id for item in ROWS[:20])


def test_a_page_begins_behind_any_id(backend):
    index = backend.fill(ROWS)
    ids = sorted(item.id for item in ROWS)
    middle = f"{int(ids[40], 16) + 1:032x}"  # an id that no row has
    assert [entry.id for entry in index.page(middle, 3)] == ids[41:44]
    assert index.page(LAST, 3) == index.page(ids[-1], 3) == []
    assert backend.fill([]).page("", 3) == []


@pytest.mark.parametrize(
    ("after", "limit", "field"),
    [("' or id != '", 1, "after"), ("F" * 32, 1, "after"), ("", 0, "limit"), ("", -1, "limit")],
)
def test_what_is_no_page_is_refused(backend, after, limit, field):
    with pytest.raises(InvalidQueryError) as caught:
        backend.fill([]).page(after, limit)
    assert caught.value.field == field


NAMES = st.lists(st.integers(0, 200).map("n{}".format), max_size=30, unique=True)
SOME = st.sampled_from([EVERYTHING, Filter(nodes=Range(maximum=1)), Filter(none_of=(Filter(),))])


@pytest.mark.slow
def test_any_rows_in_pages_of_any_size(backend):
    @settings(max_examples=min(backend.examples, 60), deadline=None)
    @given(names=NAMES, size=st.integers(1, 9), wanted=SOME)
    def holds(names, size, wanted):
        rows = [row(name, 1, nodes=len(name) - 2) for name in names]
        index, exact = backend.fill(rows), Oracle()
        exact.upsert(rows)
        assert columns_of(listed(index, size, wanted)) == columns_of(listed(exact, size, wanted))

    holds()


@pytest.mark.slow
def test_what_is_written_meanwhile_hides_nothing_and_repeats_nothing(backend):
    index, ending = backend.fill(ROWS), Event()

    def write():
        number = 0
        while not ending.is_set():
            index.upsert([row(f"other {number}", 1, number), ROWS[number % 40]])
            index.delete([architecture_id(f"other {number - 3}")])
            number += 1
        return number

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            listings = [[entry.id for entry in listed(index, 11)] for _ in range(4)]
        finally:
            ending.set()
        assert writing.result()
    for ids in listings:
        assert ids == sorted(set(ids))
        assert {item.id for item in ROWS} <= set(ids)


def test_a_changed_index_pages_through_the_rows_that_it_has():
    before = ExactIndex(ROWS[:3], dim=DIM)
    assert len(before.page("", 9)) == 3
    after = before.changed([ROWS[5]], gone=[ROWS[0].id])
    expected_ids = sorted(item.id for item in (ROWS[1], ROWS[2], ROWS[5]))
    assert [entry.id for entry in after.page("", 9)] == expected_ids
    assert len(before.page("", 9)) == 3
