"""Settings of an index: where the vectors are, and how they are searched."""

from pathlib import Path
from typing import Final

from pydantic import Field

from nar.base.settings import Settings
from nar.index import IndexKind

# A rule of Milvus Lite: its directories end so.
LITE_SUFFIX: Final = ".db"

# A server that says nothing for ten seconds is likely to be away. Milvus Lite runs on this machine,
# in NAR's own process or beside it: where it is late, the machine is busy.
_SERVER_TIMEOUT_S: Final = 10.0
_LITE_TIMEOUT_S: Final = 60.0


def is_lite(uri: str) -> bool:
    """Whether an index is a directory of Milvus Lite, and no address of a Milvus server."""
    return uri.endswith(LITE_SUFFIX)


class IndexConfig(Settings):
    """Where the vectors are, and how they are searched."""

    uri: str = Field("work/index.db", description="a path ending in .db (Milvus Lite) or http://…")
    token: str | None = Field(None, description="token of a Milvus server", repr=False)
    alias: str = Field("architectures", pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")
    kind: IndexKind = Field(
        "FLAT", description="FLAT is exact, HNSW faster; the others take less memory of a server"
    )
    is_apart: bool = Field(
        False, description="run Milvus Lite in a process of its own, as servers do in any case"
    )
    batch_rows: int = Field(1_000, ge=1, le=10_000)
    timeout_s: float | None = Field(
        None, gt=0, description="how long a call may take: 10 for a server, 60 for Milvus Lite"
    )
    reader_rows: int = Field(
        100_000,
        ge=0,
        description="up to so many rows a server answers from memory, 4 bytes a dimension and "
        "about a kilobyte each; beyond them, or with 0, Milvus searches",
    )
    follow_s: float = Field(
        2.0,
        gt=0,
        description="how often a server looks whether the alias was switched, or rows were written",
    )
    compare_s: float = Field(
        300.0, gt=0, description="how often it compares rows that nobody says were written"
    )

    kept_jobs: int = Field(
        10, ge=1, description="jobs that `nar index rollback` can go back behind"
    )
    kept_rows: int = Field(
        2_000_000, ge=0, description="rows that are kept for that, but for the last job"
    )

    @property
    def is_lite(self) -> bool:
        """Whether it is a directory of Milvus Lite, and no address of a Milvus server."""
        return is_lite(self.uri)

    @property
    def call_timeout_s(self) -> float:
        """How long a call may take."""
        return self.timeout_s or (_LITE_TIMEOUT_S if self.is_lite else _SERVER_TIMEOUT_S)

    @property
    def is_missing(self) -> bool:
        """Whether it is a directory of Milvus Lite that does not exist: opening would create it."""
        return self.is_lite and not Path(self.uri).exists()

    @property
    def apart(self) -> "IndexConfig":
        """The same with Milvus Lite in a process of its own."""
        return self.model_copy(update={"is_apart": True})
