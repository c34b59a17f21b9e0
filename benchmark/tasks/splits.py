"""Splits: which architectures are learned from, which select a model, which are asked about.

What selects a model is drawn once, whatever the seed, and asks in no test: settings that were
chosen on it are tested on others. Every choice is by a hash of the seed and of what is chosen, so
an item that comes to a data set moves no other.

    members ──> reserve ──> selects a model: families, designs, groups of twins
            └─> rest ─────> split, by seed: train | test | gallery | known
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal, TypeVar

# A `known` item is a design of a family that is learned, held out to be told from new families.
Role = Literal["train", "validation", "test", "gallery", "known"]
Roles = Mapping[str, Role]
Key = TypeVar("Key", bound=Hashable)

TEST_SHARE: Final = 0.1
# Whole families held out.
TEST_FAMILIES: Final = 0.2
# Of families, of the designs of each other family, of groups of twins: what selects a model.
RESERVED_FAMILIES: Final = 0.1
RESERVED_DESIGNS: Final = 0.1
RESERVED_GROUPS: Final = 0.2
# Share of the remaining groups of twins that ask the test.
TEST_GROUPS: Final = 0.5
# Composed and swept architectures of one decoder on one family of encoders.
CAP: Final = 5
_SMALLEST_SPLIT: Final = 3  # designs of a family: one to learn, one to select, one to test
_SELECTION: Final = "selection"  # in the place of a seed


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


@dataclass(frozen=True, slots=True)
class Reserved:
    """What selects a model, and is never tested.

    Attributes:
        families: Whole families, with every model that stands on such a family.
        designs: Topologies of members of reserved groups and families, and of some others.
        groups: Groups of twins, as they were given.
    """

    families: frozenset[str]
    designs: frozenset[str]
    groups: frozenset[tuple[str, ...]]


def order(seed: int | str, key: Hashable) -> bytes:
    """A position in an order that depends on seed and key only."""
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


def reserve(
    members: Sequence[Member],
    groups: Iterable[Collection[str]] = (),
    *,
    families_share: float = RESERVED_FAMILIES,
) -> Reserved:
    """Draw what selects a model: some families, a tenth of the designs of others, some groups.

    Args:
        members: All of the benchmark.
        groups: Names of twins.
        families_share: Of the families of two designs or more.
    """
    ordered = _ordered({tuple(group) for group in groups}, _SELECTION)
    chosen = frozenset(ordered[: round(RESERVED_GROUPS * len(ordered))])
    names = {name for group in chosen for name in group}
    designs = {member.topology for member in members if member.name in names}
    families = _drawn_families(members, _SELECTION, families_share, among=_several(members))
    designs |= {member.topology for member in members if _touches(member, families)}
    for family, units in _units(members, lambda member: member.topology).items():
        if family not in families and len(units) >= _SMALLEST_SPLIT:
            designs.update(_share(units, _SELECTION, RESERVED_DESIGNS))
    return Reserved(frozenset(families), frozenset(designs), chosen)


def split_paper(members: Sequence[Member], reserved: Reserved, seed: int) -> dict[str, Role]:
    """A tenth of each family is asked about, whatever its twins are: the paper's protocol."""
    return _drawn(members, reserved, seed, unit=lambda member: member.name)


def split_distinct(members: Sequence[Member], reserved: Reserved, seed: int) -> dict[str, Role]:
    """A tenth of the designs of each family is asked about; no item has a twin in another role."""
    return _drawn(members, reserved, seed, unit=lambda member: member.topology)


def split_unseen(members: Sequence[Member], reserved: Reserved, seed: int) -> dict[str, Role]:
    """Families held out whole, with what stands on one of them and with every twin of these.

    Only families of two designs or more are held out: the others have no question. A tenth of the
    designs of every other family is held out as well: what is known is to be told from them.
    """
    among = _several(members) - reserved.families
    test = _drawn_families(members, seed, TEST_FAMILIES, among=among)
    held_out = {m.topology for m in members if _touches(m, test | reserved.families)}
    free = [member for member in members if member.topology not in reserved.designs]
    known = {
        design
        for designs in _units(free, lambda member: member.topology).values()
        if len(designs) >= _SMALLEST_SPLIT
        for design in _share(designs, seed, TEST_SHARE)
    }

    def role(member: Member) -> Role:
        if _touches(member, reserved.families):
            return "validation"
        if _touches(member, test):
            return "gallery" if member.topology in reserved.designs else "test"
        if member.topology in held_out:
            return "gallery"
        return "known" if member.topology in known else "train"

    return {member.name: role(member) for member in members}


