"""Which parts of a job are finished: a small file for each, written after the part itself."""

from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from nar.base.files import write_whole

RecordT = TypeVar("RecordT", bound=BaseModel)
_SUFFIX = ".json"


class Record(BaseModel):
    """Base of the records that a ledger keeps of parts."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Ledger(Generic[RecordT]):
    """The finished parts of a job.

    Args:
        directory: Directory of its files; made when the first record is added.
        record: Class of the records.
    """

    def __init__(self, directory: Path, record: type[RecordT]) -> None:
        self._directory = directory
        self._record = record

    def parts(self) -> list[str]:
        """Every part that has a record, damaged ones included, sorted."""
        return sorted(path.stem for path in self._directory.glob(f"*{_SUFFIX}"))

    def find(self, part: str) -> RecordT | None:
        """The record of a part; None if it is not finished or its record is damaged."""
        try:
            return self._record.model_validate_json(self._path(part).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def add(self, part: str, record: RecordT) -> None:
        """Note that a part is finished: from now on it is never done again."""
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._path(part)
        text = record.model_dump_json(indent=1) + "\n"
        write_whole(path, partial(Path.write_text, data=text, encoding="utf-8"), survives=True)

    def remove(self, part: str) -> None:
        """Forget a part."""
        self._path(part).unlink(missing_ok=True)

    def _path(self, part: str) -> Path:
        return self._directory / f"{part}{_SUFFIX}"


def digest(*parts: str) -> str:
    """Sha256 hex of several texts; the borders between them count."""
    return sha256("".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """Sha256 hex of a file's bytes; empty if there is no such file."""
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
