"""The floor of shedding: a bare server of grpc that refuses every call, and does nothing else.

What its callers wait is the load's own doing, and that of grpc and of the cores that they share.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import grpc


class Refusal(grpc.GenericRpcHandler):
    """Refuses calls of any method, and reads none of their requests."""

    def service(self, _details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """What refuses a call."""
        return grpc.stream_unary_rpc_method_handler(_refuse)


async def _refuse(_requests: object, context: grpc.aio.ServicerContext) -> None:
    await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "always")


async def serve() -> None:
    """Refuse until the process is ended; the port stands in the first line of the output."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([Refusal()])
    sys.stdout.write(f"{server.add_insecure_port('127.0.0.1:0')}\n")
    sys.stdout.flush()
    await server.start()
    await server.wait_for_termination()


@contextmanager
def bare() -> Iterator[str]:
    """Run it as a process of its own; gives its address."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            port = process.stdout.readline().strip()
            assert port, "the bare server did not start"
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


if __name__ == "__main__":
    asyncio.run(serve())
