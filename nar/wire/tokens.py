"""Who may call: bearer tokens of the configuration and of files, read again when they change."""

import hashlib
import hmac
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from nar.base.errors import ConfigError
from nar.base.files import Stamp, stamp
from nar.wire.settings import ServerConfig, check_token

log = logging.getLogger(__name__)

Role = Literal["reader", "writer"]
Digests = frozenset[bytes]

SCHEME: Final = "bearer "


class Tokens:
    """The tokens of a server; a file holds one a line, lines that begin with ``#`` hold none.

    The token of the configuration is a writer's. While a changed file is at fault, the tokens that
    it held before go on.

    Args:
        config: Says where the tokens are.

    Raises:
        ConfigError: A file cannot be read, or holds no tokens, or one that no caller can send.
    """

    def __init__(self, config: ServerConfig) -> None:
        token = config.token.get_secret_value() if config.token else None
        self._fixed: Digests = frozenset([_digest(token)] if token else [])
        paths: Mapping[Role, Path | None] = {
            "writer": config.writer_tokens_file,
            "reader": config.reader_tokens_file,
        }
        self._paths = {role: path for role, path in paths.items() if path}
        self._stamps = {role: stamp_of(path) for role, path in self._paths.items()}
        self._read = {role: read_tokens(path) for role, path in self._paths.items()}
        for role, digests in self._read.items():
            _say(role, digests, self._paths[role])

    @property
    def are_wanted(self) -> bool:
        """Whether callers must bring one."""
        return bool(self._fixed or self._paths)

    def role(self, authorization: str) -> Role | None:
        """What the sender of this metadata may do; None for a stranger.

        Every token is compared, in a time that does not tell how much of one was right.
        """
        self._refresh()
        given = _digest(token_in(authorization))
        known: dict[Role, Digests] = {"reader": frozenset(), "writer": self._fixed}
        for role, digests in self._read.items():
            known[role] |= digests
        roles = {role: _is_among(given, digests) for role, digests in known.items()}
        if roles["writer"]:
            return "writer"
        return "reader" if roles["reader"] else None

    def _refresh(self) -> None:
        for role, path in self._paths.items():
            try:
                current = stamp_of(path)
                if current != self._stamps[role]:
                    # First, so that a file at fault is complained of once.
                    self._stamps[role] = current
                    self._read[role] = read_tokens(path)
                    _say(role, self._read[role], path)
            except ConfigError as error:
                log.warning("the tokens of every %s stay as they were: %s", role, error)


def token_in(authorization: str) -> str:
    """The token that metadata brings; empty where it brings none.

    Example:
        >>> token_in("Bearer abc"), token_in("Basic abc")
        ('abc', '')
    """
    is_bearer = authorization[: len(SCHEME)].lower() == SCHEME
    return authorization[len(SCHEME) :] if is_bearer else ""


def read_tokens(path: Path) -> Digests:
    """Digests of the tokens in a file.

    Raises:
        ConfigError: Names file and line, never a token.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read tokens from {path.absolute()}: {error}") from error
    digests = set()
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line and not line.startswith("#"):
            try:
                digests.add(_digest(check_token(line)))
            except ValueError as error:
                raise ConfigError(f"{path}, line {number}: {error}") from error
    if not digests:
        raise ConfigError(f"{path} holds no token; wanted one a line")
    return frozenset(digests)


def stamp_of(path: Path) -> Stamp:
    """What tells a file from the one that it was before.

    Raises:
        ConfigError: It cannot be read.
    """
    try:
        return stamp(path)
    except OSError as error:
        raise ConfigError(f"cannot read {path.absolute()}: {error.strerror}") from error


def _say(role: Role, digests: Digests, path: Path) -> None:
    log.info("tokens of %ss: %d in %s", role, len(digests), path)


def _digest(token: str) -> bytes:
    # Of equal length whatever the token, so that not even its length shows.
    return hashlib.sha256(token.encode()).digest()


def _is_among(given: bytes, known: Digests) -> bool:
    matches = [hmac.compare_digest(given, digest) for digest in known]
    return any(matches)
