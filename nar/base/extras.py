"""What is installed beside the core of NAR: which extra has a library, and what to type for it."""

from collections.abc import Mapping
from typing import Final

from nar.base.errors import MissingLibraryError

# Import name of a library -> the extra of pyproject.toml that installs it. A library of
# architectures has an extra of its own name, and no row.
_EXTRAS: Final[Mapping[str, str]] = {
    "cyclonedx": "cyclonedx",
    "h5py": "keras",
    "matplotlib": "plots",
    "mcp": "mcp",
    "milvus_lite": "index",
    "networkx": "capture",
    "pandas": "pandas",
    "pymilvus": "index",
    "ray": "cluster",
    "sklearn": "plots",
    "torch": "capture",
}


def install_line(extra: str) -> str:
    """What installs an extra, as a clause. NAR is on no package index yet."""
    return f"pip install '.[{extra}]' in a checkout of NAR"


def missing_library(library: str) -> MissingLibraryError:
    """The error for a library that is not installed, with what installs it.

    Args:
        library: Its import name.

    Example:
        >>> print(missing_library("torch"))
        torch is not installed: pip install '.[capture]' in a checkout of NAR
    """
    extra = _EXTRAS.get(library, library)
    return MissingLibraryError(f"{library} is not installed: {install_line(extra)}")


def missing_in(error: ImportError) -> MissingLibraryError | None:
    """The same of an import that failed; None where no extra has what it wanted."""
    # A module that an installed library lacks has a dotted name, and is another version's.
    library = error.name or ""
    return missing_library(library) if library in _EXTRAS else None
