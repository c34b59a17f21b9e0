"""Inputs: bad bytes over the wire to a server of the atlas, from several callers at once.

No call may end with INTERNAL or by a lost connection, nothing may be answered with OK that is
wrong, and the memory of the server must stay flat.
"""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmark.campaigns.attack import ASKING, Attack, Score
from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.messages import made
from benchmark.campaigns.processes import slope, usage_of
from benchmark.campaigns.served import served
from nar.answers.atlas import read_atlas, shipped_atlas

CHUNK: Final = 20_000
# Messages that Hypothesis makes of each method for a chunk, 10 ms each; callers join them in pairs.
MADE: Final = 100
FLAT_MB: Final = 10.0
INPUTS_OF_SLOPE: Final = 100_000
# Fewer inputs tell no slope.
MIN_INPUTS: Final = 100_000


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
