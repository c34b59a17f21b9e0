"""Named selections of architectures, for jobs that capture many: a name in, spec names out."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nar.base import errors
from nar.base.workspace import job, package_lines
from nar.zoo.sources import list_specs, source_names
from nar.zoo.sources.darts.models import DARTS, SEED, member_name
from nar.zoo.sources.darts.sampling import sample_classes

CORPUS = "corpus"
DEMO = "demo"
# Chosen: each network is captured by itself, as models of libraries are, and that takes minutes for
# so many.
MOST_DRAWN = 10_000
# Edits between a network of the DARTS selection and the centre of its class.
DARTS_DISTANCE = 4


@dataclass(frozen=True, slots=True)
class Selection:
    """Models that belong together.

    Attributes:
        names: Their specs, always the same and in the same order.
        skipped: Source -> why it is left out, and the way out: its library is not installed, or
            another package registers it and it cannot be used.
    """

    names: tuple[str, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)


def select(selection: str) -> Selection:
    """The models of a named selection.

    Args:
        selection: ``corpus``: everything that every installed library has. ``demo``: 376 real
            models that are quick to capture, related ones among them. The name of a source:
            everything it has. ``darts:<count>``: so many DARTS networks in ten classes, up to
            `MOST_DRAWN`.

    Raises:
        InvalidInputError: More networks than `MOST_DRAWN`.
        UnknownArchitectureError: No such selection.
        MissingLibraryError: The library of the one source that was asked for is not installed.
    """
    if selection == CORPUS:
        return _corpus()
    if selection == DEMO:
        return Selection(tuple(package_lines("zoo", "demo.txt")))
    if selection in source_names():
        return Selection(tuple(list_specs(selection)))
    source, _, count = selection.partition(":")
    if source == DARTS.name and count.isascii() and count.isdigit():
        if int(count) > MOST_DRAWN:
            raise errors.InvalidInputError(
                "count",
                f"wanted at most {MOST_DRAWN} of {DARTS.name}, came {count}; for any number, "
                f"without classes, run {job('draw')} with --count",
            )
        members = sample_classes(int(count), distance=DARTS_DISTANCE, seed=SEED)
        return Selection(tuple(member_name(member) for member in members))
    raise errors.UnknownArchitectureError(
        f"{selection}: no such selection; wanted {CORPUS}, {DEMO}, {DARTS.name}:<count>, "
        f"or one of {source_names()}"
    )


def _corpus() -> Selection:
    """All that libraries register. DARTS is a space, not a library: it has a selection of its own.

    Neither an absent library nor a broken plugin may stop a job of hours, nor go unnoticed.
    """
    names: list[str] = []
    skipped: dict[str, str] = {}
    for source in source_names():
        if source == DARTS.name:
            continue
        try:
            names += list_specs(source)
        except (errors.MissingLibraryError, errors.PluginError) as error:
            skipped[source] = str(error)
    return Selection(tuple(dict.fromkeys(names)), skipped)
