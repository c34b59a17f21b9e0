"""What the bearer of a token may see and do: rights, and the part of the index that is theirs.

A caller that is bound to a filter meets an index with the rows of that filter and no others. All
answers are made from it, so that no row, name, count, motif or error tells of the rows of others.
What was counted over the whole index, such as novelty and the users of a block, is not said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, Protocol

import yaml
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator

from nar.base.errors import ConfigError, InvalidQueryError
from nar.base.files import check_readable
from nar.base.settings import Settings, faults
from nar.index.filters import EVERYTHING, Condition, Filter, LabelCondition, Range, Terms, combined
from nar.index.ranking import Search
from nar.index.rows import Hit, IndexEntry, IndexRow, IndexState
from nar.index.where import joined
from nar.wire.settings import check_token

Right = Literal["read", "write", "remove"]
EVERY_RIGHT: Final[frozenset[Right]] = frozenset({"read", "write", "remove"})


@dataclass(frozen=True, slots=True)
class Scope:
    """What a caller may see and do.

    Attributes:
        rights: Which methods are let in.
        where: The rows that there are for the caller.
        prefix: How the names begin that the caller may write and remove.
    """

    rights: frozenset[Right] = EVERY_RIGHT
    where: Filter = EVERYTHING
    prefix: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the index are there for the caller."""
        return self.where == EVERYTHING

    @property
    def role(self) -> str:
        """What the caller is called in the log."""
        return "writer" if self.rights - {"read"} else "reader"

    def has(self, entry: IndexEntry) -> bool:
        """Whether a row is there for the caller."""
        return self.is_whole or passes(self.where, entry)

    def refusal(self, entry: IndexEntry, field: str) -> InvalidQueryError | None:
        """Why the caller may not write or remove a row; None if it may, whatever else is there.

        Args:
            entry: The row.
            field: Path of the row in the request.
        """
        if not entry.name.startswith(self.prefix):
            reason = f"wanted a name that begins with {self.prefix!r}, as this token has it"
            return InvalidQueryError(f"{field}.name", f"{reason}; came {entry.name!r}")
        if not self.has(entry):
            reason = "wanted labels that the filter of this token lets pass, came others"
            return InvalidQueryError(f"{field}.labels", reason)
        return None


EVERYBODY: Final = Scope()


def passes(wanted: Filter, entry: IndexEntry) -> bool:
    """Whether one row passes a filter."""

    def meets(condition: Condition, value: object) -> bool:
        own = getattr(entry, condition.column)
        if not isinstance(value, Range):
            return own in value  # type: ignore[operator]  # a tuple of texts
        is_below = value.minimum is not None and own < value.minimum
        return not is_below and (value.maximum is None or own <= value.maximum)

    def labelled(condition: LabelCondition) -> bool:
        return condition.holds(entry.labels)

    return combined(wanted, Terms(meets, labelled, all, any, lambda holds: not holds))


class WholeIndex(Protocol):
    """What a scope needs of the whole index: a `Reader` or an `ArchitectureIndex`."""

    @property
    def dim(self) -> int:
        """Length of the vectors."""

    @property
    def state(self) -> IndexState:
        """Where the rows are."""

    @property
    def alias(self) -> str:
        """Name under which the index is published."""

    @property
    def agreed_s(self) -> float:
        """When the rows that answer were last known to be the published rows."""

    @property
    def stale_since(self) -> float | None:
        """Since when the rows that answer may be old."""

    @property
    def errors(self) -> Mapping[str, int]:
        """How many calls to the store have failed, by kind."""

    def count(self) -> int:
        """Number of rows."""

    def counted(self, wanted: Filter) -> int:
        """Number of the rows that pass a filter."""

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id."""

    def find_by_fingerprint(
        self, *, topologies: Sequence[str] = (), inferences: Sequence[str] = ()
    ) -> list[IndexRow]:
        """Rows with any of these fingerprints, by id."""

    def page(self, after: str, limit: int, wanted: Filter) -> list[IndexEntry]:
        """The rows of the next ids, in their order."""

    def search_all(self, searches: Sequence[Search]) -> list[list[Hit]]:
        """The nearest rows of each search."""

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Write rows."""

    def delete(self, ids: Sequence[str]) -> int:
        """Delete rows."""


