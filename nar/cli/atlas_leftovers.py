"""What earlier atlases left in the cache: removed when another one is opened there."""

import logging
import re
import shutil
from pathlib import Path
from typing import Final

from nar.base.errors import IndexUnavailableError
from nar.base.workspace import cache_directory
from nar.index.lite import holding

log = logging.getLogger(__name__)

INDEX: Final = "index.db"
_OTHER_KIND: Final = "-hnsw"
_REMOVED: Final = ".removed"
# As `nar.cli.atlas_store.atlas_config` names them: bytes of the atlas, schema, kind of index.
_NAME: Final = re.compile(rf"[0-9a-f]{{16}}-v[0-9]+({_OTHER_KIND})?({re.escape(_REMOVED)})?")


def remove_superseded(opened: Path) -> None:
    """Remove what the cache holds of other atlases, and of this one in another schema.

    What a process has open stays until the next time, and so does the index of the other kind,
    which may be opened again at any moment. Nothing is removed that NAR has not made, and nothing
    outside of the cache. What cannot be removed does no harm: the log says it.

    Args:
        opened: Directory of the collection that is opened now.
    """
    if not _is_cached(opened):
        return
    kept = opened.name.removesuffix(_OTHER_KIND)
    removed = []
    # In reverse, what is half removed comes before the directory that would get its name.
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
        # Whoever has no home has no cache.
        return False


def _remove(directory: Path) -> bool:
    """Remove one directory; gives whether it was NAR's, and nobody's."""
    gone = directory
    if not directory.name.endswith(_REMOVED):
        if not _is_made_by_nar(directory):
            return False
        gone = directory.with_name(f"{directory.name}{_REMOVED}")
        with holding(directory / INDEX) as is_held_by_nobody:
            if not is_held_by_nobody:
                return False
            # Whoever opens it from now on finds nothing rather than half of it, and one of these
            # that is killed leaves a name that the next one knows.
            directory.rename(gone)
    shutil.rmtree(gone)
    return True


def _is_made_by_nar(directory: Path) -> bool:
    """Whether an index is all that is there; links are no directories of NAR."""
    paths = (directory, directory / INDEX, directory / INDEX / "collections")
    if not all(path.is_dir() and not path.is_symlink() for path in paths):
        return False
    return [each.name for each in directory.iterdir()] == [INDEX]
