"""Splits: nothing that is asked about has been learned from, in the sense of each protocol."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.tasks.splits import (
    CAP,
    Member,
    capped,
    reserve,
    split_copies,
    split_distinct,
    split_paper,
    split_unseen,
)

SPLITS = {"paper": split_paper, "distinct": split_distinct, "unseen": split_unseen}


def corpus(families=20, designs=10, twins=3):
    return [
        Member(f"f{family}:d{design}:t{twin}", f"f{family}", f"{family}-{design}")
        for family in range(families)
        for design in range(designs)
        for twin in range(twins)
    ]


NAMES = st.text("abcdef", min_size=1, max_size=6)
MEMBERS = st.lists(
    st.builds(
        Member,
        name=NAMES,
        family=st.sampled_from("ABCDEFGHIJ"),
        topology=st.sampled_from("123456789"),
        backbone=st.sampled_from(["", "", "A", "B", "C"]),
        is_named=st.booleans(),
    ),
    unique_by=lambda member: member.name,
    max_size=80,
)
GROUPS = st.lists(st.lists(NAMES, max_size=5), max_size=10)


def alone(groups):
    """Groups of which everybody asks."""
    return {tuple(group): group for group in groups}


def of_role(members, roles, *wanted):
    return [member for member in members if roles[member.name] in wanted]


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_every_member_has_a_role_that_the_seed_decides(split):
    members = corpus()
    reserved = reserve(members)
    roles = split(members, reserved, 0)
    assert list(roles) == [member.name for member in members]
    assert roles == split(members, reserved, 0) == split(members[::-1], reserve(members[::-1]), 0)
    assert roles != split(members, reserved, 1)
    assert set(roles.values()) >= {"train", "validation", "test"}


def test_a_tenth_of_each_family_is_asked_about():
    members = corpus(designs=20, twins=1)
    reserved = reserve(members)
    for split in (split_paper, split_distinct):
        roles = split(members, reserved, 3)
        tests = Counter(member.family for member in of_role(members, roles, "test"))
        assert set(tests.values()) == {2}
        assert tests.keys() == {m.family for m in members} - reserved.families


@given(MEMBERS)
def test_no_design_has_two_roles(members):
    roles = split_distinct(members, reserve(members), 0)
    of_design = defaultdict(set)
    for member in members:
        of_design[member.topology].add(roles[member.name])
    assert all(len(each) == 1 for each in of_design.values())


@given(MEMBERS)
def test_what_is_learned_from_knows_nothing_of_a_family_held_out(members):
    roles = split_unseen(members, reserve(members), 0)
    learned = of_role(members, roles, "train")
    held = of_role(members, roles, "test", "validation")
    assert {m.topology for m in held}.isdisjoint(m.topology for m in learned)
    # Neither as a family nor as what others stand on.
    seen = {m.family for m in learned} | {m.backbone for m in learned}
    assert all({m.family, m.backbone} - seen - {""} for m in held)


@given(MEMBERS, GROUPS)
def test_what_selects_a_model_asks_in_no_test(members, groups):
    groups = [*groups, *([member.name] for member in members[::3])]
    reserved = reserve(members, groups)
    selecting, testing = set(), set()
    for seed in range(3):
        splits = [split(members, reserved, seed) for split in SPLITS.values()]
        copies = split_copies(members, reserved, seed, groups=alone(groups), rewritten=())
        for roles in (*splits, copies):
            selecting |= {m.topology for m in of_role(members, roles, "validation")}
            testing |= {m.topology for m in of_role(members, roles, "test", "known")}
    assert testing.isdisjoint(reserved.designs)
    assert selecting <= reserved.designs


@given(MEMBERS, GROUPS, st.integers(0, 3))
def test_of_what_has_copies_that_ask_no_design_is_learned_from(members, groups, seed):
    groups = [*groups, [member.name for member in members[:3]]]
    rewritten = {member.name for member in members[3:5]}
    reserved = reserve(members, groups)
    last = [member.name for member in members[-1:]]
    later = {tuple(group): (*group, *last) for group in groups}
    roles = split_copies(members, reserved, seed, groups=later, rewritten=rewritten)
    asking = {m.topology for m in of_role(members, roles, "test", "validation")}
    # The last one is an implementation of every design, and does not ask.
    asking |= {m.topology for m in members if asking and m.name in last}
    asking |= {m.topology for m in members if m.name in rewritten}
    assert asking.isdisjoint(m.topology for m in of_role(members, roles, "train"))
    assert list(roles) == [member.name for member in members]


def test_a_fifth_of_the_groups_selects_and_half_of_the_others_test():
    members = corpus(families=20, designs=1, twins=3)
    groups = [[m.name for m in members if m.family == f"f{number}"] for number in range(20)]
    reserved = reserve(members, groups)
    roles = split_copies(members, reserved, 0, groups=alone(groups), rewritten=())
    of_groups = Counter(next(iter({roles[name] for name in group})) for group in groups)
    assert of_groups == {"validation": 4, "test": 8, "train": 8}


def test_designs_of_learned_families_are_held_out_to_be_told_from_new_ones():
    members = corpus()
    roles = split_unseen(members, reserve(members), 0)
    known = Counter(member.family for member in of_role(members, roles, "known"))
    learned = {member.family for member in of_role(members, roles, "train")}
    assert known.keys() == learned
    assert set(known.values()) == {3}  # a design, three times


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_a_new_member_of_another_family_moves_nobody(split):
    members = corpus(families=22)
    grown = [*members, Member("new:1", "new", "new-1")]
    before = split(members, reserve(members), 0)
    after = split(grown, reserve(grown), 0)
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
