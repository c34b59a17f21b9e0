"""The client's side of `nar.serve.status`: a google.rpc.Status back into an exception."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar, cast

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, RequestInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from nar.base import errors
from nar.wire.tracing import REQUEST_ID

Detail = TypeVar("Detail", bound=Message)


class ServiceError(errors.NarError):
    """A server refused or failed for a reason that lies not in the query.

    Attributes:
        code: Name of the status code, e.g. ``RESOURCE_EXHAUSTED``.
        reason: What the server said.
        retry_after_s: When to try again, if the server named a time.
        request_id: Id of the call in the server's log; empty where it has none.
    """

    def __init__(
        self, code: str, reason: str, retry_after_s: float | None = None, request_id: str = ""
    ) -> None:
        text = f"{code}: {reason}"
        super().__init__(f"{text} (request {request_id})" if request_id not in reason else text)
        self.code = code
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.request_id = request_id

    def __reduce__(self) -> tuple[type["ServiceError"], tuple[str, str, float | None, str]]:
        """Cross process borders whole: the default would pass the message as one argument."""
        return type(self), (self.code, self.reason, self.retry_after_s, self.request_id)

    def with_way_out(self, way_out: str) -> "ServiceError":
        """The same error with what its caller may do about it."""
        reason = f"{self.reason}: {way_out}"
        return type(self)(self.code, reason, self.retry_after_s, self.request_id)


# The message of grpc.aio, with INTERNAL, for a stream that ended while it was written to.
_BROKEN: Final = "Internal error from Core"
# The message of grpc where a port has closed, or refuses how it was spoken to; and the likely
# reason, by whether the client spoke TLS.
_CLOSED: Final = "Socket closed"
_WHY_CLOSED: Final[Mapping[bool, str]] = {
    False: "to a server that speaks TLS say so: client.tls, or client.ca_file",
    True: "the server closed the connection: it may want a certificate that it trusts "
    "(client.certificate_file, client.key_file)",
}


def error_of_call(error: grpc.RpcError, *, wants_tls: bool) -> errors.NarError:
    """The exception of a call that failed as a whole, be it blocking or awaited.

    Args:
        error: As grpc raises it.
        wants_tls: Whether the call was encrypted.
    """
    assert isinstance(error, grpc.Call | grpc.aio.AioRpcError)
    status = rpc_status.from_call(cast(grpc.Call, error))
    if status is None:
        is_broken = error.details() == _BROKEN
        code = grpc.StatusCode.UNAVAILABLE if is_broken else error.code()
        message = error.details() or ""
        if code is grpc.StatusCode.UNAVAILABLE and message.endswith(_CLOSED):
            message += f"; {_WHY_CLOSED[wants_tls]}"
        status = Status(code=code.value[0], message=message)
    metadata = dict(cast(Iterable[tuple[str, str | bytes]], error.trailing_metadata() or ()))
    return error_of_status(status, str(metadata.get(REQUEST_ID, "")))


def error_of_status(status: Status, request_id: str = "") -> errors.NarError:
    """The exception of a call or an item; its kind says what a caller may do about it.

    Args:
        status: Of the call or the item.
        request_id: Its id in the server's log, for a status that does not hold the id.
    """
    return ERRORS.get(_code(status), _service_error)(status, request_id)


def _code(status: Status) -> grpc.StatusCode:
    known = (code for code in grpc.StatusCode if code.value[0] == status.code)
    return next(known, grpc.StatusCode.UNKNOWN)


def _invalid(status: Status, request_id: str) -> errors.NarError:
    bad = _detail(status, BadRequest)
    if bad is None or not bad.field_violations:
        return _service_error(status, request_id)
    first = bad.field_violations[0]
    return errors.InvalidQueryError(first.field, first.description)


def _unknown(status: Status, _: str) -> errors.NarError:
    return errors.UnknownArchitectureError(status.message)


def _unavailable(status: Status, _: str) -> errors.NarError:
    return errors.IndexUnavailableError(status.message)


def _service_error(status: Status, request_id: str) -> errors.NarError:
    info, retry = _detail(status, RequestInfo), _detail(status, RetryInfo)
    after_s = retry.retry_delay.ToTimedelta().total_seconds() if retry else None
    request_id = info.request_id if info else request_id
    return ServiceError(_code(status).name, status.message, after_s, request_id)


ERRORS: Final[Mapping[grpc.StatusCode, Callable[[Status, str], errors.NarError]]] = {
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
