"""How a command gets an architecture: out of a corpus, or by capturing it now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from nar.answers.naming import meant
from nar.base.console import stderr
from nar.base.errors import CorpusError, UnknownArchitectureError
from nar.choices import CorpusChoice
from nar.corpus import Location, find, read_backbones, read_named
from nar.graphs.architecture import Architecture
from nar.index.rows import Hit

if TYPE_CHECKING:
    from nar.zoo import ZooCapture


Shape: TypeAlias = Sequence[int] | None


def captured(name: str, input_shape: Shape = None) -> "ZooCapture":
    """Capture one model, showing that something happens."""
    # The libraries that build and capture models take seconds to import.
    from nar.zoo import capture_architecture

    with stderr.status(f"capturing {name}"):
        return capture_architecture(name, input_shape)


def fresh_or_known(
    corpus: CorpusChoice, name: str, *, fresh: bool, input_shape: Shape = None
) -> Architecture:
    """An architecture as the corpus has it; what it does not have, or cannot give, is captured.

    Args:
        corpus: Where it may be.
        name: As somebody wrote it.
        fresh: Whether to capture it even if the corpus has it.
        input_shape: Of a tensor that the module of a user's factory is given.

    Raises:
        UnknownArchitectureError: There is nothing of that name; the nearest are given.
        CaptureError: The model could not be captured.
    """
    try:
        directory = _directory(corpus)
        name = meant(name, directory)
        source, _, _ = name.partition(":")
        known = read_named(directory, [name], {source}) if directory and not fresh else {}
    except CorpusError:
        known = {}
    return known.get(name) or captured(name, input_shape).architecture


def looked_up(
    corpus: CorpusChoice, names: Sequence[str], input_shape: Shape = None
) -> Iterator[Architecture]:
    """Architectures by name; what the corpus does not have is captured.

    Args:
        corpus: Where they may be.
        names: As somebody wrote them.
        input_shape: Of a tensor that the modules of users' factories are given.

    Raises:
        CorpusError: The corpus that was named is missing or damaged.
        CaptureError: A model could not be captured.
    """
    directory = _directory(corpus)
    for written in names:
        name = meant(written, directory)
        yield _in_corpus(directory, name) or captured(name, input_shape).architecture


@dataclass(frozen=True, slots=True)
class AtHand:
    """What a corpus has of some hits, by name; nothing is captured for it.

    Attributes:
        networks: With their graphs.
        backbones: Families of the encoders that they stand on (`nar.graphs.architecture.Labels`).
    """

    networks: Mapping[str, Architecture] = field(default_factory=dict)
    backbones: Mapping[str, str] = field(default_factory=dict)


def at_hand(corpus: CorpusChoice, drawn: Sequence[Hit], labelled: Sequence[Hit]) -> AtHand:
    """What the corpus has of some hits.

    Args:
        corpus: Where it may be.
        drawn: Those whose graphs are wanted.
        labelled: Those whose backbones are wanted.

    Raises:
        CorpusError: The corpus that was named is missing or damaged.
    """
    directory = _directory(corpus)
    if directory is None:
        return AtHand()
    return AtHand(
        read_named(directory, *_names_and_sources(drawn)),
        read_backbones(directory, *_names_and_sources(labelled)),
    )


def _names_and_sources(hits: Sequence[Hit]) -> tuple[list[str], set[str]]:
    return [hit.name for hit in hits], {hit.source for hit in hits}


def _directory(corpus: CorpusChoice) -> Location | None:
    """Where the corpus lies; None if none was named and none came with the package."""
    try:
        return corpus.directory()
    except CorpusError:
        if corpus.is_named:
            raise
        return None


def _in_corpus(directory: Location | None, name: str) -> Architecture | None:
    if directory is None:
        return None
    try:
        return find(directory, name).architecture
    except UnknownArchitectureError:
        return None
