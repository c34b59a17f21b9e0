"""Campaign: something done to NAR again and again, and what came of it as one line of JSON.

A campaign is a generator: it yields what it has so far, so that it can be watched and interrupted;
what it had by then is written down too. Options are a frozen record, a field each.
"""

import dataclasses
import json
import os
import platform
import shlex
import signal
import sys
import time
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from timeit import repeat
from typing import Any, Final, TypeVar

FAULTS_TOLD: Final = 20
Figure = float | int | str


def option(
    default: Figure, meaning: str, choices: tuple[str, ...] = (), *, is_place: bool = False
) -> Any:
    """A field of `Options`, with what ``--help`` says of it; a place is of one machine only."""
    told = {"help": meaning, "choices": choices or None, "is_place": is_place}
    return field(default=default, metadata=told)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every campaign can be told."""

    seed: int = option(1, "what is drawn at random is drawn from it")

    @property
    def variant(self) -> str:
        """Tells runs apart that stand in different rows of the report; empty if there is one."""
        return ""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a campaign has so far.

    Attributes:
        done: How many of the things that it does.
        wanted: How many it will have done at its end.
        figures: What was measured, by name and unit: ``recovery_s``.
        faults: What must not be; none in a campaign that is met.
    """

    done: int
    wanted: int
    figures: Mapping[str, Figure] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        """Whether all was done, and without a fault."""
        return self.done >= self.wanted and not self.faults


Told = TypeVar("Told", bound=Options)
Run = Callable[[Told], Iterator[Tally]]


def last(tallies: Iterator[Tally]) -> Tally:
    """The tally at the end of a campaign."""
    *_, end = tallies
    return end


def main(kind: type[Told], run: Run[Told]) -> None:
    """Run a campaign as the command line says; ends with 1 where its aim is not met."""
    told, log = parsed(kind, sys.argv[1:])
    name = Path(sys.argv[0]).stem
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    began = time.monotonic()
    tally, finished = Tally(0, 1), False
    tallies = run(told)
    try:
        for tally in tallies:
            sys.stderr.write(f"{name}: {_line_of(tally)}\n")
        finished = True
    except KeyboardInterrupt:
        tallies.close()
    # What ends a campaign is a fault as well, and its line says so.
    except Exception as error:
        traceback.print_exc()
        ended_by = f"the campaign ended by {type(error).__name__}: {error}"
        tally = dataclasses.replace(tally, faults=(*tally.faults, ended_by))
    line = {
        "campaign": f"{name} {told.variant}".strip(),
        "met": finished and tally.is_met,
        "finished": finished,
        **dataclasses.asdict(tally),
        "faults": tally.faults[:FAULTS_TOLD],
        "fault_count": len(tally.faults),
        "seed": told.seed,
        "seconds": round(time.monotonic() - began, 1),
        "date": datetime.now(UTC).date().isoformat(),
        "command": command_of(name, told),
        "machine": machine(),
    }
    write(json.dumps(line), log)
    sys.exit(0 if line["met"] else 1)


def parsed(kind: type[Told], arguments: list[str]) -> tuple[Told, Path | None]:
    """The options on a command line, and the file that the result is added to."""
    parser = ArgumentParser(description=(sys.modules[kind.__module__].__doc__ or "").strip())
    parser.add_argument("--log", type=Path, help="file that the line of the result is added to")
    for each in fields(kind):
        parser.add_argument(
            f"--{each.name.replace('_', '-')}",
            type=type(each.default),
            default=each.default,
            help=f"{each.metadata['help']} (default: {each.default})",
            choices=each.metadata["choices"],
        )
    told = vars(parser.parse_args(arguments))
    log = told.pop("log")
    return kind(**told), log


def command_of(name: str, told: Options) -> str:
    """How to run a campaign again, elsewhere: every option that decides what it does."""
    options = " ".join(
        f"--{each.name.replace('_', '-')} {shlex.quote(str(getattr(told, each.name)))}"
        for each in fields(told)
        if not each.metadata["is_place"]
    )
    return f'make campaign-{name} OPTIONS="{options}"'


def machine() -> str:
    """Cores and memory of this machine, and how fast it runs Python: they differ threefold."""
    gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    steps = min(repeat("for step in range(10_000): seen[step & 255] = step", "seen = {}", number=1))
    return (
        f"{os.cpu_count()} cores, {gibibytes:.0f} GiB, Python {platform.python_version()}, "
        f"10,000 steps of it in {1_000 * steps:.2f} ms"
    )


def write(line: str, log: Path | None) -> None:
    """Print the line of a result, and add it to a file."""
    sys.stdout.write(f"{line}\n")
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as lines:
            lines.write(f"{line}\n")


def _line_of(tally: Tally) -> str:
    figures = ", ".join(f"{name} {value}" for name, value in tally.figures.items())
    faults = "".join(f"\n  fault: {fault}" for fault in tally.faults[-1:])
    return f"{tally.done} of {tally.wanted}; {figures}; {len(tally.faults)} faults{faults}"


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
