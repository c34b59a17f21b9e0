"""Calls of our service on their way: taken or refused, through the layers, to a thread, and back.

grpc --> Interceptor: is it taken? --> Dispatch: doors, gates, the request --> Workers --> a thread

Each request of a stream goes the way of a call.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache, partial
from threading import Event
from time import monotonic
from typing import Any, Final, NoReturn, TypeAlias

import grpc
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from nar.serve.calls import (
    SERVICE,
    Call,
    Context,
    Layer,
    Proceed,
    caller_of,
    clock_of,
    request_id_of,
    time_remaining_s,
)
from nar.serve.doors import Admission
from nar.serve.items import Received
from nar.serve.requests import Streams
from nar.serve.service import Method
from nar.serve.status import OverloadedError, pushback, status_of
from nar.serve.telemetry import Telemetry
from nar.serve.workers import Workers
from nar.wire.tracing import REQUEST_ID

# Quoted: they are generic in the stubs only.
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Handlers: TypeAlias = "grpc.GenericRpcHandler[Any, Any]"
# How long the event loop rests at most, and how long it goes on before the next rest (chosen; the
# campaigns in results/reliability.md passed with these times).
REST_S, GO_ON_S = 0.05, 0.0005
# After so many rests without an answer the second pair of times holds (chosen): every thread is at
# long work or waits for a store, and health probes and refusals should not wait for the threads.
IN_VAIN: Final = 4
HASTY_REST_S, HASTY_GO_ON_S = 0.002, 0.002  # half of the time is left to refusals


class Dispatch:
    """Brings the calls of our service through layers to threads.

    Args:
        methods: Every method by its name.
        doors: Layers that come before a request is read, outermost first.
        admission: The first gate. A call passes the gates before its request is read; a stream
            waits for its next request outside of the gates.
        gates: The further layers before a request is worked on, outermost first.
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
            method: The method that is called.
            parse: Makes the request out of the bytes that come.
            context: Gives the request, and is aborted with the status of a call that is refused.
        """
        clock = clock_of(context, self._streams.max_call_s)
        call = Call(method.name, context, clock, _identified(context), caller=caller_of(context))
        layers = (*self._doors, *self._gates, self._streams.uploads)
        answer = await self._through(layers, call, method, parse)
        assert answer is not None, "only a stream ends without an answer"
        return answer

    async def _stream(self, method: Method, _requests: object, context: Context) -> None:
        request_id, caller = _identified(context), caller_of(context)
        with self._streams.opened(caller) as requests:
            layers = (*self._doors, requests, *self._gates)
            is_open = True
            while is_open:
                clock = clock_of(context, self._streams.max_call_s)
                call = Call(method.name, context, clock, request_id, began=None, caller=caller)
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
            received = Received(call.request, parse, call.clock, call.scope)
            return await self._workers.run(
                call,
                received,
                method.work,
                alone=not method.is_shared,
                is_heavy=method.is_heavy,
            )

        proceed: Proceed = answer
        for layer in reversed(layers):
            proceed = partial(layer, call, proceed)
        return await proceed()


class Resting:
    """Lets the event loop rest while the threads have enough to do, until a thread answers.

    Beyond its peak a server would spend its time on refusing: at five times the peak it refuses
    four calls of five, and each refusal keeps the threads from running Python for a third of a
    millisecond. While the loop rests, calls wait in grpc, and grpc itself drops the calls beyond a
    bound, at once and without Python:

        calls ---> [ wait in grpc ] ---> event loop ---> [ wait for a thread ] ---> threads
                          | too many         ^                  enough?                |
                          v                  +-------- rests until one answers --------+
                       dropped

    Args:
        have_enough: Whether a further call would only wait, or be refused.
        answered: Set by a thread that has answered; cleared here.
    """

    def __init__(self, have_enough: Callable[[], bool], answered: Event) -> None:
        self._have_enough = have_enough
        self._answered = answered
        self._in_vain = 0
        self._rest_at = 0.0

    def before_a_call(self) -> None:
        """Rest if there is enough to do, unless the last rest has just ended."""
        if not self._have_enough() or monotonic() < self._rest_at:
            return
        is_hasty = self._in_vain >= IN_VAIN
        # This blocks on purpose: during an await the loop would take the next calls.
        has_answered = self._answered.wait(HASTY_REST_S if is_hasty else REST_S)
        self._answered.clear()
        self._in_vain = 0 if has_answered else self._in_vain + 1
        self._rest_at = monotonic() + (HASTY_GO_ON_S if is_hasty else GO_ON_S)


class Refusing:
    """Refuses the calls that a full server has no room for.

    Most of the calls beyond its bounds never come here: see `Resting`.

    Args:
        telemetry: Counts the refused calls.
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
        status, grpc_status = _status(str(error), math.ceil(error.retry_after_s))
        metadata = (
            *grpc_status.trailing_metadata,
            *pushback(status),
            (REQUEST_ID, request_id_of(context)),
        )
        await context.abort(grpc_status.code, grpc_status.details, metadata)


@lru_cache(maxsize=128)  # reasons are few, and waits are whole seconds
def _status(reason: str, retry_after_s: int) -> tuple[Status, grpc.Status]:
    """One status serves many calls, but for their ids."""
    status = status_of(OverloadedError(reason, retry_after_s))
    return status, rpc_status.to_status(status)


class Interceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Decides whether a call is taken, before anything is made for it.

    While the threads have enough to do, no call of our service is taken for a while; while the
    server is full, calls are refused: here if as many are in flight as may be, else as soon as
    their deadlines are known.

    Args:
        admission: Says whether the server is full.
        refusing: Answers the calls of a full server.
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
        """The handler of a method, or the handler that refuses its call."""
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
