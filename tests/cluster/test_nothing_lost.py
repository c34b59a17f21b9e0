"""Jobs, clients and failures in any order: no row leaves an index that nobody has named."""

import pytest

from benchmark.campaigns.campaign import last
from benchmark.campaigns.rows import Job, Rows, Write, digests_of, rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store", "runs"),
    [("lite", 12), pytest.param("server", 6, marks=pytest.mark.milvus_server)],
)
def test_no_row_is_missing_that_nobody_named(store, runs):
    tally = last(rows(Rows(runs=runs, store=store, writers=2)))
    assert (tally.done, tally.faults) == (runs, ())


def test_what_must_be_there_after_a_step():
    before = digests_of({"a": 1, "b": 1, "client": 1})
    kept = Job({"a": 2, "c": 1}, failing=frozenset({"c"}), meanwhile=(Write({"client": 2}),))
    assert kept.expected(before) == digests_of({"a": 2, "b": 1, "client": 2})
    assert Job({"a": 2}, removes=True).expected(before) == digests_of({"a": 2})
    assert Write({"d": 1}, frozenset({"a"})).expected(before) == digests_of(
        {"b": 1, "client": 1, "d": 1}
    )
