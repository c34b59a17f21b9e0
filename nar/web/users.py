"""Users: the architectures that contain a motif type, and the families that they are of."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from nar.answers.uses import Uses
from nar.base.errors import InvalidQueryError, UnknownArchitectureError
from nar.web.catalogue import Catalogue

# Those with most occurrences; further ones are counted, not named.
_NAMED: Final = 300
_CODE: Final = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class User:
    """An architecture that contains the motif type, and how often."""

    name: str
    family: str
    task: str
    parameters: int
    count: int


@dataclass(frozen=True, slots=True)
class Users:
    """Who contains a motif type.

    Attributes:
        code: Of the motif type.
        total: Architectures of the wanted family that contain it; of all families where none is
            wanted.
        families: Family and how many of its architectures contain it, the most first.
        users: Those in which it occurs most often, first; of the wanted family.
    """

    code: str
    total: int
    families: tuple[tuple[str, int], ...]
    users: tuple[User, ...]


def users_of(
    code: str,
    counted: tuple[Uses, tuple[str, ...]] | None,
    catalogue: Catalogue,
    family: str = "",
) -> Users:
    """Look a motif type up.

    Args:
        code: 16 hex digits.
        counted: Who contains what, and the names of the rows.
        catalogue: Of the index.
        family: That users are to be of; empty for any.

    Raises:
        InvalidQueryError: That is no code.
        UnknownArchitectureError: Nobody has counted who contains what.
    """
    if counted is None:
        raise UnknownArchitectureError(
            "nobody has counted who uses which block of this index; `nar atlas draw` does"
        )
    uses, names = counted
    rows, counts = uses.of(_number(code))
    pairs = [
        (catalogue.names[names[row]], count)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
        if names[row] in catalogue.names
    ]
    pairs.sort(key=lambda pair: (-pair[1], pair[0].name))
    families = Counter(entry.family for entry, _ in pairs).most_common()
    wanted = [pair for pair in pairs if family in ("", pair[0].family)]
    users = (
        User(entry.name, entry.family, entry.task, entry.parameters, count)
        for entry, count in wanted[:_NAMED]
    )
    return Users(code, len(wanted), tuple(families), tuple(users))


def _number(code: str) -> int:
    if not _CODE.fullmatch(code):
        raise InvalidQueryError("code", f"wanted 16 hexadecimal digits, came {code[:40]!r}")
    return int(code, 16)
