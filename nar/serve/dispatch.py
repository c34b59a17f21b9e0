"""Calls of our service on their way: through the layers, to a thread, and back.

grpc --> Interceptor: is it taken? --> Dispatch: doors, gates, the request --> Workers --> a thread

Each request of a stream goes the way of a call.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import grpc
from google.protobuf.message import Message

from nar.serve.calls import (
    SERVICE,
    Call,
    Context,
    Layer,
    Proceed,
    clock_of,
    request_id_of,
    time_remaining_s,
)
from nar.serve.items import Received
from nar.serve.overload import Admission, Refusing, Resting
from nar.serve.requests import Streams
from nar.serve.service import Method
from nar.serve.telemetry import Telemetry
from nar.serve.workers import Workers
from nar.wire.tracing import REQUEST_ID

# Quoted: they are generic in the stubs only.
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Handlers: TypeAlias = "grpc.GenericRpcHandler[Any, Any]"


class Dispatch:
    """Brings the calls of our service through layers to threads.

    Args:
        methods: Every method by its name.
        doors: Layers that come before a request is read, outermost first.
        admission: The first layer that comes before a request is worked on. A call passes these
            before its request is read; a stream waits for its next one outside of them.
        gates: The other layers there, outermost first.
        streams: Opens streams, and reads the requests of streams and of calls.
        workers: Where the methods run.
        telemetry: Counts the calls that come, and the calls of methods that do not exist.

    Attributes:
        methods: Every method by its name.
    """

    def __init__(
        self,
        methods: Mapping[str, Method],
        doors: Sequence[Layer],
        admission: Admission,
        gates: Sequence[Layer],
        streams: Streams,
        workers: Workers,
        telemetry: Telemetry,
    ) -> None:
        self.methods = methods
        self._doors = tuple(doors)
        self._gates = (admission, *gates)
        self._streams = streams
        self._workers = workers
        self._refusing = Refusing(telemetry)
        self.interceptor = Interceptor(admission, self._refusing, workers, telemetry)

    def handlers(self) -> Handlers:
        """What grpc calls for each method."""
        handlers = {name: self._handler(method) for name, method in self.methods.items()}
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    def _handler(self, method: Method) -> Handler:
        """Reads requests as bytes, for a thread to parse.

        The request of a call is read inside the layers, as a stream of one message: by default grpc
        reads it before anybody has looked at the token, and answers bytes that are no message with
        UNKNOWN, uncounted.
        """
        if method.is_stream:
            return grpc.stream_stream_rpc_method_handler(
                partial(self._stream, method), response_serializer=_serialized
            )
        return grpc.stream_unary_rpc_method_handler(
            partial(self._call, method), response_serializer=_serialized
        )

    async def _call(self, method: Method, _requests: object, context: Context) -> Message:
        remaining_s = time_remaining_s(context)
        patience_s = math.inf if remaining_s is None else remaining_s
        if refusal := self._workers.refusal(method.name, patience_s):
            await self._refusing.refuse(context, refusal)
        return await self.answer(method, method.request.FromString, context)

    async def answer(
        self, method: Method, parse: Callable[[bytes], Message], context: Context
    ) -> Message:
        """Bring a call through the layers to a thread.

        Args:
            method: What is called.
            parse: Makes the request of the bytes that come.
            context: Gives the request, and is aborted with the status of a call that is refused.
        """
        clock = clock_of(context, self._streams.max_call_s)
        call = Call(method.name, context, clock, _identified(context))
        layers = (*self._doors, *self._gates, self._streams.uploads)
        answer = await self._through(layers, call, method, parse)
        assert answer is not None, "only a stream ends without an answer"
        return answer

    async def _stream(self, method: Method, _requests: object, context: Context) -> None:
        request_id = _identified(context)
        with self._streams.opened() as requests:
            layers = (*self._doors, requests, *self._gates)
            is_open = True
            while is_open:
                clock = clock_of(context, self._streams.max_call_s)
                call = Call(method.name, context, clock, request_id, began=None)
                parse = method.request.FromString
                is_open = await self._through(layers, call, method, parse) is not None

    async def _through(
        self,
        layers: Sequence[Layer],
        call: Call,
        method: Method,
        parse: Callable[[bytes], Message],
    ) -> Message | None:
        """Bring one request through layers, outermost first, to a thread."""

        async def answer() -> Message:
            received = Received(call.request, parse, call.clock)
            return await self._workers.run(call, received, method.work, alone=not method.is_shared)

        proceed: Proceed = answer
        for layer in reversed(layers):
            proceed = partial(layer, call, proceed)
        return await proceed()


class Interceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Looks whether a call is taken, before anything is made for it.

    While the threads have enough to do, no call of our service is taken for a while; while the
    server is full, calls are refused: here if as many are in flight as may be, else as soon as
    their deadlines are known.

    Args:
        admission: Says whether the server is full.
        refusing: What answers then.
        workers: The threads.
        telemetry: Counts the calls that come, and the calls of methods that do not exist.
    """

    def __init__(
        self, admission: Admission, refusing: Refusing, workers: Workers, telemetry: Telemetry
    ) -> None:
        self._admission = admission
        self._refusing = refusing
        self._telemetry = telemetry
        self._resting = Resting(lambda: workers.have_enough, workers.have_answered)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        """The handler of a method, or what refuses its call."""
        self._telemetry.taken.inc()
        if handler_call_details.method.startswith(f"/{SERVICE}/"):
            # While the server drains, callers have to hear that before the port closes.
            if not self._admission.is_closed:
                self._resting.before_a_call()
            if self._admission.is_full:
                return self._refusing.handler
        handler = await continuation(handler_call_details)
        if handler is None:
            self._telemetry.rejected("unknown_method")
        return handler


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()


def _identified(context: Context) -> str:
    """The id of a call, which goes back with its reply."""
    request_id = request_id_of(context)
    context.set_trailing_metadata(((REQUEST_ID, request_id),))
    return request_id
