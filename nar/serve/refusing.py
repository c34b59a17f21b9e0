"""Refusing a call at once, for a fraction of what a call costs that goes through the layers.

Beyond its peak a server spends its time on refusing: at five times of it four calls of five.
"""

from functools import cache
from typing import Any

import grpc
from grpc_status import rpc_status

from nar.serve.calls import REQUEST_ID, Context, request_id_of
from nar.serve.status import OverloadedError, status_of


@cache
def refusing() -> "grpc.RpcMethodHandler[Any, Any]":
    """What handles a call, or a stream, that comes while as many are in flight as may be.

    Its request is not read. One status serves all of these calls, but for their ids.
    """
    error = OverloadedError("as many calls are in flight as may be; try again")
    status = rpc_status.to_status(status_of(error))

    async def refuse(_requests: object, context: Context) -> None:
        request_id = (REQUEST_ID, request_id_of(context))
        await context.abort(status.code, status.details, (*status.trailing_metadata, request_id))

    return grpc.stream_unary_rpc_method_handler(refuse)
