"""Every error a caller can act on. Each says what was wanted, what came, and the way out."""

import errno
from typing import Final

_REASON_LENGTH: Final = 300  # characters; chosen: two or three lines of a terminal


class NarError(Exception):
    """Base of all errors that NAR raises on purpose."""


class InvalidInputError(NarError):
    """Input that can never be served, whatever the state of the system.

    Attributes:
        field: Path of the field at fault, e.g. ``edge_index[7]`` or ``queries[3].graph.nodes``.
        reason: What was wanted and what came.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason

    def __reduce__(self) -> tuple[type["InvalidInputError"], tuple[str, str]]:
        """Cross process borders whole: the default would pass the message as one argument."""
        return type(self), (self.field, self.reason)

    def under(self, prefix: str) -> "InvalidInputError":
        """The same fault seen from outside: its field's path below ``prefix``."""
        return type(self)(f"{prefix}.{self.field}", self.reason)


class InvalidGraphError(InvalidInputError):
    """A computational graph that is no graph of an architecture."""


class InvalidQueryError(InvalidInputError):
    """A search request that cannot be answered: bad filter, bad vector, bad ``top_k``."""


class CaptureError(NarError):
    """A model whose graph could not be captured.

    Attributes:
        model: Name of the model.
        operator: The last operator seen before the failure, or ``-``.
        reason: Why, in one line.
        path: The module of the model that ran: ``layers.3.attn``; empty where it is not known.
    """

    def __init__(self, model: str, operator: str, reason: str, path: str = "") -> None:
        where = "" if operator == "-" else f" at {operator}"
        where = f"{where} in {path}" if path else where
        super().__init__(f"{model}: capture failed{where}: {reason}")
        self.model = model
        self.operator = operator
        self.reason = reason
        self.path = path

    def __reduce__(self) -> tuple[type["CaptureError"], tuple[str, str, str, str]]:
        """Cross process borders whole: the default would pass the message as one argument."""
        return type(self), (self.model, self.operator, self.reason, self.path)


class RefusedError(NarError, PermissionError):
    """Something that a user's own code tried and that nobody has asked for.

    To that code it looks like any lack of permission: libraries that can do without go on.

    Attributes:
        paths: What would have been changed.
    """

    def __init__(self, reason: str, paths: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.errno = errno.EACCES
        self.paths = paths


class UnknownArchitectureError(NarError):
    """No architecture of that name or id is known."""


class MissingLibraryError(NarError):
    """A source needs a library that is not installed."""


class PluginError(NarError):
    """A source that an installed package registers, and that cannot be used."""


class CorpusError(NarError):
    """A corpus that is missing, damaged, or of another schema version."""


class CheckpointError(NarError):
    """A checkpoint that is missing, damaged, or of another encoder."""


class IndexUnavailableError(NarError):
    """The vector index cannot be reached or is held by another process."""


class IndexFullError(IndexUnavailableError):
    """An index takes no more rows: its disk is full, or a bound of its store is reached."""


class IndexInUseError(IndexUnavailableError):
    """Another process has the Milvus Lite index open."""


class FilesSufficeError(IndexUnavailableError):
    """The index cannot be opened, and nothing is at fault: files hold the same rows."""


class FilesAloneError(IndexUnavailableError):
    """A write while files alone answer: the index is not open yet, or cannot be opened."""


class IndexMismatchError(NarError):
    """The index holds the vectors of another encoder, or was made by another version of NAR."""


class ConfigError(NarError):
    """A configuration value that is unknown or out of range."""


def one_line(error: BaseException) -> str:
    """The first line of an error's message that says something, with its type."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else '-'}"[:_REASON_LENGTH]
