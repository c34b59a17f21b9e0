"""Where a command finds an architecture: in a corpus, or by capturing it now."""

from collections.abc import Iterator, Sequence
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
        stderr.print(f"reading the corpus at {chosen}", style="dim")
        return chosen

    @property
    def is_named(self) -> bool:
        """Whether the user said which corpus it is."""
        return self.corpus is not None or self.work != DEFAULT_WORK

    def _unnamed(self) -> Path:
        own = Workspace(self.work).corpus
        return own if self.is_named else default_corpus(own)


def captured(name: str) -> ZooCapture:
    """Capture one model, showing that something happens."""
    with stderr.status(f"capturing {name}"):
        return capture_architecture(name)


def looked_up(place: Place, names: Sequence[str]) -> Iterator[Architecture]:
    """Architectures by name; what the corpus does not have is captured.

    Raises:
        CorpusError: The corpus that was named is missing or damaged.
        CaptureError: A model could not be captured.
    """
    try:
        directory = place.directory()
    except CorpusError:
        if place.is_named:
            raise
        directory = None
    for name in names:
        yield _found(directory, name) or captured(name).architecture


def _found(directory: Path | None, name: str) -> Architecture | None:
    if directory is None:
        return None
    try:
        return find(directory, name).architecture
    except UnknownArchitectureError:
        return None
