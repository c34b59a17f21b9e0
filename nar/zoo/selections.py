"""Named selections of architectures, for jobs that capture many: a name in, spec names out."""

from importlib.resources import files

from nar.errors import UnknownArchitectureError
from nar.zoo import SOURCES, list_specs
from nar.zoo.darts.models import SEED, member_name
from nar.zoo.darts.sampling import sample_classes

DEMO = "demo"
# Edits between a network of the DARTS selection and the centre of its class.
DARTS_DISTANCE = 4


def select(selection: str) -> list[str]:
    """The spec names of a selection, always the same and in the same order.

    Args:
        selection: ``demo``: some 320 real models that are quick to capture, related ones among
            them. ``timm``, ``torchvision``, ``transformers``: everything a source has.
            ``darts:<count>``: so many DARTS networks in ten classes.

    Raises:
        UnknownArchitectureError: No such selection.
        MissingLibraryError: The source's library is not installed.
    """
    if selection == DEMO:
        return _demo()
    if selection in SOURCES:
        return list_specs(selection)
    source, _, count = selection.partition(":")
    if source == "darts" and count.isascii() and count.isdigit():
        members = sample_classes(int(count), distance=DARTS_DISTANCE, seed=SEED)
        return [member_name(member) for member in members]
    raise UnknownArchitectureError(
        f"{selection}: no such selection; wanted {DEMO}, darts:<count>, or one of {SOURCES}"
    )


def _demo() -> list[str]:
    lines = files("nar.zoo").joinpath("demo.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
