"""The atlas as a collection of Milvus: where it is kept, how it is stored, what is removed for it.

Nothing that captures models is imported, as a server waits for these imports. Run as a program, the
module is the child of a server that stores an atlas.
"""

import logging
import re
import shutil
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Final

from nar.answers.atlas import VECTORS, Atlas, atlas_encoder, read_atlas
from nar.base.children import Child, answer_parent, task_of_parent
from nar.base.errors import FilesSufficeError, IndexInUseError, IndexUnavailableError, NarError
from nar.base.workspace import ELSEWHERE, cache_directory
from nar.corpus.manifest import FILE_NAME
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import SCHEMA_VERSION
from nar.index.lite import as_answer, holding, of_answer
from nar.index.milvus import MilvusRefusedError
from nar.index.settings import IndexConfig

log = logging.getLogger(__name__)

INDEX: Final = "index.db"
_OTHER_KIND: Final = "-hnsw"
_REMOVED: Final = ".removed"
# Directories as `atlas_config` names them: digest of the atlas, version of the schema, index kind.
_NAME: Final = re.compile(rf"[0-9a-f]{{16}}-v[0-9]+({_OTHER_KIND})?({re.escape(_REMOVED)})?")
_MODULE: Final = "nar.answers.atlas_store"
_NOT_YET: Final = "the atlas is not stored yet; the next start goes on"


def atlas_config(atlas: Atlas, config: IndexConfig, *, is_named: bool) -> IndexConfig:
    """Where the collection of an atlas is: at the URI that the user chose, or in the user's cache.

    Other vectors, another corpus or another schema version get another directory of the cache;
    earlier directories are removed once no process has them open.

    Args:
        atlas: The atlas.
        config: All other settings of the index.
        is_named: Whether the user chose the URI in that configuration.

    Raises:
        IndexUnavailableError: There is no cache, as this user has no home.
    """
    if is_named:
        return config
    name = f"{_digest(atlas)}-v{SCHEMA_VERSION}" + (
        "" if config.kind == "FLAT" else f"-{config.kind.lower()}"
    )
    return config.model_copy(update={"uri": str(cache_directory() / name / INDEX)})


def open_atlas(atlas: Atlas, config: IndexConfig, ending: Event) -> ArchitectureIndex:
    """The collection of an atlas; the process that opens it first makes it.

    Args:
        atlas: The atlas.
        config: Where the collection is.
        ending: Once it is set, storing ends after the next batch; a later call goes on from there.

    Raises:
        IndexUnavailableError: The index cannot be reached or written, another process has it, or
            `ending` was set.
        IndexMismatchError: The alias names a collection of another encoder.
    """
    index = _opened(atlas, config)
    try:
        if not index.is_published:
            _store(atlas, index, config, ending)
    except BaseException:
        index.close()
        raise
    return index


def _opened(atlas: Atlas, config: IndexConfig) -> ArchitectureIndex:
    if config.is_lite:
        directory = Path(config.uri).parent
        _make_directory(directory)
        remove_superseded(directory)
    return ArchitectureIndex(config, encoder=atlas_encoder(atlas))


def open_apart(atlas: Atlas, config: IndexConfig, ending: Event) -> ArchitectureIndex:
    """The same for a server, whose own process only waits: children store and keep the rows.

    Args:
        atlas: The atlas.
        config: Where the collection is.
        ending: As for `open_atlas`.

    Raises:
        IndexUnavailableError: As `open_atlas`.
        IndexMismatchError: The alias names a collection of another encoder.
    """
    index = opened_if_stored(atlas, config.apart)
    if index is None:
        _store_apart(atlas, config, ending)
        index = _opened(atlas, config.apart)
    return index


def open_kept(
    atlas: Atlas, config: IndexConfig, ending: Event, *, is_named: bool
) -> ArchitectureIndex:
    """For a server, the collection of an atlas: at the URI that the user chose, or in the cache.

    Args:
        atlas: The atlas.
        config: Settings of the index, with its URI if the user chose one.
        ending: As for `open_atlas`.
        is_named: Whether the user chose the URI in that configuration.

    Raises:
        FilesSufficeError: Another server has the collection in the cache, which holds no more than
            the files of the atlas.
        IndexUnavailableError: As `open_atlas`.
        IndexMismatchError: The alias names a collection of another encoder.
    """
    try:
        return open_apart(atlas, atlas_config(atlas, config, is_named=is_named), ending)
    except IndexInUseError as error:
        if is_named:
            raise
        raise FilesSufficeError(
            "another server here keeps the stored atlas; the files hold the same, this is no fault"
        ) from error


