"""What is done to a bulk job while it runs: one row of a table for each kind of fault."""

import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Final

import psutil
from milvus_server import MilvusServer, free_port, running_milvus
from nodes import Nodes
from waiting import wait_for

from benchmark.campaigns.bulk import JOBS
from benchmark.campaigns.driving import Driver
from benchmark.campaigns.ledger import answers

LOOK_S: Final = 0.1
# A strike comes so long after the first worker is up, or at any moment of an undisturbed run.
AFTER_START_S: Final = 2.0
LIMIT_S: Final = 240.0
# Milvus, which after a kill does not always come up.
STARTS, UP_S = 3, 150.0
# So long a Milvus server may be silent and keep the session that it needs to live.
SESSION_S: Final = 20.0


@dataclass(slots=True)
class Store:
    """A Milvus server, started when a run first wants one, and again after it was killed."""

    directory: Path
    stack: ExitStack
    port: int = field(default_factory=free_port)
    server: MilvusServer | None = None

    def up(self) -> MilvusServer:
        """The server, once it answers; if it does not come up, it is started once more."""
        for _ in range(STARTS):
            if self.server is None or self.server.process.poll() is not None:
                self.directory.mkdir(exist_ok=True)
                self.server = self.stack.enter_context(running_milvus(self.directory, self.port))
            with suppress(AssertionError):
                wait_for(partial(answers, self.server.uri), limit_s=UP_S)
                return self.server
            self.kill()
        raise AssertionError(f"Milvus did not come up in {STARTS} starts")

    def kill(self) -> None:
        """End it as a machine does that loses its power."""
        assert self.server is not None
        self.server.signal(signal.SIGKILL)
        self.server.process.wait()


@dataclass(frozen=True, slots=True)
class Target:
    """What can be struck.

    Attributes:
        nodes: Of the cluster.
        store: The Milvus server, for the kinds that have one.
        driver: Of the job.
        worker: Title of the job's workers.
        usual_s: How long an undisturbed run of the job takes.
        draw: Decides moments and victims.
    """

    nodes: Nodes
    store: Store
    driver: Driver
    worker: str
    usual_s: float
    draw: random.Random

    def any_moment(self) -> None:
        """Wait for a moment of the run: by the clock, or soon after its first worker is up."""
        if self.draw.random() < 0.5:
            self._wait(self.draw.uniform(0, self.usual_s))
        else:
            self.working_moment()

    def working_moment(self) -> None:
        """Wait for a moment at which there are workers."""
        while not (self.driver.has_ended or self.nodes.processes(self.worker)):
            Event().wait(LOOK_S)
        self._wait(self.draw.uniform(0, AFTER_START_S))

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.driver.has_ended:
            Event().wait(LOOK_S)


# Whether it struck: the run may have ended before.
Strike = Callable[[Target], bool]


def _nothing(_: Target) -> bool:
    return False


def _kill_worker(target: Target) -> bool:
    target.working_moment()
    workers = target.nodes.processes(target.worker)
    if not workers:
        return False
    with suppress(psutil.NoSuchProcess):
        target.draw.choice(workers).kill()
        return True
    return False


def _kill_driver(target: Target) -> bool:
    target.any_moment()
    if target.driver.has_ended:
        return False
    os.kill(target.driver.pid, signal.SIGKILL)
    return True


def _kill_node(target: Target) -> bool:
    """One node goes, another comes."""
    target.any_moment()
    struck = not target.driver.has_ended
    target.nodes.remove(target.draw.choice(target.nodes.workers))
    target.nodes.add()
    return struck


def _change_nodes(target: Target) -> bool:
    """One node comes on which no worker starts, one comes that is good, and one goes."""
    target.any_moment()
    struck = not target.driver.has_ended
    with TemporaryDirectory() as directory:
        package = Path(directory) / "cluster"
        package.mkdir()
        (package / "__init__.py").write_text("raise ImportError('another library is here')\n")
        bad = target.nodes.add(variables={"PYTHONPATH": directory})
        target.nodes.add()
        target.nodes.remove(target.nodes.workers[0])
        target.driver.process.join(LIMIT_S)
        target.nodes.remove(bad)
    return struck


def _hang_store(target: Target) -> bool:
    """Milvus takes connections and answers nothing, until the job has ended."""
    target.any_moment()
    struck = not target.driver.has_ended
    server, began = target.store.up(), time.monotonic()
    server.signal(signal.SIGSTOP)
    try:
        target.driver.process.join(LIMIT_S)
    finally:
        server.signal(signal.SIGCONT)
    if time.monotonic() > began + SESSION_S:
        # It has lost its session, and ends a little later: whoever runs it starts it again.
        target.store.kill()
    return struck


def _kill_store(target: Target) -> bool:
    target.any_moment()
    struck = not target.driver.has_ended
    target.store.kill()
    return struck


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault.

    Attributes:
        jobs: Which are struck by it, in turn.
        strike: What is done from outside.
        step: What fails inside: key of `benchmark.campaigns.broken.STEPS`; empty for nothing.
        has_server: Whether the index is in a Milvus server.
    """

    jobs: tuple[str, ...] = ("extract", "draw", "embed")
    strike: Strike = _nothing
    step: str = ""
    has_server: bool = False


KINDS: Final[Mapping[str, Kind]] = {
    "worker killed": Kind(strike=_kill_worker),
    "driver killed": Kind(strike=_kill_driver),
    "node killed": Kind(strike=_kill_node),
    "nodes change": Kind(strike=_change_nodes),
    "poison models": Kind(("extract poison",), _kill_worker),
    "write fails": Kind(step="write"),
    "rename fails": Kind(step="rename"),
    "disk full": Kind(step="disk"),
    "call fails": Kind(("embed",), step="call"),
    "calls fail": Kind(("embed",), step="calls"),
    "milvus hangs": Kind(("embed",), _hang_store, has_server=True),
    "milvus killed": Kind(("embed",), _kill_store, has_server=True),
}
assert all(job in JOBS for kind in KINDS.values() for job in kind.jobs)
