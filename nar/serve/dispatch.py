"""Calls of our service on their way: through the layers, to a thread, and back.

A stream goes the way of a call again and again, once for each of its requests.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

import grpc
from google.protobuf.message import Message

from nar.serve.calls import (
    Call,
    Context,
    Layer,
    Proceed,
    StageClock,
    clock_of,
    request_id_of,
    time_remaining_s,
)
from nar.serve.interceptors import Admission
from nar.serve.overload import Refusing, Resting
from nar.serve.requests import Streams
from nar.serve.telemetry import Telemetry
from nar.serve.together import Asked, Work, one_by_one
from nar.serve.workers import Workers
from nar.wire.tracing import REQUEST_ID

# Quoted: this is generic in the stubs only.
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Behaviour = Callable[[Message, StageClock], Message]


class Interceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Puts layers around the methods of one service.

    Args:
        service: Full name; calls of other services pass untouched.
        doors: Layers that come before a request is read, outermost first.
        admission: The first layer that comes before a request is worked on. A call passes these
            before its request is read; a stream waits for its next one outside of them.
        gates: The other ones, outermost first.
        shared: The work of the methods that answer several calls together, by their names.
        streams: Opens streams, and reads requests, of these and of calls.
        workers: Where the methods run.
        telemetry: Counts calls that come, and those of methods that do not exist.
    """

    def __init__(
        self,
        service: str,
        doors: Sequence[Layer],
        admission: Admission,
        gates: Sequence[Layer],
        shared: Mapping[str, Work],
        streams: Streams,
        workers: Workers,
        telemetry: Telemetry,
    ) -> None:
        self._prefix = f"/{service}/"
        self._doors = tuple(doors)
        self._admission = admission
        self._gates = (admission, *gates)
        self._shared = shared
        self._streams = streams
        self._workers = workers
        self._telemetry = telemetry
        self._refusing = Refusing(telemetry)
        self._resting = Resting(lambda: workers.have_enough, workers.have_answered)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        """Wrap the handler of a method of ours.

        The request of a call is read inside the layers, as a stream of one message: by default grpc
        reads it before anybody has looked at the token, and answers bytes that are no message with
        UNKNOWN, uncounted.

        While the threads have enough to do, none is taken for a while; while the server is full,
        calls are refused before anything is made for them: here if as many are in flight as may be,
        else as soon as their deadlines are known.
        """
        self._telemetry.taken.inc()
        method = handler_call_details.method
        if method.startswith(self._prefix):
            # While the server drains, callers have to hear that before the port closes.
            if not self._admission.is_closed:
                self._resting.before_a_call()
            if self._admission.is_full:
                return self._refusing.handler
        handler = await continuation(handler_call_details)
        if handler is None:
            self._telemetry.rejected("unknown_method")
            return handler
        if not method.startswith(self._prefix):
            return handler
        name = method.removeprefix(self._prefix)
        if handler.request_streaming:
            return grpc.stream_stream_rpc_method_handler(
                partial(self._stream, name, handler),
                response_serializer=handler.response_serializer,
            )
        return grpc.stream_unary_rpc_method_handler(
            partial(self._call, name, handler), response_serializer=handler.response_serializer
        )

    async def _call(
        self, method: str, handler: Handler, _requests: object, context: Context
    ) -> Message:
        remaining_s = time_remaining_s(context)
        refusal = self._workers.refusal(method, math.inf if remaining_s is None else remaining_s)
        if refusal:
            await self._refusing.refuse(context, refusal)
        return await self.answer(method, handler, context)

    async def answer(self, method: str, handler: Handler, context: Context) -> Message:
        """Bring a call through the layers to a thread.

        Args:
            method: Name without the service.
            handler: Reads its request, and has the method.
            context: Gives the request, and is aborted with the status of a call that is refused.
        """
        clock = clock_of(context, self._streams.max_call_s)
        call = Call(method, context, clock, _identified(context))
        layers = (*self._doors, *self._gates, self._streams.uploads)
        answer = await self._through(layers, call, handler)
        assert answer is not None, "only a stream ends without an answer"
        return answer

    async def _stream(
        self, method: str, handler: Handler, _requests: object, context: Context
    ) -> None:
        request_id = _identified(context)
        with self._streams.one() as requests:
            layers = (*self._doors, requests, *self._gates)
            is_open = True
            while is_open:
                clock = clock_of(context, self._streams.max_call_s)
                call = Call(method, context, clock, request_id, began=None)
                is_open = await self._through(layers, call, handler) is not None

    async def _through(
        self, layers: Sequence[Layer], call: Call, handler: Handler
    ) -> Message | None:
        """Bring one request through layers, outermost first, to a thread."""
        # The methods of `Servicer` take the clock of the call in place of grpc's context.
        behaviour = cast(Behaviour, handler.unary_unary or handler.stream_stream)
        work = self._shared.get(call.method) or one_by_one(behaviour)
        read = cast(Callable[[bytes], Message], handler.request_deserializer)

        async def answer() -> Message:
            asked = Asked(call.request, read, call.clock)
            return await self._workers.run(call, asked, work, alone=call.method not in self._shared)

        proceed: Proceed = answer
        for layer in reversed(layers):
            proceed = partial(layer, call, proceed)
        return await proceed()


def _identified(context: Context) -> str:
    """The id of a call, which goes back with its reply."""
    request_id = request_id_of(context)
    context.set_trailing_metadata(((REQUEST_ID, request_id),))
    return request_id
