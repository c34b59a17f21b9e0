"""Classes of DARTS networks: ten centres, and members a known number of edits from a centre."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from random import Random

from nar.base.errors import InvalidInputError
from nar.zoo.sources.darts import edits, genotypes
from nar.zoo.sources.darts.edits import Codes
from nar.zoo.sources.darts.genotypes import Genotype

CLASSES = 10  # of the NAS data set of `nar.zoo.sources.darts.dataset`
# Two random genotypes lie 19 edits apart in the median; at 17 even the nearest two centres are
# farther apart than any member is from its own centre.
CENTRE_DISTANCE = 17
# Each of 8 nodes can be taken 2 edits away by changing its two operations, whatever it reads. So up
# to 16 edits some edit always leads one step farther.
MAX_EDITS = 16
# Chosen: after so many walks in a row that end at members seen before, none is expected to be left.
# More would find a few more members, and take longer to say that there are too few.
_REPEATS_ALLOWED = 1_000


@dataclass(frozen=True, slots=True)
class Member:
    """A genotype and the class it was made for.

    Attributes:
        genotype: The network.
        label: Class, 0 to 9.
    """

    genotype: Genotype
    label: int


def spread(start: int, stop: int) -> list[Genotype]:
    """Genotypes ``start`` to ``stop`` of a fixed sequence that covers the whole space evenly.

    All are different, and no process has to know what another has drawn: each draws any part.
    """
    # Steps of the golden ratio leave no gap and no cluster; without a common factor with the size
    # of the space they meet every genotype once.
    step = genotypes.GENOTYPE_COUNT * 618_033_988_749 // 10**12
    while gcd(step, genotypes.GENOTYPE_COUNT) > 1:
        step += 1
    return [
        genotypes.genotype_at(number * step % genotypes.GENOTYPE_COUNT)
        for number in range(start, stop)
    ]


def sample_centres(seed: int) -> list[Genotype]:
    """Ten genotypes, each at least `CENTRE_DISTANCE` edits from every other."""
    random = Random(f"centres {seed}")
    centres: list[Genotype] = []
    while len(centres) < CLASSES:
        genotype = genotypes.genotype_at(random.randrange(genotypes.GENOTYPE_COUNT))
        if all(edits.edit_distance(genotype, centre) >= CENTRE_DISTANCE for centre in centres):
            centres.append(genotype)
    return centres


def sample_classes(count: int, *, distance: int = 4, seed: int = 0) -> list[Member]:
    """Distinct members of ten classes, the classes in turn.

    Args:
        count: How many; a smaller sample is the beginning of a larger one.
        distance: Edits between a member and the centre of its class, exactly.
        seed: Fixes the centres and the members.

    Raises:
        InvalidInputError: The distance is outside 1 to `MAX_EDITS`, or has no ``count`` members.
    """
    return [
        Member(genotypes.parse_genotype(text), number % CLASSES)
        for number, text in enumerate(sample_texts(count, distance=distance, seed=seed))
    ]


def sample_texts(count: int, *, distance: int, seed: int) -> list[str]:
    """The members of `sample_classes` as texts of genotypes, without making the records.

    Raises:
        InvalidInputError: As `sample_classes`.
    """
    if not 1 <= distance <= MAX_EDITS:
        raise InvalidInputError("distance", f"wanted 1 to {MAX_EDITS}, came {distance}")
    streams = [
        _members(edits.codes_of(centre.index), distance, Random(f"class {label} {seed}"))
        for label, centre in enumerate(sample_centres(seed))
    ]
    return [edits.genotype_text(next(streams[number % CLASSES])) for number in range(count)]


def _members(centre: Codes, distance: int, random: Random) -> Iterator[Codes]:
    """Distinct genotypes around a centre, without end."""
    seen: set[Codes] = set()
    while True:
        attempts = (_walk(centre, distance, random) for _ in range(_REPEATS_ALLOWED))
        fresh = next((codes for codes in attempts if codes not in seen), None)
        if fresh is None:
            raise InvalidInputError(
                "count", f"wanted more than the {len(seen)} members found {distance} edits away"
            )
        seen.add(fresh)
        yield fresh


def _walk(centre: Codes, distance: int, random: Random) -> Codes:
    """Edit at random, keeping the edits that lead one step farther from the centre."""
    codes = list(centre)
    choices = edits.edit_choices()
    rows = [edits.distances_from(node % genotypes.NODES, code) for node, code in enumerate(centre)]
    steps = 0
    while steps < distance:
        node, choice = random.choice(choices)
        edited = edits.code_edits(node % genotypes.NODES)[codes[node]][choice]
        if rows[node][edited] == rows[node][codes[node]] + 1:
            codes[node] = edited
            steps += 1
    return tuple(codes)
