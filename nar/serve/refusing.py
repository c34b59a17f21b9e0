"""Refusing a call at once, for a fraction of what a call costs that goes through the layers."""

import math
from functools import lru_cache
from typing import Any, NoReturn

import grpc
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from nar.serve.calls import Context, request_id_of
from nar.serve.status import OverloadedError, pushback, status_of
from nar.serve.telemetry import Telemetry
from nar.wire.tracing import REQUEST_ID


class Refusing:
    """Refuses the calls that a full server has no room for.

    Most calls that are too many never come here: see `Resting`.

    Args:
        telemetry: Counts them.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self.handler: grpc.RpcMethodHandler[Any, Any] = grpc.stream_unary_rpc_method_handler(
            self._handle
        )

    async def _handle(self, _requests: object, context: Context) -> None:
        await self.refuse(
            context, OverloadedError("as many calls are in flight as may be; try again")
        )

    async def refuse(self, context: Context, error: OverloadedError) -> NoReturn:
        """End a call whose request was not read."""
        self._telemetry.rejected("overloaded")
        told, status = _status(str(error), math.ceil(error.retry_after_s))
        metadata = (
            *status.trailing_metadata,
            *pushback(told),
            (REQUEST_ID, request_id_of(context)),
        )
        await context.abort(status.code, status.details, metadata)


@lru_cache(maxsize=128)
def _status(reason: str, retry_after_s: int) -> tuple[Status, grpc.Status]:
    """One status serves many calls, but for their ids."""
    told = status_of(OverloadedError(reason, retry_after_s))
    return told, rpc_status.to_status(told)
