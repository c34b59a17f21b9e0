"""Networks of the DARTS space by genotype, and by the class a sample made them for."""

from functools import partial

from nar.base.errors import InvalidInputError, UnknownArchitectureError
from nar.capture import Capture
from nar.zoo.source import Entry, Source
from nar.zoo.sources.darts.genotypes import Genotype, parse_genotype
from nar.zoo.sources.darts.network import darts_network
from nar.zoo.sources.darts.sampling import Member, sample_centres
from nar.zoo.spec import lap

SEED = 0  # chosen: any number would do, but another gives other centres and classes


def _names() -> list[str]:
    """The centres of the ten classes: the whole space has about 10^18 networks."""
    return [_name(Member(genotype, label)) for label, genotype in enumerate(sample_centres(SEED))]


def member_name(member: Member) -> str:
    """The spec of a sampled network: its genotype, then its class after a number sign."""
    return f"{DARTS.name}:{_name(member)}"


def _name(member: Member) -> str:
    return f"{member.genotype}#{member.label}"


def _entry(name: str) -> Entry:
    """The network of ``<genotype>`` or ``<genotype>#<class>``.

    Raises:
        UnknownArchitectureError: The text is no genotype.
    """
    text, _, label = name.partition("#")
    try:
        genotype = parse_genotype(text)
    except InvalidInputError as error:
        example = f"{DARTS.name}:{DARTS.example}"
        raise UnknownArchitectureError(
            f"{DARTS.name}:{name}: {error}; a genotype reads {example}"
        ) from error
    return Entry(
        defining=DARTS.name,
        task="image-classification",
        capture=partial(_capture, genotype),
        family=f"{DARTS.name}-{label}" if label else DARTS.name,
    )


def _capture(genotype: Genotype, _name: str) -> Capture:
    with lap("graph"):
        return Capture(darts_network(genotype), {})


DARTS = Source(
    name="darts",
    library="",
    licence="Apache-2.0",
    form="<genotype>",
    # The network that Liu et al. found.
    example="sep3@0+sep3@1,sep3@0+sep3@1,skip@0+sep3@1,skip@0+dil3@2"
    "/max3@0+max3@1,max3@1+skip@2,max3@0+skip@2,max3@1+skip@2",
    names=_names,
    entry=_entry,
    citation="Liu et al. (2018)",
)
