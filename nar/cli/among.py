"""`nar search --among FILE`: only what stands in a list of one's own may be a hit."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nar.base.console import stderr
from nar.base.errors import InvalidInputError
from nar.choices import IndexChoice
from nar.corpus import iterate_cards, shipped_corpus
from nar.index.filters import Filter


def among(path: Path, wanted: Filter) -> Filter:
    """A filter that lets pass only what is named in a file, besides what it wants.

    Args:
        path: One name a line; empty lines and what follows a ``#`` after a space are left out.
        wanted: What else hits must be.

    Raises:
        InvalidInputError: The file cannot be read, or names nothing.
        InvalidQueryError: It names more than a filter may have.
    """
    return replace(wanted, all_of=(*wanted.all_of, Filter(names=tuple(listed_names(path)))))


def listed_names(path: Path) -> list[str]:
    """The names in a file, each once, in their order.

    Raises:
        InvalidInputError: It cannot be read, or names nothing.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(str(path), f"cannot be read: {error}") from error
    # Not any `#`: it may stand in a name, as it does in a path.
    names = [f" {line}".partition(" #")[0].strip() for line in lines]
    known = list(dict.fromkeys(name for name in names if name))
    if not known:
        raise InvalidInputError(str(path), "wanted names of architectures, one a line; came none")
    return known


def warn_of_unknown(path: Path, choice: IndexChoice) -> None:
    """Say on stderr which names of a file the atlas lacks, where the atlas is asked.

    Raises:
        InvalidInputError: The file cannot be read, or names nothing.
    """
    if choice.has_own_rows:
        return
    unknown = _not_in_atlas(listed_names(path))
    if unknown:
        shown = ", ".join(unknown[:3])
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        stderr.print(f"{path}: not in the atlas: {shown}{more}", style="yellow")


def _not_in_atlas(names: Sequence[str]) -> list[str]:
    known = {card.labels.name for card in iterate_cards(shipped_corpus())}
    return [name for name in names if name not in known]
