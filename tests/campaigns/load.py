"""Load: callers that wait for each other (closed loop), and those who come when they come (open).

In an open loop a slow server gets no fewer calls: what it cannot do it has to refuse.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import chain, cycle
from typing import Final

import grpc
import numpy as np
from campaigns.asked import Request
from campaigns.messages import SERVICE

# A connection carries a bounded number of calls, and the others would wait at the caller.
CHANNELS: Final = 16
OPTIONS: Final = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
)
# What a full server answers; and what its callers hear when grpc drops a call before that.
REFUSED: Final = "RESOURCE_EXHAUSTED"
DROPPED: Final = "CANCELLED"
MILLISECONDS: Final = 1_000
Sent = tuple[str, bytes]
Ask = Callable[[Sequence[grpc.aio.Channel]], Awaitable["list[Ended]"]]


@dataclass(frozen=True, slots=True)
class Ended:
    """A call that has ended.

    Attributes:
        code: Name of its status.
        seconds: From when it was sent to its end.
    """

    code: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Load:
    """What a server did under a load.

    Attributes:
        seconds: How long calls were sent.
        ended: All calls.
    """

    seconds: float
    ended: Sequence[Ended]

    @property
    def codes(self) -> Counter[str]:
        """How often each was the end of a call."""
        return Counter(each.code for each in self.ended)

    @property
    def goodput(self) -> float:
        """Calls a second that were answered."""
        return round(self.codes["OK"] / self.seconds, 1)

    def milliseconds(self, codes: Collection[str], percentile: float) -> float:
        """Time that calls took which ended so; 0 if there is none."""
        taken = [each.seconds for each in self.ended if each.code in codes]
        return round(float(np.percentile(taken, percentile)) * MILLISECONDS, 1) if taken else 0.0


def serialized(requests: Sequence[Request]) -> list[Sent]:
    """Requests as bytes: they are made once, and sent often."""
    return [(method, message.SerializeToString()) for method, message in requests]


def closed_loop(
    target: str, requests: Sequence[Sent], *, clients: int, seconds: float, deadline_s: float
) -> Load:
    """Each client asks again as soon as it was answered."""

    async def ask(channels: Sequence[grpc.aio.Channel]) -> list[Ended]:
        end, waiting = time.monotonic() + seconds, cycle(requests)

        async def client(number: int) -> list[Ended]:
            ended = []
            while time.monotonic() < end:
                channel = channels[number % CHANNELS]
                ended.append(await _call(channel, next(waiting), deadline_s))
            return ended

        return list(chain.from_iterable(await asyncio.gather(*map(client, range(clients)))))

    return Load(seconds, asyncio.run(_connected(target, ask)))


def open_loop(
    target: str,
    requests: Sequence[Sent],
    *,
    per_s: float,
    seconds: float,
    deadline_s: float,
    seed: int,
) -> Load:
    """Calls come at random times, so many a second, whatever became of those before."""

    async def ask(channels: Sequence[grpc.aio.Channel]) -> list[Ended]:
        began, calls = time.monotonic(), []
        for number, due_s in enumerate(arrivals(per_s, seconds, seed)):
            # What is late is sent at once: the load stays the same.
            await asyncio.sleep(began + due_s - time.monotonic())
            sent = requests[number % len(requests)]
            call = _call(channels[number % CHANNELS], sent, deadline_s)
            calls.append(asyncio.create_task(call))
        return list(await asyncio.gather(*calls))

    return Load(seconds, asyncio.run(_connected(target, ask)))


def arrivals(per_s: float, seconds: float, seed: int) -> Iterator[float]:
    """Times of a Poisson process.

    Example:
        >>> len(list(arrivals(100, 10, 1)))
        1031
    """
    draw, due_s = random.Random(seed), 0.0
    while (due_s := due_s + draw.expovariate(per_s)) < seconds:
        yield due_s


async def _connected(target: str, ask: Ask) -> list[Ended]:
    async with AsyncExitStack() as stack:
        channels = [grpc.aio.insecure_channel(target, options=OPTIONS) for _ in range(CHANNELS)]
        for channel in channels:
            await stack.enter_async_context(channel)
            await channel.channel_ready()
        return await ask(channels)


async def _call(channel: grpc.aio.Channel, sent: Sent, deadline_s: float) -> Ended:
    method, content = sent
    began = time.monotonic()
    try:
        await channel.unary_unary(f"/{SERVICE.full_name}/{method}")(content, timeout=deadline_s)
    except grpc.aio.AioRpcError as error:
        return Ended(error.code().name, time.monotonic() - began)
    return Ended("OK", time.monotonic() - began)