def split_copies(
    members: Sequence[Member],
    reserved: Reserved,
    seed: int,
    *,
    groups: Mapping[tuple[str, ...], Collection[str]],
    rewritten: Container[str],
) -> dict[str, Role]:
    """Copies of a design ask for each other: twins in other libraries, models written otherwise.

    No design is learned from whose copies ask, in the test or to select a model.

    Args:
        members: All of the benchmark.
        reserved: Groups that select a model.
        seed: Draws half of the other groups.
        groups: Names of twins that ask -> of all implementations of their design.
        rewritten: Names of models that were written otherwise.
    """
    left = _ordered(groups.keys() - reserved.groups, seed)
    testing = left[: round(TEST_GROUPS * len(left))]
    asking = {name for group in testing for name in group}
    selecting = {name for group in reserved.groups for name in group}
    held_out = {name for group in (*testing, *reserved.groups) for name in groups[group]}
    asked = {
        member.topology for member in members if member.name in held_out or member.name in rewritten
    }

    def role(member: Member) -> Role:
        if member.name in selecting:
            return "validation"
        if member.name in asking and member.topology not in reserved.designs:
            return "test"
        return "gallery" if member.topology in asked else "train"

    return {member.name: role(member) for member in members}


def _drawn(
    members: Sequence[Member], reserved: Reserved, seed: int, *, unit: Callable[[Member], str]
) -> dict[str, Role]:
    """A share of the units of each family asks; the rest is learned from."""
    tests: set[str] = set()
    free = [member for member in members if member.topology not in reserved.designs]
    for units in _units(free, unit).values():
        if len(units) >= _SMALLEST_SPLIT - 1:
            tests.update(_share(units, seed, TEST_SHARE))

    def role(member: Member) -> Role:
        if member.topology in reserved.designs:
            return "train" if _touches(member, reserved.families) else "validation"
        return "test" if unit(member) in tests else "train"

    return _same_for_twins(members, {member.name: role(member) for member in members}, unit)


def _same_for_twins(
    members: Sequence[Member], roles: dict[str, Role], unit: Callable[[Member], str]
) -> dict[str, Role]:
    """A unit that has two roles keeps the role that is not learned from."""
    units: defaultdict[str, set[Role]] = defaultdict(set)
    for member in members:
        units[unit(member)].add(roles[member.name])
    return {member.name: next(iter(units[unit(member)] - {"train"}), "train") for member in members}


def _touches(member: Member, families: Container[str]) -> bool:
    """Whether a member is of one of the families, or stands on one."""
    return member.family in families or member.backbone in families


def _several(members: Sequence[Member]) -> set[str]:
    """Families of two designs or more."""
    units = _units(members, lambda member: member.topology)
    return {family for family, designs in units.items() if len(designs) > 1}


def _drawn_families(
    members: Sequence[Member], seed: int | str, share: float, *, among: Collection[str]
) -> set[str]:
    return set(_ordered(among, seed)[: round(share * len(_several(members)))])


def _share(units: Collection[str], seed: int | str, share: float) -> list[str]:
    """A share of the units, one at least."""
    return _ordered(units, seed)[: max(1, round(share * len(units)))]


def _ordered(keys: Iterable[Key], seed: int | str) -> list[Key]:
    return sorted(keys, key=lambda key: order(seed, key))


def _units(members: Sequence[Member], unit: Callable[[Member], str]) -> dict[str, list[str]]:
    """Distinct units by family, in the order of the members."""
    distinct: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for member in members:
        distinct[member.family][unit(member)] = None
    return {family: list(units) for family, units in distinct.items()}
