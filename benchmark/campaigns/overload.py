"""Overload: calls come at once, twice and five times the peak, whatever the server does with them.

The peak is measured first, by callers who wait for each other. At five times of it the server
should still answer nearly as much, in time, and refuse the rest at once. How soon callers hear of
that is told beside the floor: the same load, on the same cores, of a server that only refuses.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmark.campaigns.asked import everyday
from benchmark.campaigns.bare import bare
from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.load import (
    DROPPED,
    REFUSED,
    Load,
    Sent,
    closed_loop,
    open_loop,
    serialized,
)
from benchmark.campaigns.served import Settings, served
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.wire.settings import ServerConfig

TIMES: Final = (1, 2, 5)
# Of the peak, at the highest load.
GOODPUT: Final = 0.9
OBJECTIVE_MS: Final = 500.0
SHED_MS: Final = 10.0
DEADLINE_S: Final = OBJECTIVE_MS / 1_000
SHED: Final = (REFUSED, DROPPED)


@dataclass(frozen=True, kw_only=True)
class Overload(Options):
    """Of what, and for how long."""

    kind: str = option("vector", "what is asked", ("vector", "filter", "name", "graph"))
    seconds: float = option(60.0, "how long each load lasts")
    clients: int = option(16, "callers at once while the peak is measured")
    threads: int = option(ServerConfig().compute_threads, "threads of the server for small calls")
    unseen: int = option(ServerConfig().unseen_calls, "calls that may wait before it takes them")

    @property
    def variant(self) -> str:
        """What is asked."""
        return self.kind


def overload(told: Overload) -> Iterator[Tally]:
    """Measure the peak, the floor of shedding, then more than the peak."""
    requests = serialized(everyday(read_atlas(shipped_atlas()).rows, told.seed)[told.kind])
    figures: dict[str, float] = {}
    faults: list[str] = []
    server = {"compute_threads": told.threads, "unseen_calls": told.unseen}
    settings: Settings = {"server": server}
    with tempfile.TemporaryDirectory() as directory, served(Path(directory), settings) as server:
        server.settle()
        figures["peak_per_s"] = peak = peak_of(told, server.target, requests)
        with bare() as target:
            figures |= shed_of(load_of(told, target, requests, TIMES[-1] * peak), "floor")
        for done, times in enumerate(TIMES, start=1):
            load = load_of(told, server.target, requests, times * peak)
            figures |= figures_of(load, times)
            faults += faults_of(load, times, peak)
            yield Tally(done, len(TIMES), figures, tuple(faults))


def peak_of(told: Overload, target: str, requests: Sequence[Sent]) -> float:
    """Calls a second that are answered to callers who wait for each other."""
    how = {"clients": told.clients, "seconds": told.seconds, "deadline_s": 10 * DEADLINE_S}
    return max(closed_loop(target, requests, **how).goodput, 1.0)


def load_of(told: Overload, target: str, requests: Sequence[Sent], per_s: float) -> Load:
    """What becomes of so many calls a second."""
    how = {"seconds": told.seconds, "deadline_s": DEADLINE_S, "seed": told.seed}
    return open_loop(target, requests, per_s=per_s, **how)


def figures_of(load: Load, times: int) -> dict[str, float]:
    """What is told of a load."""
    others = load.codes.total() - sum(load.codes[code] for code in ("OK", *SHED))
    return {
        f"{times}x_goodput_per_s": load.goodput,
        f"{times}x_accepted_p99_ms": load.milliseconds(["OK"], 99),
        f"{times}x_refused": load.codes[REFUSED],
        f"{times}x_dropped": load.codes[DROPPED],
        **shed_of(load, f"{times}x"),
        f"{times}x_others": others,
    }


def shed_of(load: Load, name: str) -> dict[str, float]:
    """How soon callers hear that they are refused."""
    return {f"{name}_shed_p{part}_ms": load.milliseconds(SHED, part) for part in (50, 99)}


def faults_of(load: Load, times: int, peak: float) -> Iterator[str]:
    """What a server should do better under a load."""
    accepted, shed = load.milliseconds(["OK"], 99), load.milliseconds(SHED, 99)
    if times == TIMES[-1] and load.goodput < GOODPUT * peak:
        yield f"at {times}x {load.goodput} calls a second are answered, {peak} at the peak"
    if accepted > OBJECTIVE_MS:
        yield f"at {times}x accepted calls take {accepted} ms (p99)"
    if shed > SHED_MS:
        yield f"at {times}x calls are shed after {shed} ms (p99)"
    for code, count in load.codes.items():
        if code not in {"OK", *SHED}:
            yield f"at {times}x {count} calls ended with {code}"


if __name__ == "__main__":
    main(Overload, overload)
