"""Kills: a process that writes rows is killed at random moments; no acknowledged row may be lost.

On Milvus Lite the writer itself is killed, which holds the store; else a real Milvus server is, and
then the writer. Every time the store is opened again, all rows are read: ids, columns and vectors
are compared with what was acknowledged. Every third writer builds a collection and publishes it.
"""

import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Final

from milvus_server import MilvusServer, free_port, running_milvus
from waiting import wait_for

from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.ledger import Ledger, answers, digests_of, held_by, make_live
from benchmark.campaigns.processes import same_imports
from benchmark.campaigns.writer import BATCH_ROWS, DIM, ENCODER, config_of, row_of
from nar.index.architecture_index import ArchitectureIndex

BUILD_EVERY: Final = 3
# A kill comes so long after a random word of the writer, at most.
DELAY_S: Final = 0.3


@dataclass(frozen=True, kw_only=True)
class Kills(Options):
    """How often, and of how many rows."""

    kills: int = option(200, "how often something is killed")
    rows: int = option(100_000, "rows that are written in all")
    store: str = option("lite", "what holds the rows", ("lite", "server"))

    @property
    def variant(self) -> str:
        """The store."""
        return self.store


def kills(told: Kills) -> Iterator[Tally]:
    """Kill again and again."""
    draw, ledger, faults = random.Random(told.seed), Ledger(), []
    each = max(told.rows // told.kills, BATCH_ROWS)
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory), is_server=told.store == "server")
        with store.opened() as opened:
            make_live(opened.uri)
        builds = Builds(rows=5 * each)
        for kill in range(told.kills):
            is_build = kill % BUILD_EVERY == BUILD_EVERY - 1
            first = max(0, kill * each - draw.randrange(2 * each))
            with store.opened() as opened:
                wanted = ("build", 0, builds.rows, builds.version)
                wanted = wanted if is_build else ("live", first, first + 4 * each, kill + 1)
                said = killed_writer(opened, draw, wanted)
            with store.opened() as opened:
                if is_build:
                    faults += builds.compare(opened.uri, said)
                else:
                    ledger.read(said)
                    faults += ledger.compare(held_by(opened.uri, "live"))
            figures = {"acknowledged": ledger.acknowledged, "publications": builds.version - 1}
            # A writer that never came to write loses nothing: that would show nothing.
            silent = () if ledger.acknowledged else ("no row was acknowledged",)
            yield Tally(kill + 1, told.kills, figures, (*faults, *silent))


@dataclass(frozen=True, slots=True)
class Opened:
    """A store that can be written.

    Attributes:
        uri: Where.
        server: What is killed; None where the writer itself holds the store.
    """

    uri: str
    server: MilvusServer | None = None


class Store:
    """Rows in a directory, which a server or the writer itself opens again and again."""

    def __init__(self, directory: Path, *, is_server: bool) -> None:
        self._directory = directory
        self._port = free_port() if is_server else 0

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """The store, until the end or until somebody kills it."""
        if not self._port:
            yield Opened(str(self._directory / "index.db"))
            return
        with running_milvus(self._directory, self._port) as server:
            wait_for(partial(answers, server.uri))
            yield Opened(server.uri, server)


def killed_writer(
    opened: Opened, draw: random.Random, wanted: tuple[str, int, int, int]
) -> list[str]:
    """Start a writer, kill it or its store at a random moment; gives what it said."""
    kind, *numbers = wanted
    command = [
        sys.executable,
        "-m",
        "benchmark.campaigns.writer",
        kind,
        opened.uri,
        *map(str, numbers),
    ]
    words = 2 * (numbers[1] - numbers[0]) // BATCH_ROWS + 3
    moment, said, heard = draw.randrange(1, words + 1), [], Event()

    def listen() -> None:
        for line in writer.stdout or ():
            # A line without its end was cut off: nobody was told it.
            said.extend([line.strip()] if line.endswith("\n") else [])
            if len(said) == moment:
                heard.set()
        heard.set()

    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=same_imports(),
    ) as writer:
        listener = Thread(target=listen)
        listener.start()
        heard.wait()
        Event().wait(draw.uniform(0, DELAY_S))
        if opened.server:
            opened.server.signal(signal.SIGKILL)
            # Its last call fails, or nothing is written any more.
            Event().wait(draw.uniform(0, DELAY_S))
        writer.kill()
        listener.join()
    return said


class Builds:
    """Collections that are built under one alias, one version after the other."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.version = 1

    def compare(self, uri: str, said: list[str]) -> list[str]:
        """What is wrong with the published rows, and with those that will be."""
        numbers = {int(line.split()[3]) for line in said if line.startswith("published")}
        with ArchitectureIndex(config_of(uri, "built")) as index:
            held = digests_of(index) if index.is_published else {}
            fitting = [each for each in self._fitting() if held == self._digests(each)]
            version = fitting[0] if fitting else None
            faults = [] if fitting else ["a collection was published half"]
            if numbers and version != self.version:
                faults.append(f"version {self.version} was published and is not there")
            if version != self.version:
                faults += self._missing(index, said)
        self.version += version == self.version
        return faults

    def _fitting(self) -> tuple[int, int]:
        """The versions that may be published: the version that was built, or the version before."""
        return self.version, self.version - 1

    def _missing(self, index: ArchitectureIndex, said: list[str]) -> list[str]:
        """Rows of an unfinished build that were acknowledged, and that who goes on lacks."""
        done = [list(map(int, line.split()[1:])) for line in said if line.startswith("done")]
        with index.build(ENCODER, DIM, job=f"v{self.version}") as build:
            acknowledged = {
                row_of(number, self.version).id
                for start, stop, _ in done
                for number in range(start, stop)
            }
            lost = build.rows.holds(sorted(acknowledged)).count(False)
        return [f"{lost} rows of an unfinished build are lost"] if lost else []

    def _digests(self, version: int) -> dict[str, str]:
        numbers = range(self.rows if version else 0)
        rows = (row_of(number, version) for number in numbers)
        return {row.id: row.digest() for row in rows}


if __name__ == "__main__":
    main(Kills, kills)
