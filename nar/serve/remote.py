"""The client's side of `nar.serve.status`: a google.rpc.Status back into an exception."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar, cast

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from nar.errors import (
    IndexUnavailableError,
    InvalidQueryError,
    NarError,
    UnknownArchitectureError,
)

Detail = TypeVar("Detail", bound=Message)


class ServiceError(NarError):
    """A server refused or failed for a reason that lies not in the query.

    Attributes:
        code: Name of the status code, e.g. ``RESOURCE_EXHAUSTED``.
        reason: What the server said.
        retry_after_s: When to try again, if the server named a time.
    """

    def __init__(self, code: str, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type["ServiceError"], tuple[str, str, float | None]]:
        """Cross process borders whole: the default would pass the message as one argument."""
        return type(self), (self.code, self.reason, self.retry_after_s)


# What grpc.aio says itself, as INTERNAL, of a stream that ended while it was written to.
_BROKEN: Final = "Internal error from Core"
# What grpc says where a port that encrypts was spoken to in clear text, or has closed.
_CLOSED: Final = "Socket closed"


def error_of_call(error: grpc.RpcError) -> NarError:
    """The exception of a call that failed as a whole, be it blocking or awaited."""
    assert isinstance(error, grpc.Call | grpc.aio.AioRpcError)
    status = rpc_status.from_call(cast(grpc.Call, error))
    if status is None:
        is_broken = error.details() == _BROKEN
        code = grpc.StatusCode.UNAVAILABLE if is_broken else error.code()
        message = error.details() or ""
        if code is grpc.StatusCode.UNAVAILABLE and message.endswith(_CLOSED):
            message += "; to a server that speaks TLS say so: client.tls, or client.ca_file"
        status = Status(code=code.value[0], message=message)
    return error_of_status(status)


def error_of_status(status: Status) -> NarError:
    """The exception of a call or an item; its kind says what a caller may do about it."""
    return ERRORS.get(_code(status), _service_error)(status)


def _code(status: Status) -> grpc.StatusCode:
    known = (code for code in grpc.StatusCode if code.value[0] == status.code)
    return next(known, grpc.StatusCode.UNKNOWN)


def _invalid(status: Status) -> NarError:
    bad = _detail(status, BadRequest)
    if bad is None or not bad.field_violations:
        return _service_error(status)
    first = bad.field_violations[0]
    return InvalidQueryError(first.field, first.description)


def _unknown(status: Status) -> NarError:
    return UnknownArchitectureError(status.message)


def _unavailable(status: Status) -> NarError:
    return IndexUnavailableError(status.message)


def _service_error(status: Status) -> NarError:
    retry = _detail(status, RetryInfo)
    after_s = retry.retry_delay.ToTimedelta().total_seconds() if retry else None
    return ServiceError(_code(status).name, status.message, after_s)


ERRORS: Final[Mapping[grpc.StatusCode, Callable[[Status], NarError]]] = {
    grpc.StatusCode.INVALID_ARGUMENT: _invalid,
    grpc.StatusCode.NOT_FOUND: _unknown,
    grpc.StatusCode.UNAVAILABLE: _unavailable,
}


def _detail(status: Status, kind: type[Detail]) -> Detail | None:
    for packed in status.details:
        detail = kind()
        if packed.Unpack(detail):
            return detail
    return None
