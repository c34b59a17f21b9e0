"""Where a corpus lies: in a workspace, or as it came with the package."""

from pathlib import Path

from nar.corpus.manifest import FILE_NAME
from nar.errors import CorpusError
from nar.files import package_path

_MAKE_ONE = "make one with `python -m cluster.extract`"


def shipped_corpus() -> Path:
    """Directory of the corpus that came with the package.

    Raises:
        CorpusError: This installation has none.
    """
    directory = package_path("data", "corpus")
    if not (directory / FILE_NAME).is_file():
        raise CorpusError(f"this installation of NAR came without a corpus; {_MAKE_ONE}")
    return directory


def default_corpus(own: Path) -> Path:
    """The user's own corpus, else the one that came with the package.

    Args:
        own: Directory where the user's would lie.

    Raises:
        CorpusError: There is neither.
    """
    if (own / FILE_NAME).is_file():
        return own
    try:
        return shipped_corpus()
    except CorpusError as error:
        raise CorpusError(f"no corpus at {own}, and {error}") from error
