"""Splits: which architectures are learned from, which select a model, which are asked about.

Every choice is by a hash of the seed and of what is chosen, so an item that comes to a data set
moves no other.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

Role = Literal["train", "validation", "test", "gallery"]

TEST_SHARE = 0.1
VALIDATION_SHARE = 0.1
# Whole families held out.
TEST_FAMILIES = 0.2
VALIDATION_FAMILIES = 0.1
# Groups of twins that select a model.
VALIDATION_GROUPS = 0.2
# Composed and swept architectures of one decoder on one family of encoders.
CAP = 5
_SMALLEST_SPLIT = 3  # one item for each role


@dataclass(frozen=True, slots=True)
class Member:
    """What a split looks at.

    Attributes:
        name: Unique.
        family: Relevant items are those of it.
        topology: Items of one topology are one design: they share a role.
        backbone: Family of the encoder of a composed architecture, else empty.
        is_named: Whether a library registers exactly this.
    """

    name: str
    family: str
    topology: str
    backbone: str = ""
    is_named: bool = True


def order(seed: int, key: Hashable) -> bytes:
    """A place in an order that depends on seed and key only."""
    return blake2b(f"{seed}:{key}".encode(), digest_size=16).digest()


def capped(
    members: Sequence[Member], *, cap: int = CAP, always: Container[str] = ()
) -> list[Member]:
    """The members of a benchmark: all named ones, and a few of each pair of decoder and encoder.

    Designs that are there already come last, so that what is kept differs.

    Args:
        members: All there are.
        cap: How many of each pair.
        always: Names that are kept besides.
    """
    groups: defaultdict[tuple[str, str], list[Member]] = defaultdict(list)
    kept = [member for member in members if member.is_named or member.name in always]
    for member in members:
        if not (member.is_named or member.name in always):
            groups[member.family, member.backbone].append(member)
    for group in groups.values():
        seen: set[str] = set()
        fresh: list[Member] = []
        copies: list[Member] = []
        for member in sorted(group, key=lambda member: order(0, member.name)):
            (copies if member.topology in seen else fresh).append(member)
            seen.add(member.topology)
        kept += (fresh + copies)[:cap]
    return sorted(kept, key=lambda member: member.name)


def split_paper(members: Sequence[Member], seed: int) -> dict[str, Role]:
    """A tenth of each family is asked about, whatever its twins are: the paper's protocol."""
    return _drawn(members, seed, unit=lambda member: member.name)


def split_distinct(members: Sequence[Member], seed: int) -> dict[str, Role]:
    """A tenth of the designs of each family is asked about; no item has a twin in another role."""
    return _drawn(members, seed, unit=lambda member: member.topology)


def split_unseen(members: Sequence[Member], seed: int) -> dict[str, Role]:
    """Families held out whole, with every item that is a twin of one of theirs.

    Only families of two designs or more are held out: the others have no question.
    """
    designs = _units(members, lambda member: member.topology)
    families = sorted(
        (family for family, units in designs.items() if len(units) > 1),
        key=lambda family: order(seed, family),
    )
    test = set(families[: round(TEST_FAMILIES * len(families))])
    rest = families[len(test) :]
    validation = set(rest[: round(VALIDATION_FAMILIES * len(families))])
    held_out = {member.topology for member in members if member.family in test | validation}
    return {m.name: _role_of_unseen(m, test, validation, held_out) for m in members}


def split_asked(
    members: Sequence[Member], groups: Sequence[Collection[str]], seed: int
) -> dict[str, Role]:
    """Whole groups of names ask, a fifth of them to select a model; of no such design is learned.

    A name of several groups asks the test if one of them does.
    """
    ordered = sorted(groups, key=lambda group: order(seed, tuple(group)))
    first = round(VALIDATION_GROUPS * len(ordered))
    roles: dict[str, Role] = {
        **{name: "validation" for group in ordered[:first] for name in group},
        **{name: "test" for group in ordered[first:] for name in group},
    }
    asked = {member.topology for member in members if member.name in roles}
    left: dict[bool, Role] = {True: "gallery", False: "train"}
    return {m.name: roles.get(m.name, left[m.topology in asked]) for m in members}


def _role_of_unseen(
    member: Member, test: Container[str], validation: Container[str], held_out: Container[str]
) -> Role:
    if member.family in test:
        return "test"
    if member.family in validation:
        return "validation"
    # A twin of a held-out item is not learned from, though its own family is.
    return "gallery" if member.topology in held_out else "train"


def _drawn(
    members: Sequence[Member], seed: int, *, unit: Callable[[Member], str]
) -> dict[str, Role]:
    """A share of the units of each family for each role; the rest is learned from."""
    tests: set[str] = set()
    validations: set[str] = set()
    for units in _units(members, unit).values():
        if len(units) < _SMALLEST_SPLIT:
            continue
        drawn = sorted(units, key=lambda each: order(seed, each))
        first = max(1, round(TEST_SHARE * len(drawn)))
        tests.update(drawn[:first])
        validations.update(drawn[first:][: max(1, round(VALIDATION_SHARE * len(drawn)))])
    # A design of two families may be drawn twice: the test goes first.
    roles: dict[str, Role] = {
        **dict.fromkeys(validations, "validation"),
        **dict.fromkeys(tests, "test"),
    }
    return {member.name: roles.get(unit(member), "train") for member in members}


def _units(members: Sequence[Member], unit: Callable[[Member], str]) -> dict[str, list[str]]:
    """Distinct units by family, in the order of the members."""
    distinct: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for member in members:
        distinct[member.family][unit(member)] = None
    return {family: list(units) for family, units in distinct.items()}
