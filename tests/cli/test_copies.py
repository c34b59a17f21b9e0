"""Hits that are one network stand in one row."""

from dataclasses import replace

from test_verdict import hits as hits_of

from nar.answers.query import Answer
from nar.base.console import Console
from nar.views.answer import NetworkRow, answer_view, one_row_a_network


def hits():
    three = hits_of(("a", 1.0), ("b", 0.9), ("c", 0.8))
    first, other, third = (replace(hit, exact=f"{n}" * 64) for n, hit in enumerate(three))
    copies = [replace(first, id=f"{n:032x}", name=f"own:copy{n}") for n in range(4)]
    return [first, copies[0], other, *copies[1:], third]


def test_copies_are_told_under_the_first_name():
    first, _, other, *_, third = hits()
    names = ("own:copy0", "own:copy1", "own:copy2", "own:copy3")
    assert one_row_a_network(hits(), 3) == [
        NetworkRow(first, names),
        NetworkRow(other),
        NetworkRow(third),
    ]
    assert one_row_a_network(hits(), 1) == [NetworkRow(first, names)]
    assert one_row_a_network([], 3) == []
    [row] = one_row_a_network(hits(), 1, "own:copy2")
    assert (row.hit.name, row.copies[0], len(row.copies)) == ("own:copy2", first.name, 4)


def test_the_name_whose_family_most_have_stands_for_all():
    first, copy, _, *others, _ = hits()
    wrapped = replace(first, family="wrapper")
    known = [replace(each, family="resnet") for each in (copy, others[0])]
    [row] = one_row_a_network([wrapped, *known], 1)
    assert row.hit.name == "own:copy0"
    assert row.copies == (wrapped.name, "own:copy1")
    assert one_row_a_network([wrapped, known[0]], 1)[0].hit == wrapped


def test_a_row_shows_two_copies_and_how_many_more():
    console = Console(width=120)
    with console.capture() as shown:
        console.print(answer_view("asked", Answer(tuple(hits())), one_row_a_network(hits(), 3)))
    lines = [" ".join(line.split()) for line in shown.get().splitlines()]
    assert lines.count("= own:copy0") == lines.count("= own:copy1") == 1
    assert lines.count("and 2 more") == 1
