"""Filters: no text changes the meaning of an expression, in any index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from milvus_lite.search.filter.tokens import TokenKind, tokenize
from oracle import DIM, passes, row

from nar.base.errors import InvalidQueryError
from nar.index.dialect import equal_any, expression
from nar.index.filters import GROUPS, MAX_DEPTH, MAX_VALUES, Filter, Range, conditions_of
from nar.index.rows import FINGERPRINTS

HOSTILE = [
    "",
    "'",
    '"',
    "\\",
    "\\'",
    "a\\",
    "'] or id not in ['",
    "x' or '1' == '1",
    "a\nb",
    "a\rb",
    "a\tb",
    "\0",
    "\x85",
    "\u2028",
    "\\n",
    "\\u0041",
    "\\x41",
    "\\101",
    "{x}",
    "%",
    "_",
    "$meta",
    "true",
    "\U0001f600",
    "e\u0301",
    "\u00e9",
    "ﬀ",
    " a",
    "a ",
]
TEXT = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text("\\'\"nrt[], \n", max_size=8),
)
EAST = np.eye(1, DIM, dtype=np.float32)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(values=st.lists(TEXT, min_size=1, max_size=4))
def test_a_literal_reads_back_as_the_text(values):
    tokens = tokenize(equal_any("name", tuple(values)))
    strings = [token.value for token in tokens if token.kind is TokenKind.STRING]
    assert strings == values
    others = [token.text for token in tokens if token.kind is not TokenKind.STRING]
    assert others == ["name", "in", "[", *[","] * (len(values) - 1), "]", ""]


def test_hostile_texts_find_their_own_rows_only(backend):
    rows = [row(f"row {number}", 1, family=text) for number, text in enumerate(HOSTILE)]
    index = backend.fill(rows)
    for text in HOSTILE:
        [hits] = index.search(EAST, 99, Filter(families=(text,)))
        assert [hit.family for hit in hits] == [text]


@pytest.mark.slow
def test_any_texts_mean_what_they_say(backend):
    @settings(max_examples=backend.examples, deadline=None)
    @given(texts=st.lists(TEXT, min_size=1, max_size=20), asked=st.lists(TEXT, max_size=3))
    def holds(texts, asked):
        rows = [row(text, 1, task=text[::-1]) for text in dict.fromkeys(texts)]
        index = backend.fill(rows)
        for wanted in (
            Filter(names=tuple(asked)),
            Filter(names=tuple(texts[:2])),
            Filter(tasks=(texts[0], *asked), names=(texts[0],)),
        ):
            [hits] = index.search(EAST, 99, wanted)
            assert {hit.name for hit in hits} == {r.name for r in rows if passes(wanted, r)}

    holds()


COUNTS = st.none() | st.integers(0, 9) | st.just(2**63 - 1)
RANGES = st.builds(
    lambda low, high: Range(low, high if high is None or low is None else max(low, high)),
    COUNTS,
    COUNTS,
)
SMALL = st.lists(st.sampled_from("abc"), max_size=2).map(tuple)
PRINTS = st.lists(st.sampled_from(["a" * 64, "b" * 64, "c" * 64]), max_size=2).map(tuple)
FILTERS = st.builds(
    Filter,
    **{
        condition.field: RANGES
        if condition.is_range
        else PRINTS
        if condition.column in FINGERPRINTS
        else SMALL
        for condition in conditions_of(Filter)
        if condition.column != "name" and not condition.words
    },
)


@pytest.fixture(scope="session")
def grid():
    """Rows of every sort, a few hundred."""
    rng = np.random.default_rng(0)

    def pick():
        return str(rng.choice(list("abc")))

    return [
        row(
            f"row {number}",
            1,
            source=pick(),
            library=pick(),
            family=pick(),
            block=pick(),
            task=pick(),
            topology=pick() * 64,
            exact=pick() * 64,
            parameters=int(rng.integers(10)),
            flops=int(rng.integers(10)),
            nodes=int(rng.integers(10)),
        )
        for number in range(300)
    ]


@pytest.mark.slow
def test_all_fields_of_a_filter_hold_together(backend, grid):
    index = backend.fill(grid)

    @settings(max_examples=60, deadline=None)
    @given(wanted=FILTERS)
    def holds(wanted):
        [hits] = index.search(EAST, 999, wanted)
        assert {hit.name for hit in hits} == {item.name for item in grid if passes(wanted, item)}

    holds()


# Few texts and bounds, so that most filters let some rows pass and not all.
LEAVES = st.builds(Filter, families=SMALL, topologies=PRINTS, nodes=RANGES)


def grouped(filters):
    """Filters that hold some of these in groups."""
    group = st.lists(filters, max_size=3).map(tuple)
    return st.builds(Filter, families=SMALL, **dict.fromkeys(GROUPS, group))


NESTED = st.recursive(LEAVES, grouped, max_leaves=8).filter(lambda wanted: wanted != Filter())


@pytest.mark.slow
def test_filters_in_filters_mean_what_they_say(backend, grid):
    rows = grid[:60]
    index = backend.fill(rows)

    @settings(max_examples=60, deadline=None)
    @given(wanted=NESTED)
    def holds(wanted):
        [hits] = index.search(EAST, 99, wanted)
        assert {hit.name for hit in hits} == {item.name for item in rows if passes(wanted, item)}

    holds()


NAMES = ["a1", "a2", "b2", "b9", "c2"]
NOTHING_SET = Filter()
STRANGE = Filter(tasks=("none",), flops=Range(5, 6), exacts=("d" * 64,))
A, B = Filter(families=("a",)), Filter(families=("b",), nodes=Range(2, 5))


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Filter(any_of=()), "a1 a2 b2 b9 c2"),
        (Filter(any_of=(NOTHING_SET,)), "a1 a2 b2 b9 c2"),
        (Filter(any_of=(NOTHING_SET, A)), "a1 a2 b2 b9 c2"),
        (Filter(all_of=(NOTHING_SET,)), "a1 a2 b2 b9 c2"),
        (Filter(none_of=(NOTHING_SET,)), ""),
        (Filter(none_of=(A, NOTHING_SET)), ""),
        (Filter(none_of=(Filter(none_of=(NOTHING_SET,)),)), "a1 a2 b2 b9 c2"),
        (Filter(any_of=(A, B)), "a1 a2 b2"),
        (Filter(all_of=(A, B)), ""),
        (Filter(none_of=(A, B)), "b9 c2"),
        (Filter(none_of=(B,), nodes=Range(maximum=2)), "a1 a2 c2"),
        (Filter(nodes=Range(2, 2), any_of=(A, B), none_of=(A,)), "b2"),
        (Filter(all_of=(Filter(any_of=(A, B)), Filter(nodes=Range(minimum=2)))), "a2 b2"),
        (Filter(none_of=(Filter(none_of=(A,)),)), "a1 a2"),
    ],
)
def test_groups_of_filters(backend, wanted, names):
    rows = [row(name, 1, family=name[0], nodes=int(name[1])) for name in NAMES]
    [hits] = backend.fill(rows).search(EAST, 9, wanted)
    assert sorted(hit.name for hit in hits) == names.split()


@pytest.mark.slow
def test_the_largest_filters_are_answered(backend):
    """As many filters as may be, as deep as may be, with as many texts as may be."""
    index = backend.fill([row("kept", 1, family="it's"), row("left", 1, family="b")])
    kept = Filter(families=("it's",), nodes=Range(1, 99))
    values = tuple(f"value {number} \\ '" for number in range((MAX_VALUES - 100) // 62))
    many = Filter(any_of=(*[Filter(families=values)] * 62, kept))
    every = Filter(all_of=(Filter(nodes=Range(minimum=1)),) * 62, any_of=(kept,))
    long = Filter(names=tuple(f"{number}" * 800 for number in range(2_000)), none_of=(kept,))
    deep = kept
    for _ in range(MAX_DEPTH - 1):
        deep = Filter(blocks=("cnn",), parameters=Range(1, 99), none_of=(deep, *[STRANGE] * 8))
    for wanted, names in ((many, {"kept"}), (every, {"kept"}), (long, set()), (deep, {"left"})):
        [hits] = index.search(EAST, 9, wanted)
        assert {hit.name for hit in hits} == names


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"names": ("a", "\ud800")}, "names[1]"),
        ({"families": "resnet"}, "families"),
        ({"tasks": (7,)}, "tasks[0]"),
        ({"sources": ("x" * 4_097,)}, "sources[0]"),
        ({"libraries": ("é" * 2_049,)}, "libraries[0]"),
        ({"blocks": ("x",) * 10_001}, "blocks"),
        ({"parameters": Range(minimum=-1)}, "parameters.minimum"),
        ({"flops": Range(maximum=2**63)}, "flops.maximum"),
        ({"nodes": Range(minimum=1.5)}, "nodes.minimum"),
        ({"nodes": Range(maximum=True)}, "nodes.maximum"),
        ({"nodes": Range(3, 2)}, "nodes"),
        ({"nodes": (3,)}, "nodes"),
    ],
)
def test_what_no_row_can_have_is_refused(fields, field):
    with pytest.raises(InvalidQueryError) as caught:
        Filter(**fields)
    assert caught.value.field == field


def test_expressions_are_readable():
    wanted = Filter(families=("resnet", "vit"), parameters=Range(maximum=10), nodes=Range(1, 2))
    assert expression(wanted) == (
        "(nodes >= 1 and nodes <= 2) and (family in ['resnet', 'vit'] and parameters <= 10)"
    )
    assert expression(Filter()) == ""
    either = Filter(any_of=(Filter(nodes=Range(1, 2)), Filter(none_of=(A,))), tasks=("t",))
    assert expression(either) == (
        "task in ['t'] and ((nodes >= 1 and nodes <= 2) or (not (family in ['a'])))"
    )
