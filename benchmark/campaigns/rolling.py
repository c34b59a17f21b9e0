"""Rolling: two servers behind one address list, one restarted after the other, under load.

Callers use the client as it ships, with both addresses. No call may fail, and a server that was
restarted must answer soon.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Final

from benchmark.campaigns.asked import vectors_of
from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.served import Served, served
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.base.errors import NarError
from nar.client.client import Client

RECOVERY_S: Final = 5.0
PAUSE_S: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Rolling(Options):
    """How often, and under how much."""

    restarts: int = option(50, "restarts, of one server after the other")
    clients: int = option(4, "callers at once")


@dataclass(slots=True)
class Calls:
    """What one caller has seen.

    Attributes:
        answered: Calls.
        longest_s: Of one call, tries included.
        failed: What the others said.
    """

    answered: int = 0
    longest_s: float = 0.0
    failed: list[str] = field(default_factory=list)


def rolling(told: Rolling) -> Iterator[Tally]:
    """Restart and ask."""
    vectors = vectors_of(read_atlas(shipped_atlas()).rows, told.seed)
    with (
        tempfile.TemporaryDirectory() as directory,
        served(Path(directory) / "one") as one,
        served(Path(directory) / "other") as other,
        ThreadPoolExecutor(told.clients) as pool,
    ):
        ending, seen = Event(), [Calls() for _ in range(told.clients)]
        targets = f"ipv4:{one.target},{other.target}"
        asking = [pool.submit(_ask, targets, vectors, calls, ending) for calls in seen]
        recoveries: list[float] = []
        try:
            for restart in range(told.restarts):
                recoveries.append(restarted((one, other)[restart % 2]))
                yield _tally(told, recoveries, seen)
        finally:
            ending.set()
        for each in asking:
            each.result()
        yield _tally(told, recoveries, seen)


def restarted(server: Served) -> float:
    """Stop a server as an operator does and start it; gives seconds until it serves again."""
    server.stop()
    return server.start()


def _ask(targets: str, vectors: Sequence[object], calls: Calls, ending: Event) -> None:
    with Client(targets) as client:
        while not ending.wait(PAUSE_S):
            began = time.monotonic()
            try:
                client.search(vectors[calls.answered % len(vectors)], top_k=10)
                calls.answered += 1
            except NarError as error:
                calls.failed.append(repr(error))
            calls.longest_s = max(calls.longest_s, time.monotonic() - began)


def _tally(told: Rolling, recoveries: Sequence[float], seen: Sequence[Calls]) -> Tally:
    longest = max(calls.longest_s for calls in seen)
    faults = [f"a call failed: {each}" for calls in seen for each in calls.failed]
    if max(recoveries) > RECOVERY_S:
        faults.append(f"a server took {max(recoveries):.1f} s until it served again")
    if longest > RECOVERY_S:
        faults.append(f"a call took {longest:.1f} s")
    figures = {
        "calls": sum(calls.answered for calls in seen),
        "failed": sum(len(calls.failed) for calls in seen),
        "longest_call_s": round(longest, 2),
        "recovery_max_s": round(max(recoveries), 2),
    }
    return Tally(len(recoveries), told.restarts, figures, tuple(faults))


if __name__ == "__main__":
    main(Rolling, rolling)
