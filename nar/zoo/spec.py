"""What a source of architectures offers: names, and behind each name a model to capture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nar.base.errors import UnknownArchitectureError
from nar.base.suggestions import close_names
from nar.capture import Capture
from nar.graphs.architecture import Architecture, Labels
from nar.graphs.assumed import Assumed
from nar.graphs.unread import Unread
from nar.zoo.timing import CaptureSeconds


@dataclass(frozen=True, slots=True)
class ArchitectureSpec:
    """A named model that has not been built yet.

    Attributes:
        labels: Name and labels, known before the model is.
        capture: Builds the model and captures its graph; raises `CaptureError`.
    """

    labels: Labels
    capture: Callable[[], Capture]


@dataclass(frozen=True, slots=True)
class ZooCapture:
    """A captured model of the zoo.

    Attributes:
        architecture: Labels, canonical graph and fingerprints.
        unknown_operators: How often each operator outside the vocabulary occurred.
        seconds: Where the time went.
        unknown_facts: See `Capture`.
        assumed: See `Capture`.
        unread: See `Capture`.
    """

    architecture: Architecture
    unknown_operators: dict[str, int]
    seconds: CaptureSeconds
    unknown_facts: dict[str, int] = field(default_factory=dict)
    assumed: Assumed | None = None
    unread: Unread | None = None


def unknown_architecture(
    name: str, candidates: Sequence[str], *, way_out: str
) -> UnknownArchitectureError:
    """The error for a name that no source has, with the names nearest to it.

    Args:
        name: What was asked for.
        candidates: All names it might have been.
        way_out: What to do where nothing is near.
    """
    near = close_names(name, candidates)
    hint = f"did you mean {', '.join(near)}?" if near else way_out
    return UnknownArchitectureError(f"{name}: no such architecture; {hint}")
