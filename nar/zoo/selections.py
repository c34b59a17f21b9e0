"""Named selections of architectures, for jobs that capture many: a name in, spec names out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from nar.errors import MissingLibraryError, UnknownArchitectureError
from nar.zoo import SOURCES, list_specs
from nar.zoo.sources.darts.models import SEED, member_name
from nar.zoo.sources.darts.sampling import sample_classes

CORPUS = "corpus"
DEMO = "demo"
DARTS = "darts"
# Edits between a network of the DARTS selection and the centre of its class.
DARTS_DISTANCE = 4


@dataclass(frozen=True, slots=True)
class Selection:
    """Models that belong together.

    Attributes:
        names: Their specs, always the same and in the same order.
        skipped: Sources that belong to them and whose library is absent, with the way out.
    """

    names: tuple[str, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)


def select(selection: str) -> Selection:
    """The models of a named selection.

    Args:
        selection: ``corpus``: everything that every installed library has. ``demo``: some 320 real
            models that are quick to capture, related ones among them. The name of a source:
            everything it has. ``darts:<count>``: so many DARTS networks in ten classes.

    Raises:
        UnknownArchitectureError: No such selection.
        MissingLibraryError: The library of the one source that was asked for is not installed.
    """
    if selection == CORPUS:
        return _corpus()
    if selection == DEMO:
        return Selection(tuple(_demo()))
    if selection in SOURCES:
        return Selection(tuple(list_specs(selection)))
    source, _, count = selection.partition(":")
    if source == DARTS and count.isascii() and count.isdigit():
        members = sample_classes(int(count), distance=DARTS_DISTANCE, seed=SEED)
        return Selection(tuple(member_name(member) for member in members))
    raise UnknownArchitectureError(
        f"{selection}: no such selection; wanted {CORPUS}, {DEMO}, {DARTS}:<count>, "
        f"or one of {SOURCES}"
    )


def _corpus() -> Selection:
    """All that libraries register. DARTS is a space, not a library: it has a selection of its own.

    An absent library must not stop a job of hours, nor go unnoticed.
    """
    names: list[str] = []
    skipped: dict[str, str] = {}
    for source in SOURCES:
        if source == DARTS:
            continue
        try:
            names += list_specs(source)
        except MissingLibraryError as error:
            skipped[source] = str(error)
    return Selection(tuple(dict.fromkeys(names)), skipped)


def _demo() -> list[str]:
    lines = files("nar.zoo").joinpath("demo.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
