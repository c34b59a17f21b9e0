"""Settings of the query server and of its clients."""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from nar.base.errors import ConfigError
from nar.base.settings import Settings


class TlsConfig(Settings):
    """The certificate of a server, in files that are read again when they change."""

    certificate_file: Path = Field(description="PEM: the certificate and what it is signed with")
    key_file: Path = Field(description="PEM, without a password")
    client_ca_file: Path | None = Field(
        None,
        description="PEM: callers must bring a certificate signed by a certificate of this file",
    )


class ClientConfig(Settings):
    """How a server is called. TLS as soon as it is asked for, or a file is named.

    Files are read again when they change.
    """

    tls: bool = Field(False, description="trust the authorities that grpc comes with")
    ca_file: Path | None = Field(None, description="PEM: trust these authorities instead")
    certificate_file: Path | None = Field(None, description="PEM: what the client shows")
    key_file: Path | None = Field(None, description="PEM, without a password")
    server_name: str | None = Field(
        None,
        min_length=1,
        description="what the servers' certificates are made out to, where it is not the address",
    )
    clear_text: bool = Field(False, description="send a token without TLS beyond loopback")

    @property
    def wants_tls(self) -> bool:
        """Whether to encrypt."""
        return self.tls or bool(self.files)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are named."""
        named = (self.ca_file, self.certificate_file, self.key_file)
        return tuple(path for path in named if path)


def check_token(token: str) -> str:
    """The token, if a caller can send it as metadata.

    Raises:
        ValueError: No caller can send it. The message never shows the token.
    """
    if not token:
        raise ValueError("wanted a token, came an empty one")
    if not all("!" <= character <= "~" for character in token):
        raise ValueError(
            f"wanted a token of visible ASCII characters, came one with {_fault(token)}"
        )
    return token


def _fault(token: str) -> str:
    if _ends_a_line(token):
        return "a line break at its end"
    return "a space" if " " in token else "other characters"


def _ends_a_line(token: str) -> bool:
    return token.endswith(("\n", "\r"))


def _token_of_environment() -> str | None:
    """What NAR_TOKEN holds; empty, it is no token.

    Raises:
        ConfigError: No caller can send it. The fault is the variable's, not that of the file of
            settings that is being read.
    """
    token = os.environ.get("NAR_TOKEN") or None
    if token is None:
        return None
    if _ends_a_line(token):
        raise ConfigError(
            "NAR_TOKEN ends with a line break: take it away (`export NAR_TOKEN=$(cat FILE)`)"
        )
    try:
        return check_token(token)
    except ValueError as error:
        raise ConfigError(f"NAR_TOKEN: {error}") from None


class ServerConfig(Settings):
    """The query server. Loopback unless told otherwise."""

    host: str = "127.0.0.1"
    port: int = Field(50_051, ge=0, le=65_535, description="0 takes a free port")
    metrics_host: str = "127.0.0.1"
    metrics_port: int = Field(9_464, ge=0, le=65_535)
    metrics_clear_text: bool = Field(
        False, description="show metrics beyond loopback without TLS and without a token"
    )
    web_port: int | None = Field(
        None,
        ge=0,
        le=65_535,
        description="of the page and of JSON over HTTP; 0 takes a free one, null opens none",
    )
    web_names: tuple[str, ...] = Field(
        (), description="host names by which browsers reach it, besides addresses and localhost"
    )
    max_file_bytes: int = Field(
        1024**3, ge=1, description="of a model's file that is dropped on the page"
    )
    max_page_requests: int = Field(
        32, ge=1, description="requests of the page at a time, apart from calls; more are shed"
    )
    tls: TlsConfig | None = None
    clear_text: bool = Field(False, description="listen beyond loopback without TLS")
    token: SecretStr | None = Field(
        None,
        validate_default=True,
        description="what callers must bring; NAR_TOKEN in the environment unless set here",
    )
    reader_tokens_file: Path | None = Field(
        None, description="tokens of callers that may ask, one a line, read again when it changes"
    )
    writer_tokens_file: Path | None = Field(
        None, description="tokens of callers that may also write"
    )
    scoped_tokens_file: Path | None = Field(
        None,
        description="YAML: tokens with rights, and the alias and the rows that they are for; read "
        "again when it changes",
    )
    writable: bool = Field(
        False, description="take Upsert and Delete; without tokens, from every caller"
    )
    max_queries: int = Field(64, ge=1, description="queries, graphs or names of one call")
    max_top_k: int = Field(1_000, ge=1, le=16_384)
    default_top_k: int = Field(10, ge=1, description="for queries that name none")
    max_page_size: int = Field(1_000, ge=1, le=10_000, description="of one page of List")
    max_nodes: int = Field(50_000, ge=1, description="nodes of one graph")
    max_edges: int = Field(200_000, ge=1)
    max_call_nodes: int = Field(100_000, ge=1, description="nodes of all graphs of one call")
    max_call_edges: int = Field(400_000, ge=1, description="edges of all graphs of one call")
    max_call_s: float = Field(60.0, gt=0, description="no call is worked on for longer")
    heavy_bytes: int = Field(
        256 * 1024, ge=0, description="larger requests wait for threads of their own"
    )
    max_message_bytes: int = Field(16 * 1024 * 1024, ge=1_024)
    max_in_flight: int = Field(96, ge=1, description="calls at a time; more are shed")
    caller_share: float = Field(
        0.75,
        gt=0,
        le=1,
        description="of the places, bytes and streams that others have left, what one caller may "
        "hold: a token, a certificate or an address. 1 does not tell callers apart, as behind a "
        "proxy that hides their addresses",
    )
    caller_calls_per_s: float | None = Field(
        None,
        gt=0,
        description="calls a second that one caller may begin, a second's worth at once; "
        "None: as many as its share of places allows",
    )
    unseen_calls: int = Field(
        48,
        ge=1,
        description="calls of one method that may wait until the server takes them; grpc drops "
        "what comes beyond. With more a burst is not dropped; with fewer, calls that are answered "
        "under lasting overload are in time. A good number is a fifth of the graphs that the "
        "server answers in a second",
    )
    heavy_share: float = Field(
        0.25, gt=0, le=1, description="share of these places that heavy calls may take"
    )
    max_streams: int = Field(128, ge=1, description="calls at a time of one connection")
    max_connections: int = Field(1_024, ge=1, description="connections at a time")
    max_handshake_s: float = Field(
        10.0,
        gt=0,
        description="a connection ends that has not said by then what it wants: greeting of gRPC, "
        "head of a request of the page",
    )
    max_connection_idle_s: float = Field(
        300.0, gt=0, description="a connection of gRPC ends that has no call for so long"
    )
    max_search_streams: int = Field(
        16, ge=1, description="streams open at a time; each may hold one request"
    )
    max_idle_s: float = Field(
        60.0, gt=0, description="a stream ends that brings no request for so long"
    )
    uploads: int = Field(
        4, ge=1, description="requests awaited at a time that do not come at once; more are shed"
    )
    max_upload_s: float = Field(10.0, gt=0, description="how long a request may take to arrive")
    max_held_bytes: int = Field(
        64 * 1024 * 1024,
        ge=1,
        description="calls are shed while requests under way hold more; of it, those larger than "
        "heavy_bytes leave a quarter to others",
    )
    max_wait_s: float = Field(
        1.0, gt=0, description="small calls that would wait longer for a thread are shed"
    )
    # Python runs one thread at a time: more threads are slower (results/benchmarks.md).
    compute_threads: int = Field(1, ge=1, description="for small calls")
    heavy_threads: int = Field(1, ge=1, description="for heavy calls, besides")
    stuck_after_s: float = Field(
        15.0,
        gt=0,
        description="threads that have ended no call for so long count as stuck; if they are those "
        "for small calls, the server is not ready",
    )
    drain_grace_s: float = Field(10.0, ge=0)
    probe_interval_s: float = Field(5.0, gt=0, description="how often health asks the index")
    max_stale_s: float = Field(
        900.0,
        ge=0,
        description="how long rows in memory answer, and say that they may be old, while the store "
        "cannot be read; after that the server is not ready. A Milvus that is restarted is back "
        "within two minutes, an operator who is paged within a quarter of an hour",
    )

    log_format: Literal["text", "json"] = "text"
    log_lines_per_s: float = Field(
        5.0, gt=0, description="lines of one kind; how many were left out is said later"
    )

    @property
    def max_heavy(self) -> int:
        """Heavy calls at a time."""
        return max(1, int(self.heavy_share * self.max_in_flight))

    @field_validator("token", mode="before")
    @classmethod
    def _or_from_environment(cls, token: object) -> object:
        return _token_of_environment() if token is None else token

    @field_validator("token")
    @classmethod
    def _can_be_sent(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None:
            check_token(token.get_secret_value())
        return token
