"""Pages of known architectures as messages: request, response, and where the next begins.

A page token holds the last id that was shown and a digest of the filter. It is no secret: a
token that a caller has made up begins at another id, and can do nothing else.
"""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from nar.base.errors import InvalidQueryError
from nar.index.filters import Filter
from nar.index.rows import IndexEntry
from nar.v1 import retrieval_pb2
from nar.wire.limits import Limits
from nar.wire.queries import MAX_UINT32, at, decode_filter, encode_filter
from nar.wire.records import encode_architecture

# 128 bits: no two filters come to have the same digest by chance.
_DIGEST_BYTES: Final = 16
# An id of the index is 32 hexadecimal digits.
_ID_BYTES: Final = 16
# Base64 of both, without the padding of one character.
_TOKEN_CHARS: Final = 43


@dataclass(frozen=True, slots=True)
class Page:
    """The page that is asked for.

    Attributes:
        wanted: What architectures must be.
        size: Number of architectures.
        after: The last id that was shown before; empty at the beginning.
    """

    wanted: Filter
    size: int
    after: str


def decode_page(message: retrieval_pb2.ListRequest, limits: Limits) -> Page:
    """The page that a request asks for.

    Raises:
        InvalidQueryError: Its field is a path from the message.
    """
    size = message.page_size or limits.max_page_size
    if size > limits.max_page_size:
        raise InvalidQueryError("page_size", f"wanted 1 to {limits.max_page_size}, came {size}")
    with at("filter"):
        wanted = decode_filter(message.filter)
    with at("page_token"):
        after = _after(message.page_token, wanted) if message.page_token else ""
    return Page(wanted, size, after)


def encode_listing(wanted: Filter, page_size: int | None) -> retrieval_pb2.ListRequest:
    """The request for the first page; without a size the server chooses.

    Raises:
        InvalidQueryError: The size is no number that a message can hold.
    """
    if page_size is not None and not 1 <= page_size <= MAX_UINT32:
        raise InvalidQueryError("page_size", f"wanted 1 to {MAX_UINT32}, came {page_size}")
    return retrieval_pb2.ListRequest(filter=encode_filter(wanted), page_size=page_size or 0)


def encode_page(
    page: Page, entries: Sequence[IndexEntry], stale_since: float | None = None
) -> retrieval_pb2.ListResponse:
    """The response that shows a page.

    Args:
        page: The page that was asked for.
        entries: Architectures by id, one more than the page holds where more follow.
        stale_since: See `nar.index.rows.IndexState`.
    """
    shown = entries[: page.size]
    token = _token(shown[-1].id, page.wanted) if len(entries) > page.size else ""
    architectures = map(encode_architecture, shown)
    return retrieval_pb2.ListResponse(
        architectures=architectures, next_page_token=token, stale_since=stale_since
    )


def next_request(
    request: retrieval_pb2.ListRequest, response: retrieval_pb2.ListResponse
) -> retrieval_pb2.ListRequest | None:
    """The request for the page after a response; None after the last page."""
    if not response.next_page_token:
        return None
    return retrieval_pb2.ListRequest(
        filter=request.filter,
        page_size=request.page_size,
        page_token=response.next_page_token,
    )


def _token(last: str, wanted: Filter) -> str:
    return urlsafe_b64encode(_digest(wanted) + bytes.fromhex(last)).rstrip(b"=").decode()


def _after(token: str, wanted: Filter) -> str:
    """The id that a token of this filter holds: 32 hexadecimal digits, whatever was sent."""
    if len(token) != _TOKEN_CHARS:
        reason = f"wanted a next_page_token, came {len(token)} characters"
        raise InvalidQueryError("", reason)
    try:
        content = b64decode(f"{token}=", altchars=b"-_", validate=True)
    except ValueError as error:
        raise InvalidQueryError("", "wanted a next_page_token, came something else") from error
    if content[:-_ID_BYTES] != _digest(wanted):
        raise InvalidQueryError(
            "", "wanted a token of the same filter, came one of another; begin without a token"
        )
    return content[-_ID_BYTES:].hex()


def _digest(wanted: Filter) -> bytes:
    """Tells filters apart; the same in every server of the contract."""
    sent = encode_filter(wanted).SerializeToString(deterministic=True)
    return sha256(sent).digest()[:_DIGEST_BYTES]
