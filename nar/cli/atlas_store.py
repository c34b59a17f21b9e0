"""The atlas as a collection of Milvus: where it is kept, and how it comes there.

It imports nothing that captures models: a server waits for it.
"""

import logging
import os
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Final

from nar.atlas import VECTORS, Atlas, read_atlas
from nar.config import IndexConfig
from nar.corpus.manifest import FILE_NAME
from nar.encoding.checkpoint import fingerprint, load_checkpoint
from nar.errors import IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import SCHEMA_VERSION
from nar.index.milvus import RefusedError

log = logging.getLogger(__name__)

_ELSEWHERE: Final = "name another directory with XDG_CACHE_HOME, or a Milvus server with --uri"


def atlas_config(atlas: Atlas, config: IndexConfig, *, is_named: bool) -> IndexConfig:
    """Where the collection of an atlas is: where it is told to be, or else in the user's cache.

    Of other vectors, of a renewed corpus or of another schema version it lies in another directory
    of the cache.

    Args:
        atlas: Which.
        config: Everything else of the index.
        is_named: Whether somebody chose the URI of that configuration.

    Raises:
        IndexUnavailableError: There is no cache, as this user has no home.
    """
    if is_named:
        return config
    name = f"{_digest(atlas)}-v{SCHEMA_VERSION}" + ("-hnsw" if config.kind == "HNSW" else "")
    return config.model_copy(update={"uri": str(cache_directory() / name / "index.db")})


def open_atlas(atlas: Atlas, config: IndexConfig, ending: Event) -> ArchitectureIndex:
    """The collection of an atlas; the first who opens it makes it.

    Args:
        atlas: Which.
        config: Where.
        ending: Once it is set, this ends after the next batch; who comes later goes on from there.

    Raises:
        IndexUnavailableError: It cannot be reached or written, another process has it, or it ends.
        IndexMismatchError: The alias names a collection of another encoder.
    """
    if config.uri.endswith(".db"):
        _make_directory(Path(config.uri).parent)
    index = ArchitectureIndex(config, encoder=fingerprint(load_checkpoint(atlas.encoder)))
    try:
        if not index.is_published:
            _store(atlas, index, config, ending)
    except BaseException:
        index.close()
        raise
    return index


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IndexUnavailableError(
            f"{path} cannot be made ({error.strerror}); {_ELSEWHERE}"
        ) from error


def _store(atlas: Atlas, index: ArchitectureIndex, config: IndexConfig, ending: Event) -> None:
    log.info("storing the atlas at %s, once", config.uri)
    content = read_atlas(atlas)
    encoder, dim = fingerprint(content.encoder), content.encoder.config.dim

    def go_on(_: int) -> None:
        if ending.is_set():
            raise IndexUnavailableError("the atlas is not stored yet; the next start goes on")

    try:
        with index.build(encoder, dim, job=f"atlas{_digest(atlas)}") as bulk:
            bulk.load((row for row in content.rows if row.id not in bulk.ids), go_on)
            bulk.publish(go_on)
    except RefusedError as error:
        raise IndexUnavailableError(f"{error}; make room there, or {_ELSEWHERE}") from error
    log.info("the atlas is stored at %s", config.uri)


def _digest(atlas: Atlas) -> str:
    """Tells atlases apart by their bytes."""
    parts = (atlas.directory / VECTORS, atlas.corpus / FILE_NAME)
    return sha256(b"".join(path.read_bytes() for path in parts)).hexdigest()[:16]


def cache_directory() -> Path:
    """Where NAR may keep what it can make again: ``$XDG_CACHE_HOME/nar`` or ``~/.cache/nar``.

    Raises:
        IndexUnavailableError: This user has no home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "nar"
    except RuntimeError as error:
        raise IndexUnavailableError(f"{error}; {_ELSEWHERE}") from error
