"""Where files are kept: those of the package, with its release, a workspace, the cache."""

import os
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from nar.base.errors import IndexUnavailableError
from nar.base.files import yaml_content

# Not `nar`, which is somebody else's on the public index; what is imported is `nar`.
DISTRIBUTION: Final = "nar-search"


def version() -> str:
    """The release that is installed."""
    # Imported here: it imports a parser of e-mails, which no other part of a command needs.
    from importlib import metadata

    return metadata.version(DISTRIBUTION)


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
        """The Milvus Lite index, used where no server is named."""
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


def package_path(*parts: str, package: str = "nar") -> Path:
    """Path of a file that ships with NAR, below the directory of its package.

    Example:
        >>> package_path("zoo", "demo.txt").name
        'demo.txt'
    """
    # NAR is installed as files, never as an archive: its data are read by memory map.
    return Path(str(files(package))).joinpath(*parts)


def job(name: str) -> str:
    """The command of a bulk job, as it is typed here.

    The code of the jobs is the folder `cluster` of a checkout, and is installed as `nar.cluster`.

    Example:
        >>> job("embed")
        '`python -m cluster.embed`'
    """
    is_installed = package_path("cluster").is_dir()
    return f"`python -m {'nar.' * is_installed}cluster.{name}`"


def package_text(*parts: str, package: str = "nar") -> str:
    """The text of a file that ships with NAR."""
    return package_path(*parts, package=package).read_text(encoding="utf-8")


@cache
def package_yaml(*parts: str, package: str = "nar") -> Any:  # noqa: ANN401
    """The content of a YAML file that ships with NAR, read once and shared: do not change it."""
    return yaml_content(package_text(*parts, package=package))


def package_lines(*parts: str, package: str = "nar") -> list[str]:
    """The lines of a list that ships with NAR, without empty ones and comments (``#``)."""
    lines = package_text(*parts, package=package).splitlines()
    return [line for line in lines if line and not line.startswith("#")]
