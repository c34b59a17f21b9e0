"""Where a command finds an architecture: in a corpus, or by capturing it now."""

from dataclasses import dataclass
from pathlib import Path

from nar.architecture import Architecture
from nar.console import DEFAULT_WORK, stderr
from nar.corpus import default_corpus, find
from nar.errors import CorpusError, UnknownArchitectureError
from nar.workspace import Workspace
from nar.zoo import ZooCapture, capture_architecture


@dataclass(frozen=True, slots=True)
class Place:
    """Which corpus a command reads.

    Attributes:
        work: The workspace whose corpus is read where none is named.
        corpus: The directory of a corpus, if one is named.
    """

    work: Path
    corpus: Path | None = None

    def directory(self) -> Path:
        """Directory of the corpus; says on stderr which it is.

        The corpus of the package stands in for that of the default workspace only: who names a
        workspace means it.

        Raises:
            CorpusError: There is none.
        """
        chosen = self.corpus or self._unnamed()
        stderr.print(f"reading the corpus at {chosen}", style="dim", highlight=False)
        return chosen

    def _unnamed(self) -> Path:
        if self.work == DEFAULT_WORK:
            return default_corpus(Workspace(self.work).corpus)
        return Workspace(self.work).corpus


def captured(name: str) -> ZooCapture:
    """Capture one model, showing that something happens."""
    with stderr.status(f"capturing {name}"):
        return capture_architecture(name)


def looked_up(directory: Path, name: str) -> Architecture:
    """An architecture of a corpus; what the corpus does not have is captured."""
    try:
        return find(directory, name).architecture
    except UnknownArchitectureError:
        return captured(name).architecture


def looked_up_anywhere(place: Place, name: str) -> Architecture:
    """An architecture of the corpus if there is one, else captured."""
    try:
        directory = place.directory()
    except CorpusError:
        return captured(name).architecture
    return looked_up(directory, name)