class ScopedIndex:
    """The rows of an index that are there for a caller, as an index of their own.

    Args:
        index: The whole index.
        scope: What the caller may see.
    """

    def __init__(self, index: WholeIndex, scope: Scope) -> None:
        self._index = index
        self._scope = scope

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return self._index.dim

    @property
    def state(self) -> IndexState:
        """Where the rows are."""
        return self._index.state

    @property
    def alias(self) -> str:
        """Name under which the index is published."""
        return self._index.alias

    @property
    def agreed_s(self) -> float:
        """When the rows that answer were last known to be the published rows."""
        return self._index.agreed_s

    @property
    def stale_since(self) -> float | None:
        """Since when the rows that answer may be old."""
        return self._index.stale_since

    @property
    def errors(self) -> Mapping[str, int]:
        """How many calls to the store have failed: the store is everybody's."""
        return self._index.errors

    def count(self) -> int:
        """Number of rows."""
        return self._index.counted(self._scope.where)

    def counted(self, wanted: Filter) -> int:
        """Number of rows that pass a filter."""
        return self._index.counted(self._within(wanted))

    rows_answering = count  # to count a part, its rows have to be read

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id; a key that nothing has, or that is of others, is left out."""
        found = self._index.get(keys)
        return {key: row for key, row in found.items() if self._scope.has(row)}

    def find_by_fingerprint(
        self, *, topologies: Sequence[str] = (), inferences: Sequence[str] = ()
    ) -> list[IndexRow]:
        """Rows with any of these fingerprints, by id."""
        found = self._index.find_by_fingerprint(topologies=topologies, inferences=inferences)
        return [row for row in found if self._scope.has(row)]

    def page(self, after: str, limit: int, wanted: Filter = EVERYTHING) -> list[IndexEntry]:
        """The rows of the next ids, in their order."""
        return self._index.page(after, limit, self._within(wanted))

    def search_all(self, searches: Sequence[Search]) -> list[list[Hit]]:
        """The nearest rows of each search."""
        within = [replace(each, wanted=self._within(each.wanted)) for each in searches]
        return self._index.search_all(within)

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Write rows that `Scope.refusal` lets pass and `taken` does not name."""
        self._index.upsert(rows)

    def taken(self, names: Sequence[str]) -> set[str]:
        """The names whose rows are of others: only names of the caller's prefix come here."""
        found = self._index.get(names)
        return {name for name, row in found.items() if not self._scope.has(row)}

    def delete(self, ids: Sequence[str]) -> int:
        """Delete rows that `get` gave."""
        return self._index.delete(ids)

    def _within(self, wanted: Filter) -> Filter:
        return joined(self._scope.where, wanted) if wanted != EVERYTHING else self._scope.where


class ScopedToken(Settings):
    """A token of the file of scoped tokens."""

    token: SecretStr
    rights: tuple[Right, ...] = Field(("read",), min_length=1)
    alias: str = Field("", description="of the index that it is for; empty for any")
    where: str = Field("", description="the rows that it sees, as --where takes it; empty for all")
    prefix: str = Field("", description="how the names begin that it may write and remove")

    @field_validator("token")
    @classmethod
    def _can_be_sent(cls, token: SecretStr) -> SecretStr:
        check_token(token.get_secret_value())
        return token

    @model_validator(mode="after")
    def _writes_names_of_its_own(self) -> "ScopedToken":
        try:
            is_bound = Filter.where(self.where) != EVERYTHING
        except InvalidQueryError as error:
            raise ValueError(str(error)) from None
        if is_bound and "write" in self.rights and not self.prefix:
            # Otherwise the refusal of a name that is taken would tell that others have it.
            raise ValueError("a token with a filter that may write wants a prefix of its names")
        return self

    @property
    def scope(self) -> Scope:
        """What its bearer may see and do."""
        return Scope(frozenset(self.rights), Filter.where(self.where), self.prefix)


def read_scoped_tokens(path: Path) -> tuple[ScopedToken, ...]:
    """The tokens of a YAML file, a list of `ScopedToken`, which may be empty.

    Raises:
        ConfigError: Names file and field, never a token.
    """
    check_readable(path)
    try:
        listed = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # What the parser says would show the line, with the token in it.
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{path.absolute()}{where}: it is no YAML") from None
    if not isinstance(listed, list):
        raise ConfigError(f"{path.absolute()}: wanted a list of tokens with rights")
    tokens = []
    for position, each in enumerate(listed):
        try:
            tokens.append(ScopedToken.model_validate(each))
        except ValidationError as error:
            told = faults(error, ScopedToken)
            raise ConfigError(f"{path.absolute()}, token {position + 1}: {told}") from None
    return tuple(tokens)
