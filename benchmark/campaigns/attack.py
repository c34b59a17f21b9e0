"""Attack: one caller of many who send a server what it should refuse, and look at every answer."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import BoundedSemaphore
from typing import Final, Self

import grpc

from benchmark.campaigns.asked import by_hand, everyday, heaviest
from benchmark.campaigns.contract import Known
from benchmark.campaigns.judging import fault_of
from benchmark.campaigns.messages import SERVICE, UNARY, broken
from benchmark.campaigns.served import UNBOUNDED
from nar.index.rows import IndexRow
from nar.serve.doors import READING
from nar.serve.workers import HEAVY
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub as Stub

Sent = tuple[str, bytes]
# What a writer sends would change what answers are compared with.
ASKING: Final = [name for name in UNARY if name in READING]
DEADLINE_S: Final = 60.0
# One call in so many has its hits compared with all vectors, and one is as large as may be.
DEEP_EVERY: Final = 20
HUGE_EVERY: Final = 2_000
# One call in so many brings what Hypothesis has made, as it is or two of them in one.
MADE_EVERY: Final = 5
# Callers that may wait for the heavy thread of a server; the others go on meanwhile.
HEAVY_AT_A_TIME: Final = 4
LARGE_BYTES: Final = 256 * 1_024
SHOWN_BYTES: Final = 300


@dataclass(slots=True)
class Score:
    """What became of some calls.

    Attributes:
        codes: How often each was the end of a call.
        faults: Answers that may not stand.
    """

    codes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, other: Self) -> None:
        """Take in those of another caller."""
        self.codes += other.codes
        self.faults += other.faults

    @property
    def answered(self) -> int:
        """Calls that were looked at, rather than turned away because others were there."""
        return self.codes.total() - self.codes["RESOURCE_EXHAUSTED"]


@dataclass(frozen=True, slots=True)
class Attack:
    """What one server is sent.

    Attributes:
        target: Its address.
        known: What it holds.
        valid: Requests before they are broken, and some that are wrong by themselves.
        huge: Requests as large as may be, and larger.
        heavy: Lets so many at a time ask what a server has one thread for.
    """

    target: str
    known: Known
    valid: Sequence[Sent]
    huge: Sequence[Sent]
    heavy: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(HEAVY_AT_A_TIME))

    @classmethod
    def on(cls, target: str, rows: Sequence[IndexRow], seed: int) -> Self:
        """An attack on a server that holds these rows."""
        with grpc.insecure_channel(target) as channel:
            limits = Stub(channel).Describe(wire.DescribeRequest()).limits
        known = Known.of(rows, limits)
        requests = [each for kind in everyday(rows, seed).values() for each in kind]
        requests += by_hand(known.vectors.shape[1])
        full = heaviest(limits, seed).SerializeToString()
        return cls(
            target,
            known,
            [(method, message.SerializeToString()) for method, message in requests],
            [
                ("Embed", full),
                ("Embed", full + full[:99]),
                ("Search", b"\n" * len(full)),
                ("Get", bytes(limits.max_message_bytes + 1)),
            ],
        )

    def by_caller(self, made: Sequence[Sent], count: int, seed: str) -> Score:
        """Send some requests, one after the other.

        Args:
            made: Further requests, which are also broken.
            count: How many.
            seed: What to draw from; no other caller has it.
        """
        draw, score = random.Random(seed), Score()
        pool = [*self.valid, *made]
        options = [UNBOUNDED, ("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(self.target, options=options) as channel:
            for _ in range(count):
                with self._turn(partial(self._drawn, draw, pool, made)) as (method, sent):
                    code, answer = called(channel, method, sent)
                score.codes[code.name] += 1
                deep = draw.randrange(DEEP_EVERY) == 0
                fault = fault_of(self.known, method, sent, code.value[0], answer, deep=deep)
                if fault:
                    shown = sent[:SHOWN_BYTES].hex()
                    score.faults.append(f"{method}: {fault}; seed {seed}, bytes {shown}")
        return score

    @contextmanager
    def _turn(self, drawn: Callable[[], Sent]) -> Iterator[Sent]:
        """What to send; drawn again where too many callers wait for the heavy thread already."""
        while True:
            sent = drawn()
            if not is_heavy(sent):
                yield sent
                return
            if self.heavy.acquire(blocking=False):
                try:
                    yield sent
                finally:
                    self.heavy.release()
                return

    def _drawn(self, draw: random.Random, pool: Sequence[Sent], made: Sequence[Sent]) -> Sent:
        if draw.randrange(HUGE_EVERY) == 0:
            return draw.choice(self.huge)
        if made and draw.randrange(MADE_EVERY) == 0:
            return joined(draw, made)
        method, content = draw.choice(pool)
        # Now and then what was meant for another method.
        method = draw.choice(ASKING) if draw.randrange(MADE_EVERY) == 0 else method
        return method, broken(draw, content)


def is_heavy(sent: Sent) -> bool:
    """Whether a server has one thread for what is sent, so that it may wait for long."""
    method, content = sent
    return method in HEAVY or len(content) > LARGE_BYTES


def joined(draw: random.Random, made: Sequence[Sent]) -> Sent:
    """A message as it was made, or one more: bytes of two messages of a method are a third."""
    method, content = draw.choice(made)
    other, more = draw.choice(made)
    return method, content + more if other == method else content


def called(channel: grpc.Channel, method: str, sent: bytes) -> tuple[grpc.StatusCode, bytes]:
    """Code and bytes of the answer to some bytes."""
    call = channel.unary_unary(f"/{SERVICE.full_name}/{method}")
    try:
        return grpc.StatusCode.OK, call(sent, timeout=DEADLINE_S)
    except grpc.RpcError as error:
        return error.code(), b""