def opened_if_stored(atlas: Atlas, config: IndexConfig) -> ArchitectureIndex | None:
    """The collection of an atlas, if there is one already.

    Args:
        atlas: The atlas.
        config: Where the collection is.

    Raises:
        IndexUnavailableError: The index cannot be reached, or another process has it.
        IndexMismatchError: The alias names a collection of another encoder.
    """
    index = _opened(atlas, config)
    try:
        is_stored = index.is_published
    except BaseException:
        index.close()
        raise
    if not is_stored:
        index.close()
        return None
    return index


def _store_apart(atlas: Atlas, config: IndexConfig, ending: Event) -> None:
    log.info("storing the atlas at %s, once", config.uri)
    task = {
        "directory": str(atlas.directory),
        "corpus": str(atlas.corpus),
        "config": config.model_dump(),
    }
    child = Child(_MODULE, task)
    try:
        answer = child.answer(ending)
    finally:
        child.close()
    if answer is None:
        died = "the process that stores the atlas has died"
        raise IndexUnavailableError(_NOT_YET if ending.is_set() else died)
    if "fault" in answer:
        raise of_answer(answer)
    log.info("the atlas is stored at %s", config.uri)


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IndexUnavailableError(
            f"{path} cannot be made ({error.strerror}); {ELSEWHERE}"
        ) from error


def _store(atlas: Atlas, index: ArchitectureIndex, config: IndexConfig, ending: Event) -> None:
    content = read_atlas(atlas)
    encoder, dim = atlas_encoder(atlas), content.embedder.dim

    def go_on(_: int) -> None:
        if ending.is_set():
            raise IndexUnavailableError(_NOT_YET)

    try:
        with index.build(encoder, dim, job=f"atlas{_digest(atlas)}") as bulk:
            had = bulk.rows.holds([row.id for row in content.rows])
            missing = (row for row, is_there in zip(content.rows, had, strict=True) if not is_there)
            bulk.load(missing, go_on)
            bulk.publish(go_on)
    except MilvusRefusedError as error:
        raise IndexUnavailableError(f"{error}; make room there, or {ELSEWHERE}") from error


def _digest(atlas: Atlas) -> str:
    """A digest that differs between atlases: of their vectors and of the manifest."""
    parts = (atlas.directory / VECTORS, atlas.corpus / FILE_NAME)
    return sha256(b"".join(path.read_bytes() for path in parts)).hexdigest()[:16]


def remove_superseded(opened: Path) -> None:
    """Remove from the cache the collections of other atlases, and of this atlas in other schemas.

    A collection that a process has open stays until a later call. The index of the other kind stays
    too, as it may be opened again at any moment. Only directories of the cache that NAR made are
    removed; a failure to remove one is logged and does no harm.

    Args:
        opened: Directory of the collection that is about to be opened.
    """
    if not _is_cached(opened):
        return
    kept = opened.name.removesuffix(_OTHER_KIND)
    removed = []
    # In reverse order, a half removed directory comes before the directory that would get its name.
    for each in sorted(opened.parent.iterdir(), reverse=True):
        if not _NAME.fullmatch(each.name) or each.name.removesuffix(_OTHER_KIND) == kept:
            continue
        try:
            if _remove(each):
                removed.append(each.name)
        except OSError as error:
            log.warning("%s, which an earlier atlas left, cannot be removed: %s", each, error)
    if removed:
        names = ", ".join(removed)
        log.info("removed what earlier atlases left in %s: %s", opened.parent, names)


def _is_cached(directory: Path) -> bool:
    try:
        return directory.parent == cache_directory()
    except IndexUnavailableError:
        # Without a home there is no cache.
        return False


def _remove(directory: Path) -> bool:
    """Remove a directory if NAR made it and no process has it open; gives whether it did."""
    gone = directory
    if not directory.name.endswith(_REMOVED):
        if not _is_made_by_nar(directory):
            return False
        gone = directory.with_name(f"{directory.name}{_REMOVED}")
        with holding(directory / INDEX) as is_free:
            if not is_free:
                return False
            # Renamed first: a process that opens the directory now finds nothing instead of a half,
            # and where this process is killed, the next one knows the name and removes the rest.
            directory.rename(gone)
    shutil.rmtree(gone)
    return True


def _is_made_by_nar(directory: Path) -> bool:
    """Whether a directory holds an index and nothing else; NAR makes no links."""
    paths = (directory, directory / INDEX, directory / INDEX / "collections")
    if not all(path.is_dir() and not path.is_symlink() for path in paths):
        return False
    return [each.name for each in directory.iterdir()] == [INDEX]


def main() -> None:
    """Store an atlas, or go on with it, until the parent ends."""
    task, ending = task_of_parent()
    atlas = Atlas(Path(task["directory"]), Path(task["corpus"]))
    try:
        open_atlas(atlas, IndexConfig(**task["config"]), ending).close()
    except NarError as error:
        answer_parent(as_answer(error))
    else:
        answer_parent({})


if __name__ == "__main__":
    main()
