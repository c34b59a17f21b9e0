"""Splits: nothing that is asked about has been learned from, in the sense of each protocol."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nar.evaluation.benchmark.splits import (
    CAP,
    Member,
    capped,
    split_asked,
    split_distinct,
    split_paper,
    split_unseen,
)

SPLITS = {"paper": split_paper, "distinct": split_distinct, "unseen": split_unseen}


def corpus(families=12, designs=10, twins=3):
    return [
        Member(f"f{family}:d{design}:t{twin}", f"f{family}", f"{family}-{design}")
        for family in range(families)
        for design in range(designs)
        for twin in range(twins)
    ]


MEMBERS = st.lists(
    st.builds(
        Member,
        name=st.text("abcdef", min_size=1, max_size=6),
        family=st.sampled_from("ABCDE"),
        topology=st.sampled_from("123456789"),
        backbone=st.sampled_from(["", "x"]),
        is_named=st.booleans(),
    ),
    unique_by=lambda member: member.name,
    max_size=60,
)


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_every_member_has_a_role_that_the_seed_decides(split):
    members = corpus()
    roles = split(members, 0)
    assert list(roles) == [member.name for member in members]
    assert roles == split(members, 0) == split(members[::-1], 0)
    assert roles != split(members, 1)
    assert set(roles.values()) >= {"train", "validation", "test"}


def test_a_tenth_of_each_family_is_asked_about():
    members = corpus(designs=20, twins=1)
    for split in (split_paper, split_distinct):
        roles = split(members, 3)
        tests = Counter(m.family for m in members if roles[m.name] == "test")
        assert set(tests.values()) == {2}
        assert len(tests) == 12


@given(MEMBERS)
def test_no_design_has_two_roles(members):
    roles = split_distinct(members, 0)
    roles_of = defaultdict(set)
    for member in members:
        roles_of[member.topology].add(roles[member.name])
    assert all(len(each) == 1 for each in roles_of.values())


@given(MEMBERS)
def test_what_is_learned_from_knows_nothing_of_a_family_held_out(members):
    roles = split_unseen(members, 0)
    held_out = [m for m in members if roles[m.name] in ("test", "validation")]
    learned = [m for m in members if roles[m.name] == "train"]
    assert {m.family for m in held_out}.isdisjoint(m.family for m in learned)
    assert {m.topology for m in held_out}.isdisjoint(m.topology for m in learned)
    tests = {m.family for m in members if roles[m.name] == "test"}
    assert tests.isdisjoint(m.family for m in members if roles[m.name] == "validation")


@given(MEMBERS, st.lists(st.sets(st.text("abcdef", min_size=1, max_size=6), max_size=5)))
def test_of_what_asks_by_name_no_design_is_learned_from(members, groups):
    groups = [sorted(group) for group in groups] + [[member.name for member in members[:3]]]
    roles = split_asked(members, groups, 0)
    names = {name for group in groups for name in group} & roles.keys()
    assert {n for n, role in roles.items() if role in ("test", "validation")} == names
    asked = {m.topology for m in members if m.name in names}
    learned = {m.topology for m in members if roles[m.name] == "train"}
    assert asked.isdisjoint(learned)
    assert list(roles) == [member.name for member in members]


def test_a_fifth_of_the_groups_selects_and_shared_names_ask_the_test():
    members = corpus(families=10, designs=1, twins=3)
    groups = [[m.name for m in members if m.family == f"f{number}"] for number in range(10)]
    roles = split_asked(members, groups, 0)
    selecting = [group for group in groups if {roles[name] for name in group} == {"validation"}]
    assert len(selecting) == 2
    again = split_asked(members, [*groups, *[selecting[0]] * 40], 0)
    assert {again[name] for name in selecting[0]} == {"test"}


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_a_new_member_of_another_family_moves_nobody(split):
    members = corpus(families=11)
    grown = [*members, Member("new:1", "new", "new-1")]
    before, after = split(members, 0), split(grown, 0)
    assert {name: after[name] for name in before} == before


def test_few_of_each_kind_of_composed_architecture_are_kept():
    composed = [
        Member(f"unet/{encoder}{n}", "unet", f"{encoder}{n // 2}", encoder, is_named=False)
        for encoder in ("resnet", "vgg")
        for n in range(10)
    ]
    named = [Member(f"resnet{n}", "resnet", f"r{n}") for n in range(10)]
    kept = capped([*composed, *named])
    assert Counter(member.backbone for member in kept) == {"": 10, "resnet": CAP, "vgg": CAP}
    of_resnet = [member.topology for member in kept if member.backbone == "resnet"]
    assert len(set(of_resnet)) == CAP
