"""The manifest of a corpus: what is in it, what is not, and from what it was made."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from nar.architecture import Architecture
from nar.errors import CorpusError

FILE_NAME = "manifest.json"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ShardEntry(_Record):
    """One Parquet file."""

    file: str
    rows: int
    sha256: str


class Failure(_Record):
    """A model that is not in the corpus, and why."""

    name: str
    operator: str
    reason: str


class SourceCounts(_Record):
    """Size of one source: captured, distinct networks, distinct designs, and what failed."""

    raw: int
    exact: int
    topology: int
    failed: int


class Manifest(_Record):
    """Everything known of a corpus besides its rows.

    Attributes:
        packages: Version of each library that was read.
        shards: The files, in order.
        sources: Sizes by source.
        failures: Every model that was asked for and is missing.
        unknown_operators: Occurrences of each operator outside the vocabulary.
        seconds: Wall time of the extraction.
        workers: Processes that shared it.
    """

    packages: dict[str, str]
    shards: tuple[ShardEntry, ...]
    sources: dict[str, SourceCounts]
    failures: tuple[Failure, ...] = ()
    unknown_operators: dict[str, int] = {}
    seconds: float = 0.0
    workers: int = 1

    def write(self, directory: Path) -> None:
        """Write ``manifest.json`` atomically."""
        part = directory / f"{FILE_NAME}.part"
        part.write_text(self.model_dump_json(indent=2) + "\n")
        part.replace(directory / FILE_NAME)

    @classmethod
    def read(cls, directory: Path) -> "Manifest":
        """Read the manifest of a corpus.

        Raises:
            CorpusError: There is none, or it is no manifest.
        """
        path = directory / FILE_NAME
        try:
            return cls.model_validate_json(path.read_text())
        except OSError as error:
            raise CorpusError(
                f"no corpus at {directory} ({path.name} is missing); "
                "make one with `python -m cluster.extract`"
            ) from error
        except ValidationError as error:
            raise CorpusError(f"{path} is no manifest of a corpus: {error}") from error


def count_sources(
    architectures: Iterable[Architecture], failures: Iterable[Failure]
) -> dict[str, SourceCounts]:
    """Sizes by source; a failure belongs to the source its name begins with."""
    rows = [(item.labels.source, item.exact, item.topology) for item in architectures]
    raw = Counter(source for source, _, _ in rows)
    exact = Counter(source for source, _ in {(source, code) for source, code, _ in rows})
    topology = Counter(source for source, _ in {(source, code) for source, _, code in rows})
    failed = Counter(failure.name.partition(":")[0] for failure in failures)
    return {
        source: SourceCounts(
            raw=raw[source],
            exact=exact[source],
            topology=topology[source],
            failed=failed[source],
        )
        for source in sorted(raw | failed)
    }
