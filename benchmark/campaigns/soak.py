"""Soak: a server at seven tenths of its peak, asked everything that callers ask, for an hour.

Its memory must not rise, its descriptors and threads must stay, and no call may fail.
"""

import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmark.campaigns.asked import everyday
from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.load import (
    MILLISECONDS,
    REFUSED,
    Load,
    Sent,
    closed_loop,
    open_loop,
    serialized,
)
from benchmark.campaigns.processes import Usage, slope, usage_of
from benchmark.campaigns.served import Served, served
from nar.answers.atlas import read_atlas, shipped_atlas

SHARE: Final = 0.7
CLIENTS: Final = 16
PEAK_S: Final = 20.0
DEADLINE_S: Final = 10.0
HOUR_S: Final = 3_600.0
# What may come and go: connections of this campaign, and threads that are begun when needed.
SPARE_DESCRIPTORS: Final = 8
SPARE_THREADS: Final = 4
# Of what is resident, in an hour.
RISE: Final = 0.02
MIN_MINUTES_FOR_SLOPE: Final = 10.0


@dataclass(frozen=True, kw_only=True)
class Soak(Options):
    """For how long."""

    minutes: float = option(60.0, "how long")
    looks: int = option(120, "how often the process is looked at")


def soak(told: Soak) -> Iterator[Tally]:
    """Load the server and look at it."""
    kinds = everyday(read_atlas(shipped_atlas()).rows, told.seed)
    requests = serialized([each for kind in kinds.values() for each in kind])
    order = np.random.default_rng(told.seed).permutation(len(requests)).tolist()
    requests = [requests[at] for at in order]
    with tempfile.TemporaryDirectory() as directory, served(Path(directory)) as server:
        server.settle()
        yield from _watched(told, server, requests)


def _watched(told: Soak, server: Served, requests: list[Sent]) -> Iterator[Tally]:
    seconds = 60 * told.minutes / told.looks
    peak = closed_loop(
        server.target,
        requests,
        clients=CLIENTS,
        seconds=min(PEAK_S, 60 * told.minutes),
        deadline_s=DEADLINE_S,
    )
    per_s, began = SHARE * max(peak.goodput, 1.0), time.monotonic()
    codes, taken_s, late_s = Counter[str](), array("d"), 0.0
    failed: list[str] = []
    at_h, usages = [0.0], [usage_of(server.pid)]
    for look in range(told.looks):
        load = open_loop(
            server.target,
            requests,
            per_s=per_s,
            seconds=seconds,
            deadline_s=DEADLINE_S,
            seed=told.seed + look,
        )
        codes += load.codes
        taken_s.extend(each.seconds for each in load.ended if each.code == "OK")
        late_s = max(late_s, load.late_s)
        failed += _failed(look, load)
        at_h.append((time.monotonic() - began) / HOUR_S)
        usages.append(usage_of(server.pid))
        rise = slope(at_h, [usage.resident_mb for usage in usages])
        faults = [*failed, *_grown(usages, rise, told.minutes)]
        figures = {
            "peak_per_s": peak.goodput,
            "per_s": round(per_s, 1),
            "calls": codes.total(),
            "refused": codes[REFUSED],
            "p99_ms": round(MILLISECONDS * float(np.percentile(taken_s or [0.0], 99)), 1),
            "sent_late_ms": round(MILLISECONDS * late_s),
            "rise_mb_an_hour": rise,
            "resident_mb": round(usages[-1].resident_mb),
            "descriptors": usages[-1].descriptors,
            "threads": usages[-1].threads,
        }
        yield Tally(look + 1, told.looks, figures, tuple(faults))


def _failed(look: int, load: Load) -> Iterator[str]:
    late_ms = round(MILLISECONDS * load.late_s)
    for code, count in load.codes.items():
        if code != "OK":
            yield (
                f"in look {look} {count} calls ended with {code}; "
                f"in it calls were sent up to {late_ms} ms late"
            )


def _grown(usages: list[Usage], rise: float, minutes: float) -> Iterator[str]:
    """What grew from the first quarter of the time to the last.

    The least of a quarter counts: a server learns a moment later that connections are closed.
    """
    quarter = -(-len(usages) // 4)
    if minutes >= MIN_MINUTES_FOR_SLOPE and rise > RISE * usages[-1].resident_mb:
        yield f"memory rises by {rise} MiB an hour"
    for kind, spare in (("descriptors", SPARE_DESCRIPTORS), ("threads", SPARE_THREADS)):
        numbers = [getattr(usage, kind) for usage in usages]
        first, last = min(numbers[:quarter]), min(numbers[-quarter:])
        if last > first + spare:
            yield f"{first} {kind} became {last}"


if __name__ == "__main__":
    main(Soak, soak)
