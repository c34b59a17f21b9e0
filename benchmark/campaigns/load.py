"""Load: callers that wait for each other (closed loop), and those who come when they come (open).

In an open loop a slow server gets no fewer calls: what it cannot do it has to refuse.
"""

import asyncio
import gc
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Final

import numpy as np

from benchmark.campaigns.asked import Request
from benchmark.campaigns.messages import SERVICE
from benchmark.campaigns.wire import Prepared, Wire, prepared

# A connection carries a bounded number of calls, and the others would wait at the caller.
CONNECTIONS: Final = 16
# How often a caller looks for those of its calls whose time is over.
LOOK_S: Final = 0.01
# What a full server answers; and what its callers hear when grpc drops a call before that.
REFUSED: Final = "RESOURCE_EXHAUSTED"
DROPPED: Final = "CANCELLED"
MILLISECONDS: Final = 1_000
Sent = tuple[str, bytes]
Ask = Callable[[Sequence[Wire]], Awaitable[None]]


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
        late_s: How late a call was sent, at most. Calls that are due while callers stand still are
            all sent at once afterwards.
    """

    seconds: float
    ended: Sequence[Ended]
    late_s: float = 0.0

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
    calls = cycle(_prepared(requests, deadline_s))
    ended: list[Ended] = []

    async def ask(wires: Sequence[Wire]) -> None:
        end = time.monotonic() + seconds

        def begin(number: int) -> None:
            wires[number % CONNECTIONS].call(next(calls), partial(go_on, number))

        def go_on(number: int, code: str, took_s: float) -> None:
            ended.append(Ended(code, took_s))
            if time.monotonic() < end:
                begin(number)
            else:
                left.discard(number)

        left = set(range(clients))
        for number in sorted(left):
            begin(number)
        while left:
            await _look(wires)

    with _without_pauses():
        asyncio.run(_connected(target, ask))
    return Load(seconds, ended)


def open_loop(
    target: str,
    requests: Sequence[Sent],
    *,
    per_s: float,
    seconds: float,
    deadline_s: float,
    seed: int,
) -> Load:
    """Calls come at random times, so many a second, whatever became of earlier calls."""
    calls = _prepared(requests, deadline_s)
    ended: list[Ended] = []
    late_s = 0.0

    async def ask(wires: Sequence[Wire]) -> None:
        nonlocal late_s
        began, sent = time.monotonic(), 0
        looking = asyncio.create_task(_look_forever(wires))
        for sent, due_s in enumerate(arrivals(per_s, seconds, seed), start=1):
            # What is late is sent at once: the load stays the same.
            if (early_s := began + due_s - time.monotonic()) > 0:
                await asyncio.sleep(early_s)
            late_s = max(late_s, time.monotonic() - began - due_s)
            wires[sent % CONNECTIONS].call(calls[sent % len(calls)], on_end)
        looking.cancel()
        while len(ended) < sent:
            await _look(wires)

    def on_end(code: str, took_s: float) -> None:
        ended.append(Ended(code, took_s))

    with _without_pauses():
        asyncio.run(_connected(target, ask))
    return Load(seconds, ended, late_s)


@contextmanager
def _without_pauses() -> Iterator[None]:
    """Leave garbage alone: a collection of 0.2 s makes callers send fifty calls at once."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def arrivals(per_s: float, seconds: float, seed: int) -> Iterator[float]:
    """Times of a Poisson process.

    Example:
        >>> len(list(arrivals(100, 10, 1)))
        968
    """
    draw, due_s = random.Random(seed), 0.0
    while (due_s := due_s + draw.expovariate(per_s)) < seconds:
        yield due_s


def _prepared(requests: Sequence[Sent], deadline_s: float) -> list[Prepared]:
    return [
        prepared(f"/{SERVICE.full_name}/{method}", message, deadline_s)
        for method, message in requests
    ]


async def _look(wires: Sequence[Wire]) -> None:
    """Let answers come, and end the calls whose time is over."""
    await asyncio.sleep(LOOK_S)
    for wire in wires:
        wire.give_up()


async def _look_forever(wires: Sequence[Wire]) -> None:
    while True:
        await _look(wires)


async def _connected(target: str, ask: Ask) -> None:
    host, _, port = target.rpartition(":")
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(Wire, host, int(port)) for _ in range(CONNECTIONS)]
    wires = [wire for _, wire in made]
    try:
        await asyncio.gather(*(wire.ready for wire in wires))
        await ask(wires)
    finally:
        for wire in wires:
            wire.close()
