"""Any model by its name: of a source of the zoo, or of a user's own file.

``timm:resnet50``, ``path/to/file.py:Model``, ``model.pt2``, ``model.onnx``, ``config.json``.
"""

from nar.base.asking import NOTHING_STATED, Asking
from nar.base.errors import InvalidInputError, MissingLibraryError, UnknownArchitectureError
from nar.base.extras import missing_in
from nar.base.model_files import WANTED, is_file_name
from nar.capture.record import with_unread
from nar.graphs.architecture import architecture
from nar.own.files import resolve_file
from nar.zoo.spec import ArchitectureSpec, Laps, ZooCapture, lap

__all__ = ["capture_architecture", "resolve"]


def resolve(name: str, asking: Asking = NOTHING_STATED) -> ArchitectureSpec:
    """The spec behind a name, labelled but not built.

    Args:
        name: A name of a source, or of a file.
        asking: What the user states of a model of their own.

    Raises:
        UnknownArchitectureError: No source has that name; the nearest names are given.
        MissingLibraryError: The source's library is not installed.
    """
    if is_file_name(name):
        return resolve_file(name, asking)
    # The sources import torch, which some files need not.
    from nar.zoo.sources import source_names, source_of

    source = source_of(name)
    if source is not None:
        if asking.states_inputs:
            raise InvalidInputError(name, "wanted stated inputs for path/to/file.py:Model only")
        return source.resolve(name)
    raise UnknownArchitectureError(
        f"{name}: wanted {', '.join(f'{known}:<model>' for known in source_names())}, {WANTED}"
    )


def capture_architecture(name: str, asking: Asking = NOTHING_STATED) -> ZooCapture:
    """Build, capture and label the model behind a name.

    Args:
        name: A name of a source, or of a file.
        asking: What the user states of a model of their own.

    Raises:
        UnknownArchitectureError: No source has that name.
        MissingLibraryError: The source's library is not installed.
        CaptureError: The model could not be built or captured.
    """
    with Laps() as laps:
        try:
            with lap("build"):
                spec = resolve(name, asking)
            # A source that does not say where its time goes spends it on the forward pass.
            with lap("forward"):
                capture = spec.capture()
        except ModuleNotFoundError as error:
            missing = missing_in(error)
            if missing is None:
                raise
            raise MissingLibraryError(f"{name} has to be captured, and {missing}") from error
        item = architecture(spec.labels, capture.network, capture.weights, with_unread(capture))
    return ZooCapture(
        item,
        capture.unknown_operators,
        laps.seconds(),
        capture.unknown_facts,
        capture.assumed,
        capture.unread,
    )
