"""Who asks for evidence, and how what is said of them is counted."""

from itertools import islice

import pytest

from benchmark.editing.parts import has_head
from benchmark.evidence import queries
from benchmark.evidence.parts import (
    Comparison,
    FamilyVote,
    PartShares,
    Setting,
    compare_all,
    family_shares,
    part_shares,
    vote_all,
)
from benchmark.evidence.queries import DEPTH, NEW, WHOLE, AtlasQueries
from benchmark.tasks import frozen
from benchmark.tasks.asking import EDITS
from nar.answers.part_of import PartOf, Whole
from nar.answers.verdict import FamilyCount, FamilyVerdict


def beside(rank, name, share, *, where="the end", original=False, kin=False):
    return Comparison(rank, original, kin, Whole(name, PartOf(share, 0.5, where)))


def test_what_is_said_is_counted_query_by_query():
    found = [beside(0, "timm:a", 0.95, kin=True), beside(1, "timm:b", 1, original=True, kin=True)]
    second = [beside(0, "timm:c", 1), beside(1, "timm:a", 0.95, original=True, kin=True)]
    silent = [beside(0, "timm:a", 0.5, original=True), beside(1, "timm:b", 1, where="")]
    deep = [beside(7, "timm:a", 1, original=True)]
    told = part_shares([found, second, silent, deep], Setting(hits=5, min_share=0.9))
    assert told == PartShares(queries=4, reached=0.75, contained=0.5, named=0.25, kin=0.25, any=0.5)
    assert part_shares([deep], Setting(hits=10)).named == 1


def test_a_family_is_right_only_where_it_is_said():
    near = FamilyVerdict(10, (FamilyCount("bart", 8, 0.97, 0.9),))
    far = FamilyVerdict(10, (FamilyCount("bart", 10, 0.4, 1.0),))
    told = family_shares(
        [
            FamilyVote("bart", near),
            FamilyVote("t5", near),
            FamilyVote("bart", far),
            FamilyVote("t5", far),
        ]
    )
    assert (told.queries, told.speaks, told.right) == (4, 0.5, 0.5)


@pytest.fixture(scope="module")
def asking():
    # Drawn by a hash: all that may ask take minutes of a core, and say no more.
    return AtlasQueries("validation", most=150)


@pytest.mark.slow
def test_only_originals_that_select_a_model_ask_for_settings(asking):
    changed = list(asking.changed())
    assert {one.original.name for one in changed} <= frozen.selecting()
    kinds = {one.kind for one in changed}
    assert kinds >= {EDITS, "first_40", "without_head", "decoder_alone"}
    assert all(len(one.by_design) == len(one.by_copy) == DEPTH for one in changed)
    halves = [one for one in changed if one.kind == "middle_half"][:10]
    told = compare_all(halves)["middle_half"]
    # Whatever was cut out of a hit is contained in it.
    assert all(each.whole.part.share == 1 for query in told for each in query if each.is_original)


@pytest.mark.slow
def test_wholes_have_a_head_and_their_design_does_not_answer(asking):
    wholes = list(asking.wholes())
    assert len(wholes) > 100
    for one in wholes:
        assert one.original.name in frozen.selecting()
        assert one.original.topology not in {hit.topology for hit in one.compared(DEPTH)}
        assert has_head(one.graph)
    votes = vote_all(wholes)
    assert votes.keys() == {WHOLE}
    assert family_shares(votes[WHOLE]).right > 0.9


@pytest.mark.slow
def test_models_of_a_new_family_are_answered_by_strangers(asking, monkeypatch):
    monkeypatch.setattr(queries, "_TOGETHER", 40)
    # Strangers of one family are found as those of another: some of the families are enough.
    new = list(islice(asking.of_new_families(), 40))
    assert {one.kind for one in new} == {NEW}
    for one in new:
        assert one.original.family not in {hit.family for hit in one.by_design}
