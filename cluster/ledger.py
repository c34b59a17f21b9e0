"""Which parts of a job are finished: a small file for each, written after the part itself.

A job that was killed goes on after the last part of its ledger; one that is repeated finds
everything done.
"""

from hashlib import sha256
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from nar.errors import ConfigError

RecordT = TypeVar("RecordT", bound=BaseModel)
_JOB_FILE = "job"


class Record(BaseModel):
    """Base of what a ledger holds of a part."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Ledger(Generic[RecordT]):
    """The finished parts of one job.

    Args:
        directory: Where its files are; made on first use.
        record: Class of the records.
    """

    def __init__(self, directory: Path, record: type[RecordT]) -> None:
        self._directory = directory
        self._record = record

    def begin(self, job: str, *, way_out: str) -> None:
        """Start a job, or go on with the same one.

        Args:
            job: Digest of everything that decides the result.
            way_out: What the user can do when the directory belongs to another job.

        Raises:
            ConfigError: The ledger is of another job.
        """
        held = self.job()
        if held is not None and held != job:
            raise ConfigError(f"{self._directory} is the ledger of another job; {way_out}")
        self._directory.mkdir(parents=True, exist_ok=True)
        self._write(_JOB_FILE, job)

    def job(self) -> str | None:
        """The job that the ledger belongs to; None before the first."""
        path = self._directory / _JOB_FILE
        return path.read_text() if path.exists() else None

    def clear(self) -> None:
        """Forget the job and all its parts."""
        for path in self._directory.glob("*"):
            path.unlink()

    def find(self, part: str) -> RecordT | None:
        """The record of a part; None if it is not finished or its record is damaged."""
        path = self._directory / f"{part}.json"
        try:
            return self._record.model_validate_json(path.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def add(self, part: str, record: RecordT) -> None:
        """Note that a part is finished: from here on it is never done again."""
        self._write(f"{part}.json", record.model_dump_json(indent=2) + "\n")

    def _write(self, name: str, text: str) -> None:
        path = self._directory / name
        temporary = path.with_name(f"{name}.part")
        temporary.write_text(text)
        temporary.replace(path)


def digest(*parts: str) -> str:
    """Sha256 hex of texts; where one ends and the next begins counts."""
    return sha256("".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()
