"""Exceptions as google.rpc.Status: a table from type to code, and a table from type to details."""

import logging
import random
import uuid
from collections.abc import Callable, Mapping
from typing import Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError, Message
from google.rpc.error_details_pb2 import BadRequest, RequestInfo, RetryInfo
from google.rpc.status_pb2 import Status

from nar.base import errors

log = logging.getLogger(__name__)

# When to try again at the earliest (chosen: a server that is full or restarts needs about so long).
RETRY_AFTER_S: Final = 1.0
# Metadata of grpc: after how many milliseconds a client may try a call again; -1 is never.
PUSHBACK: Final = "grpc-retry-pushback-ms"
# Share of their wait over which callers that were refused together are spread (chosen).
SPREAD: Final = 0.5
# grpc sends the message as a header, and clients take 8 KiB of headers by default.
MAX_MESSAGE_CHARS: Final = 500


class UnauthenticatedError(errors.NarError):
    """A call without the token that this server wants."""


class ForbiddenError(errors.NarError):
    """A call that writes, by a reader or to a server that takes no writes."""


class OverloadedError(errors.NarError):
    """A call that came while others would have kept it waiting for too long.

    Attributes:
        retry_after_s: When it may be tried again.
    """

    def __init__(self, reason: str, retry_after_s: float = RETRY_AFTER_S) -> None:
        super().__init__(reason)
        self.retry_after_s = max(retry_after_s, RETRY_AFTER_S)


class ShareError(OverloadedError):
    """A call of a caller who holds as much already as one caller may; others are answered."""


class OversizedError(errors.NarError):
    """A call whose request is larger than a message may be; grpc itself tells the caller."""


class DrainingError(errors.NarError):
    """A call that came after the server had begun to stop."""


class ExpiredError(errors.NarError):
    """A call whose deadline had passed before work began."""


class SlowUploadError(errors.NarError):
    """A call whose request took too long to arrive."""


class GivenUpError(errors.NarError):
    """A call that nobody waits for any more, noticed while it was worked on."""


CODES: Final[Mapping[type[Exception], grpc.StatusCode]] = {
    errors.InvalidInputError: grpc.StatusCode.INVALID_ARGUMENT,
    DecodeError: grpc.StatusCode.INVALID_ARGUMENT,
    errors.UnknownArchitectureError: grpc.StatusCode.NOT_FOUND,
    UnauthenticatedError: grpc.StatusCode.UNAUTHENTICATED,
    ForbiddenError: grpc.StatusCode.PERMISSION_DENIED,
    OverloadedError: grpc.StatusCode.RESOURCE_EXHAUSTED,
    OversizedError: grpc.StatusCode.RESOURCE_EXHAUSTED,
    DrainingError: grpc.StatusCode.UNAVAILABLE,
    ExpiredError: grpc.StatusCode.DEADLINE_EXCEEDED,
    SlowUploadError: grpc.StatusCode.DEADLINE_EXCEEDED,
    GivenUpError: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.IndexMismatchError: grpc.StatusCode.FAILED_PRECONDITION,
    errors.FilesAloneError: grpc.StatusCode.UNAVAILABLE,
    errors.IndexFullError: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.IndexUnavailableError: grpc.StatusCode.UNAVAILABLE,
}

# Messages for errors whose own text could show addresses and paths of the server to a stranger.
PRIVATE: Final[Mapping[type[Exception], str]] = {
    errors.IndexFullError: "the disk of the index is full; nothing was written, try again later",
    errors.IndexUnavailableError: "the index cannot be reached; try again",
    DecodeError: "the bytes are no message of this method",
}


def _bad_request(error: Exception) -> Message:
    assert isinstance(error, errors.InvalidInputError)
    description = error.reason[:MAX_MESSAGE_CHARS]
    violation = BadRequest.FieldViolation(field=error.field, description=description)
    detail: Message = BadRequest(field_violations=[violation])
    return detail


def _retry_info(error: Exception) -> Message:
    after_s = error.retry_after_s if isinstance(error, OverloadedError) else RETRY_AFTER_S
    delay = Duration()
    delay.FromMilliseconds(round(1_000 * after_s))
    detail: Message = RetryInfo(retry_delay=delay)
    return detail


DETAILS: Final[Mapping[type[Exception], Callable[[Exception], Message]]] = {
    errors.InvalidInputError: _bad_request,
    OverloadedError: _retry_info,
    DrainingError: _retry_info,
    errors.FilesAloneError: _retry_info,
    errors.IndexFullError: _retry_info,
    errors.IndexUnavailableError: _retry_info,
}


def status_of(error: Exception, request_id: str | None = None) -> Status:
    """What a caller may know about an error: everything about its input, nothing of our inside.

    Args:
        error: The error of a call, or of an item of a call.
        request_id: The id of the call; without it, a fault of ours gets an id of its own.
    """
    kinds = [kind for kind in type(error).__mro__ if kind in CODES]
    if not kinds:
        return _internal(error, request_id or uuid.uuid4().hex)
    kind = kinds[0]
    code: int = CODES[kind].value[0]
    if kind in PRIVATE:
        log.warning("%s: %s", kind.__name__, error)
    details = [DETAILS[kind](error)] if kind in DETAILS else []
    message = PRIVATE.get(kind, str(error))[:MAX_MESSAGE_CHARS]
    return Status(code=code, message=message, details=map(_packed, details))


def pushback(status: Status) -> tuple[tuple[str, str], ...]:
    """Metadata of a refusal: an early call is tried again, a call that is too large is not.

    Args:
        status: The status of the call.
    """
    if status.code != grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]:
        return ()
    retry = RetryInfo()
    if not any(detail.Unpack(retry) for detail in status.details):
        return ((PUSHBACK, "-1"),)
    later = random.uniform(1, 1 + SPREAD)
    return ((PUSHBACK, str(round(retry.retry_delay.ToMilliseconds() * later))),)


def _internal(error: Exception, request_id: str) -> Status:
    log.error("request %s failed", request_id, exc_info=error)
    code: int = grpc.StatusCode.INTERNAL.value[0]
    message = f"internal error; the server's log has it under {request_id}"
    return Status(code=code, message=message, details=[_packed(RequestInfo(request_id=request_id))])


def _packed(message: Message) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)
    return packed


def code_name(status: Status) -> str:
    """The name of a status's code, e.g. ``INVALID_ARGUMENT``."""
    return CODE_NAMES[status.code]


CODE_NAMES: Final = {code.value[0]: code.name for code in grpc.StatusCode}
