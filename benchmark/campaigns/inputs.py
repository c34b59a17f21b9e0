"""Inputs: bad bytes over the wire to a server of the atlas, from several callers at once.

No call may end with INTERNAL or by a lost connection, nothing may be answered with OK that is
wrong, and the memory of the server must stay flat.
"""

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, Final, Self

import grpc
import numpy as np
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from benchmark.campaigns.asked import by_hand, everyday, heaviest
from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.contract import (
    TOLERANCE,
    Known,
    is_direction,
    is_filter,
    is_graph,
    is_known,
    is_nearest,
    passes,
)
from benchmark.campaigns.messages import METHODS, SERVICE, UNARY, broken, made
from benchmark.campaigns.processes import slope, usage_of
from benchmark.campaigns.served import UNBOUNDED, served
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.index.rows import IndexRow, architecture_id
from nar.serve.doors import READING
from nar.serve.workers import HEAVY
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub as Stub

INVALID: Final[int] = grpc.StatusCode.INVALID_ARGUMENT.value[0]
NOT_FOUND: Final[int] = grpc.StatusCode.NOT_FOUND.value[0]
ITEM_CODES: Final = {0, INVALID, NOT_FOUND}
# A caller of nonsense may also come too early again.
CALL_CODES: Final = {INVALID, grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]}
Judge = Callable[[Known, Any, Any, bool], str | None]
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
CHUNK: Final = 20_000
# Messages that Hypothesis makes of each method for a chunk, 10 ms each; callers join them in pairs.
MADE: Final = 100
FLAT_MB: Final = 10.0
INPUTS_OF_SLOPE: Final = 100_000
# Fewer inputs tell no slope.
MIN_INPUTS: Final = 100_000


def fault_of(
    known: Known, method: str, sent: bytes, code: int, answer: bytes, *, deep: bool = False
) -> str | None:
    """What is wrong with an answer; None if it may stand.

    Args:
        known: What the server is.
        method: That was called.
        sent: The bytes of the request.
        code: Of the call.
        answer: The bytes of the reply, if it was OK.
        deep: Compare hits with all vectors of the index.
    """
    if code:
        # Who explains has one target for all items of a call.
        may = CALL_CODES | {NOT_FOUND} if method == "Explain" else CALL_CODES
        return None if code in may else f"the call ended with code {code}"
    kind = METHODS[method]
    try:
        request = GetMessageClass(kind.input_type).FromString(sent)
    except DecodeError:
        return "OK for bytes that are no message"
    reply = GetMessageClass(kind.output_type).FromString(answer)
    if method not in ITEMS:
        return None
    field, judge = ITEMS[method]
    items = getattr(request, field)
    if not 1 <= len(items) <= known.limits.max_items or len(items) != len(reply.results):
        return f"{len(items)} items, {len(reply.results)} results"
    for item, result in zip(items, reply.results, strict=True):
        if result.status.code not in ITEM_CODES:
            return f"an item ended with code {result.status.code}"
        fault = judge(known, item, result, deep) if not result.status.code else None
        if fault:
            return f"wrong OK: {fault}"
    return None


# What is ranked once more, by more than the score that a hit bears.
RANKED_AGAIN = frozenset({wire.BY_COPY, wire.BY_ORIGIN})


def _search_fault(
    known: Known, query: wire.Query, result: wire.SearchResult, deep: bool
) -> str | None:
    limits, target = known.limits, query.WhichOneof("target")
    top_k = query.top_k or limits.default_top_k
    scores = [hit.score for hit in result.hits]
    checks = {
        "no target": target is not None,
        "top_k": top_k <= limits.max_top_k,
        "by": query.by in wire.By.values(),
        "too many hits": len(scores) <= top_k,
        "order of scores": query.by in RANKED_AGAIN or all(a >= b for a, b in pairwise(scores)),
        "scores beyond 1": all(-1 <= score <= 1 for score in scores),
        "novelty": 0 <= result.novelty <= 100,
        "filter": all(passes(query.filter, hit.architecture) for hit in result.hits),
        "filter without meaning": is_filter(query.filter),
        "unknown hits": all(hit.architecture.name in known.names for hit in result.hits),
        "vector": target != "vector" or is_direction(known, query.vector),
        "name": target != "architecture" or is_known(known, query.architecture),
        "graph": target != "graph" or is_graph(query.graph, limits),
    }
    wrong = [name for name, holds in checks.items() if not holds]
    if not wrong and deep and target == "vector" and not query.HasField("filter"):
        wrong += [] if is_nearest(known, query, scores) else ["hits that are not the nearest"]
    return ", ".join(wrong) or None


def _embed_fault(known: Known, graph: wire.Graph, result: wire.EmbedResult, _: bool) -> str | None:
    vector = np.array(result.vector.values)
    if vector.shape != known.vectors.shape[1:] or abs(np.linalg.norm(vector) - 1) > TOLERANCE:
        return "no vector of length 1"
    prints = (result.topology, result.exact, result.inference)
    if any(len(each) != 64 for each in prints):
        return "fingerprints"
    return None if is_graph(graph, known.limits) else "this is no graph"


def _get_fault(known: Known, name: str, result: wire.GetResult, _: bool) -> str | None:
    given = result.architecture
    is_same = name in (given.name, given.id) and given.id == architecture_id(given.name)
    return None if is_same and given.name in known.names else "another architecture"


ITEMS: Final[Mapping[str, tuple[str, Judge]]] = {
    "Search": ("queries", _search_fault),
    "Embed": ("graphs", _embed_fault),
    "Get": ("architectures", _get_fault),
}


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


@dataclass(frozen=True, kw_only=True)
class Inputs(Options):
    """How many, from how many callers."""

    inputs: int = option(1_000_000, "bad inputs that are answered")
    # So many that some go on while the others wait behind one of the heaviest calls.
    clients: int = option(16, "callers at once")


def inputs(told: Inputs) -> Iterator[Tally]:
    """Send, judge and weigh."""
    rows = read_atlas(shipped_atlas()).rows
    with (
        tempfile.TemporaryDirectory() as directory,
        served(Path(directory)) as server,
        ThreadPoolExecutor(told.clients) as callers,
    ):
        attack, score = Attack.on(server.target, rows, told.seed), Score()
        del rows
        sent, resident = [0], [usage_of(server.pid).resident_mb]
        while score.answered < told.inputs:
            chunk, shift = min(CHUNK, told.inputs - score.answered), told.seed + sent[-1]
            new = [(method, each) for method in ASKING for each in made(method, MADE, shift)]
            each = -(-chunk // told.clients)
            seeds = [f"{shift}:{caller}" for caller in range(told.clients)]
            for part in callers.map(partial(attack.by_caller, new, each), seeds):
                score.add(part)
            sent.append(score.answered)
            resident.append(usage_of(server.pid).resident_mb)
            yield _tally(told, score, sent, resident)


def _tally(told: Inputs, score: Score, sent: list[int], resident: list[float]) -> Tally:
    rise = slope([each / INPUTS_OF_SLOPE for each in sent], resident)
    faults = list(score.faults)
    if sent[-1] > MIN_INPUTS and rise > FLAT_MB:
        faults.append(f"memory rises by {rise} MiB in {INPUTS_OF_SLOPE} inputs")
    figures = {
        **dict(score.codes),
        "resident_mb": round(resident[-1]),
        "rise_mb_in_100_000": rise,
    }
    return Tally(score.answered, told.inputs, figures, tuple(faults))


if __name__ == "__main__":
    main(Inputs, inputs)
