"""Bodies of requests: bounded before they are read, and while they come."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from google.protobuf.message import DecodeError
from starlette.requests import ClientDisconnect, Request

from nar.serve.status import OversizedError, SlowUploadError

# A part is some 64 kB.
_PART_S: Final = 10.0


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The whole body.

    Raises:
        OversizedError: It says that it is larger, or becomes so.
    """
    return b"".join([part async for part in parts_of(request, max_bytes)])


async def parts_of(request: Request, max_bytes: int) -> AsyncIterator[bytes]:
    """The body in the parts in which it comes.

    Raises:
        OversizedError: It says that it is larger, or becomes so.
        SlowUploadError: Nothing came for too long.
        DecodeError: The client left.
    """
    said = request.headers.get("content-length", "")
    came = int(said) if said.isascii() and said.isdigit() else 0
    _check(came, max_bytes)
    came = 0
    parts = aiter(request.stream())
    while (part := await _next(parts)) is not None:
        came += len(part)
        _check(came, max_bytes)
        yield part


async def _next(parts: AsyncIterator[bytes]) -> bytes | None:
    try:
        async with asyncio.timeout(_PART_S):
            return await anext(parts, None)
    except TimeoutError:
        raise SlowUploadError(f"nothing of the body came within {_PART_S:g} s") from None
    except ClientDisconnect as error:
        raise DecodeError("the body ended early") from error


def _check(size_bytes: int, max_bytes: int) -> None:
    if size_bytes > max_bytes:
        raise OversizedError(f"wanted at most {max_bytes:,} bytes, came {size_bytes:,} or more")
