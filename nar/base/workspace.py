"""Where things are kept: the workspace of a corpus, its encoder and their index; the cache."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nar.base.errors import IndexUnavailableError

ELSEWHERE: Final = "name another directory with XDG_CACHE_HOME, or a Milvus server with --uri"


@dataclass(frozen=True, slots=True)
class Workspace:
    """One directory with a corpus, the encoder trained on it, and the index made of both.

    Attributes:
        root: The directory.

    Example:
        >>> Workspace(Path("work")).checkpoint.as_posix()
        'work/checkpoint'
    """

    root: Path

    @property
    def corpus(self) -> Path:
        """Directory of Parquet shards and their manifest."""
        return self.root / "corpus"

    @property
    def checkpoint(self) -> Path:
        """Directory of the encoder's weights and configuration."""
        return self.root / "checkpoint"

    @property
    def index(self) -> Path:
        """The embedded index, used where no server is named."""
        return self.root / "index.db"

    @property
    def novelty(self) -> Path:
        """How far the designs in the index are from each other."""
        return self.root / "novelty.json"

    @property
    def evaluation(self) -> Path:
        """Cells of the benchmark, and data sets that take minutes to make."""
        return self.root / "evaluation"


def cache_directory() -> Path:
    """Where NAR may keep what it can make again: ``$XDG_CACHE_HOME/nar`` or ``~/.cache/nar``.

    Raises:
        IndexUnavailableError: This user has no home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "nar"
    except RuntimeError as error:
        raise IndexUnavailableError(f"{error}; {ELSEWHERE}") from error
