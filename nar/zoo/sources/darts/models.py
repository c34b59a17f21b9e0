"""Networks of the DARTS space by genotype, and by the class a sample made them for."""

from functools import partial

from nar.architecture import Labels
from nar.capture import Capture
from nar.errors import InvalidInputError, UnknownArchitectureError
from nar.zoo.sources.darts.genotypes import Genotype, parse_genotype
from nar.zoo.sources.darts.network import darts_graph
from nar.zoo.sources.darts.sampling import Member, sample_centres
from nar.zoo.spec import ArchitectureSpec

SOURCE = "darts"
SEED = 0


def list_darts() -> list[str]:
    """The centres of the ten classes: the whole space has about 10^18 networks."""
    return [
        member_name(Member(genotype, label)) for label, genotype in enumerate(sample_centres(SEED))
    ]


def member_name(member: Member) -> str:
    """The name of a sampled network: its genotype, then its class after a number sign."""
    return f"{SOURCE}:{member.genotype}#{member.label}"


def resolve_darts(name: str) -> ArchitectureSpec:
    """The spec behind ``darts:<genotype>`` or ``darts:<genotype>#<class>``.

    Raises:
        UnknownArchitectureError: The text is no genotype.
    """
    text, _, label = name.removeprefix(f"{SOURCE}:").partition("#")
    try:
        genotype = parse_genotype(text)
    except InvalidInputError as error:
        example = list_darts()[0].partition("#")[0]
        raise UnknownArchitectureError(f"{name}: {error}; a genotype reads {example}") from error
    labels = Labels(
        name=name,
        source=SOURCE,
        library="Liu et al. (2018)",
        family=f"{SOURCE}-{label}" if label else SOURCE,
        task="image-classification",
    )
    return ArchitectureSpec(labels, partial(_capture, genotype))


def _capture(genotype: Genotype) -> Capture:
    return Capture(darts_graph(genotype), {})
