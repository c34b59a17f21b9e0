"""Heavy: the heaviest legal calls, as many as are admitted, whose callers soon give up.

Small searches beside them must be answered within the objective, and the memory must stay below
the limit that the server is deployed with.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

import grpc
import yaml
from waiting import wait_for

from benchmark.campaigns.asked import everyday, heaviest
from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.load import Load, open_loop, serialized
from benchmark.campaigns.processes import peak_mb_of
from benchmark.campaigns.served import Served, served
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.v1 import retrieval_pb2 as wire

DEPLOYED: Final = Path(__file__).parents[2] / "deploy/server.yaml"
UNITS: Final = {"Mi": 1, "Gi": 1_024}
OBJECTIVE_MS: Final = 500.0
# As a caller would who does not wait for more than the objective.
DEADLINE_S: Final = 2.0
LOOKS: Final = 10
IDLE_LIMIT_S: Final = 60.0


@dataclass(frozen=True, kw_only=True)
class Heavy(Options):
    """How many, and for how long."""

    callers: int = option(40, "callers of heavy calls at once; more than are admitted")
    deadline_s: float = option(4.0, "after which a caller gives up and calls again")
    searches_per_s: float = option(10.0, "small searches beside them")
    seconds: float = option(120.0, "how long")


def heavy(told: Heavy) -> Iterator[Tally]:
    """Press hard, and ask small things beside."""
    searches = serialized(everyday(read_atlas(shipped_atlas()).rows, told.seed)["vector"])
    with tempfile.TemporaryDirectory() as directory, served(Path(directory)) as server:
        server.settle()
        with server.asking() as stub:
            limits = stub.Describe(wire.DescribeRequest()).limits
        request, ending = heaviest(limits, told.seed), Event()
        pressed, loads, peak_mb = Counter[str](), [], 0.0
        with ThreadPoolExecutor(told.callers) as callers:
            pressing = [
                callers.submit(_press, server, request, told.deadline_s, ending)
                for _ in range(told.callers)
            ]
            try:
                for look in range(LOOKS):
                    load = open_loop(
                        server.target,
                        searches,
                        per_s=told.searches_per_s,
                        seconds=told.seconds / LOOKS,
                        deadline_s=DEADLINE_S,
                        seed=told.seed + look,
                    )
                    loads.append(load)
                    peak_mb = peak_mb_of(server.pid)
                    yield _tally(look + 1, told, loads, pressed, peak_mb)
            finally:
                ending.set()
        for each in pressing:
            pressed += each.result()
        began = time.monotonic()
        wait_for(lambda: server.metric("nar_rpc_in_flight") == 0, limit_s=IDLE_LIMIT_S)
        tally = _tally(LOOKS, told, loads, pressed, peak_mb)
        idle = {"idle_after_s": round(time.monotonic() - began, 1)}
        yield Tally(tally.done, tally.wanted, tally.figures | idle, tally.faults)


def _press(
    server: Served, request: wire.EmbedRequest, deadline_s: float, ending: Event
) -> Counter[str]:
    codes = Counter[str]()
    with server.asking() as stub:
        while not ending.is_set():
            call = stub.Embed.future(request, timeout=deadline_s)
            code = call.code()
            codes[code.name] += 1
            if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
                # Callers who are told when to come again do not come at once.
                ending.wait(deadline_s / 4)
    return codes


def _tally(
    done: int, told: Heavy, loads: list[Load], pressed: Counter[str], peak_mb: float
) -> Tally:
    whole = Load(told.seconds, [each for load in loads for each in load.ended])
    limit_mb, p99 = deployed_mb(), whole.milliseconds(["OK"], 99)
    failed = {code: count for code, count in whole.codes.items() if code != "OK"}
    faults = [f"{count} small searches ended with {code}" for code, count in failed.items()]
    if p99 > OBJECTIVE_MS:
        faults.append(f"small searches take {p99} ms (p99)")
    if peak_mb > limit_mb:
        faults.append(f"{peak_mb:.0f} MiB were resident, {limit_mb} are the limit")
    figures = {
        "searches": len(whole.ended),
        "search_p50_ms": whole.milliseconds(["OK"], 50),
        "search_p99_ms": p99,
        "resident_mb": round(peak_mb),
        **{f"heavy_{code}": count for code, count in pressed.items()},
    }
    return Tally(done, LOOKS, figures, tuple(faults))


def deployed_mb() -> int:
    """The memory that a server is deployed with, in MiB."""
    for document in yaml.safe_load_all(DEPLOYED.read_text()):
        if document["kind"] == "Deployment":
            [container] = document["spec"]["template"]["spec"]["containers"]
            limit = container["resources"]["limits"]["memory"]
            return int(limit[:-2]) * UNITS[limit[-2:]]
    raise AssertionError(f"{DEPLOYED} deploys nothing")


if __name__ == "__main__":
    main(Heavy, heavy)
