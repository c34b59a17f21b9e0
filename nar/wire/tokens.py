"""Who may call: bearer tokens of the configuration and of files, read again when they change."""

import hashlib
import hmac
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final, Literal

from nar.base.errors import ConfigError
from nar.base.files import check_readable
from nar.base.watched import Watched
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
        self._files = {
            role: Watched(f"the tokens of every {role}", [path], partial(_logged, role, path))
            for role, path in paths.items()
            if path
        }

    @property
    def are_wanted(self) -> bool:
        """Whether callers must bring one."""
        return bool(self._fixed or self._files)

    def role(self, authorization: str) -> Role | None:
        """What the sender of this metadata may do; None for a stranger.

        Every token is compared, in a time that does not tell how much of one was right.
        """
        given = _digest(token_in(authorization))
        known: dict[Role, Digests] = {"reader": frozenset(), "writer": self._fixed}
        for role, file in self._files.items():
            known[role] |= file.content()
        roles = {role: _is_among(given, digests) for role, digests in known.items()}
        if roles["writer"]:
            return "writer"
        return "reader" if roles["reader"] else None


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
    check_readable(path)
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError as error:
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


def _logged(role: Role, path: Path) -> Digests:
    digests = read_tokens(path)
    log.info("tokens of %ss: %d in %s", role, len(digests), path)
    return digests


def _digest(token: str) -> bytes:
    # Of equal length whatever the token, so that not even its length shows.
    return hashlib.sha256(token.encode()).digest()


def _is_among(given: bytes, known: Digests) -> bool:
    matches = [hmac.compare_digest(given, digest) for digest in known]
    return any(matches)
