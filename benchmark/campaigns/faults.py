"""Faults: bulk jobs on a cluster of several nodes, broken again and again, each time otherwise.

Workers, drivers, nodes and Milvus are killed at random moments; disks are full; Milvus hangs;
models take their workers down; the n-th write, rename and call fails, n in turn. Every run must
leave the very digest of an undisturbed one, or end with a clear error that a rerun repairs.

A line for each run is kept; a campaign that was interrupted goes on after the last of them.
"""

import json
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from nodes import Nodes, running_nodes

from benchmark.campaigns.broken import Broken
from benchmark.campaigns.bulk import JOBS, Job, fresh, keep_corpus, prepare
from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.driving import Driver, Drivers
from benchmark.campaigns.strikes import KINDS, LIMIT_S, Kind, Store, Target
from nar.base.workspace import Workspace

# Steps fail in turn: 1, 8, 15, 22, 6, ...
STRIDE, STEPS = 7, 23
# A full disk: so many bytes a file, in turn.
DISK_BYTES: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class Faults(Options):
    """How many runs, of what."""

    runs: int = option(100, "how many jobs are broken")
    only: str = option("*", "kinds of faults, by a pattern of their names")
    kept: str = option(
        "", "file with a line for each run; those that it has are not made again", is_place=True
    )

    @property
    def variant(self) -> str:
        """The kinds, unless all are made."""
        return "" if self.only == "*" else self.only


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one run.

    Attributes:
        run: Its number.
        seed: Of the campaign.
        kind: Key of `KINDS`.
        job: Key of `JOBS`.
        at: Which step failed, or how many bytes a file might have.
        struck: Whether the fault came before the job had ended.
        end: ``equal`` digest at once, or ``repaired`` by a rerun; else what must not be.
        said: The error that the job ended with.
        seconds: Reruns included.
    """

    run: int
    seed: int
    kind: str
    job: str
    at: int
    struck: bool
    end: str
    said: str
    seconds: float


GOOD_ENDS: Final = ("equal", "repaired")


def faults(told: Faults) -> Iterator[Tally]:
    """Break one job after another."""
    schedule = schedule_of(told.only)
    kept = _read(told)
    if len(kept) == told.runs:
        yield _tally(told, kept)
        return
    with ExitStack() as stack:
        scene = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        nodes = stack.enter_context(running_nodes(2))
        field = Field(scene, nodes, Store(scene / "milvus", stack), told.seed)
        for number in range(told.runs):
            if number not in kept:
                kind, job = schedule[number % len(schedule)]
                kept[number] = field.run(number, number // len(schedule), kind, job)
                _write(told, kept[number])
            yield _tally(told, kept)


def schedule_of(only: str) -> list[tuple[str, str]]:
    """Every kind of fault with every job that it strikes: all kinds once, each with another job.

    Example:
        >>> schedule_of("* killed")[:3]
        [('worker killed', 'extract'), ('driver killed', 'draw'), ('node killed', 'embed')]
    """
    kinds = [(name, kind.jobs) for name, kind in KINDS.items() if fnmatch(name, only)]
    return [
        (name, jobs[(number + turn) % len(jobs)])
        for turn in range(max(len(jobs) for _, jobs in kinds))
        for number, (name, jobs) in enumerate(kinds)
        if turn < len(jobs)
    ]


def _read(told: Faults) -> dict[int, Run]:
    """The runs of this seed that were made before."""
    path = Path(told.kept)
    lines = path.read_text().splitlines() if told.kept and path.exists() else []
    runs = [Run(**json.loads(line)) for line in lines]
    return {run.run: run for run in runs if run.seed == told.seed and run.run < told.runs}


def _write(told: Faults, run: Run) -> None:
    if told.kept:
        Path(told.kept).parent.mkdir(parents=True, exist_ok=True)
        with Path(told.kept).open("a") as lines:
            lines.write(json.dumps(asdict(run)) + "\n")


def _tally(told: Faults, kept: Mapping[int, Run]) -> Tally:
    runs = [kept[number] for number in sorted(kept)]
    ends = Counter(run.end for run in runs if run.end in GOOD_ENDS)
    figures = {"struck": sum(run.struck for run in runs), **{end: ends[end] for end in GOOD_ENDS}}
    wrong = [run for run in runs if run.end not in GOOD_ENDS]
    told_of = tuple(f"run {run.run}, {run.kind}, {run.job}: {run.end}" for run in wrong)
    return Tally(len(runs), told.runs, figures, told_of)


class Field:
    """Where jobs are broken.

    Args:
        scene: Directory of the campaign.
        nodes: Where they run.
        store: The Milvus server of the kinds that have one.
        seed: Decides moments and victims.
    """

    def __init__(self, scene: Path, nodes: Nodes, store: Store, seed: int) -> None:
        self._scene, self._nodes, self._store, self._seed = scene, nodes, store, seed
        self._drivers = Drivers(nodes.environment)
        self._usual: dict[str, tuple[str, float]] = {}
        prepare(scene)

    def run(self, number: int, turn: int, kind_name: str, job_name: str) -> Run:
        """Break one job, and see what it leaves."""
        kind, job = KINDS[kind_name], JOBS[job_name]
        wanted, usual_s = self._undisturbed(job_name)
        began, draw = time.monotonic(), random.Random(f"{self._seed}:{number}")
        at = 1 + (STRIDE * turn + number) % STEPS if kind.step else 0
        at = at * DISK_BYTES if kind.step == "disk" else at
        name = f"run{number}"
        workspace = fresh(self._scene, name, job, self._index_of(kind, name))
        mark = self._scene / f"{name}.mark"
        broken = Broken(kind.step, at, str(workspace.root), str(mark)) if kind.step else None
        driver = self._start(job, workspace, broken)
        target = Target(self._nodes, self._store, driver, job.worker, usual_s, draw)
        struck = kind.strike(target) or mark.exists()
        code = driver.ended(LIMIT_S)
        struck = struck or mark.exists()
        end = self._end_of(job, workspace, driver, code, wanted)
        said = _last_error(driver.output)
        shutil.rmtree(workspace.root)
        seconds = round(time.monotonic() - began, 1)
        return Run(number, self._seed, kind_name, job_name, at, struck, end, said, seconds)

    def _index_of(self, kind: Kind, name: str) -> dict[str, object] | None:
        if not kind.has_server:
            return None
        # The kind whose index a server builds when all rows are there.
        return {"uri": self._store.up().uri, "alias": name, "kind": "HNSW"}

    def _undisturbed(self, name: str) -> tuple[str, float]:
        """Digest and seconds of a run that nobody disturbs."""
        if name not in self._usual:
            job = JOBS[name]
            if job.needs_corpus:
                self._undisturbed("extract")
            began = time.monotonic()
            workspace = fresh(self._scene, f"usual {name}", job, None)
            driver = self._start(job, workspace, None)
            code = driver.ended(LIMIT_S)
            assert code == 0, f"an undisturbed run of {name} ended with {code}: {driver.output}"
            self._usual[name] = (job.digest(workspace), time.monotonic() - began)
            if name == "extract":
                keep_corpus(self._scene, workspace)
        return self._usual[name]

    def _start(self, job: Job, workspace: Workspace, broken: Broken | None) -> Driver:
        options = ["--work", str(workspace.root)]
        options += ["--cluster-config", str(self._scene / "sizes.yaml"), "--json"]
        settings = workspace.root / "nar.yaml"
        options += ["--config", str(settings)] if settings.exists() else []
        log = self._scene / f"{workspace.root.name}.log"
        command = (*job.command(self._scene), *options)
        return self._drivers.start(command, log, broken, in_workers=job.writes_in_workers)

    def _end_of(
        self, job: Job, workspace: Workspace, driver: Driver, code: int | None, wanted: str
    ) -> str:
        """What the run came to; a rerun included where it did not succeed."""
        if code is None:
            return f"it did not end within {LIMIT_S:g} s: {driver.output[-300:]}"
        if (workspace.root / "nar.yaml").exists():
            self._store.up()
        if code == 0:
            return "equal" if job.digest(workspace) == wanted else "silently other"
        # Who was killed could say nothing.
        if code > 0 and not driver.is_clear:
            return f"no clear error: {driver.output[-300:]}"
        again = self._start(job, workspace, None)
        code = again.ended(LIMIT_S)
        if code != 0:
            return f"the rerun ended with {code}: {again.output[-300:]}"
        return "repaired" if job.digest(workspace) == wanted else "the rerun left something else"


def _last_error(said: str) -> str:
    """The error of ours that a driver ended with."""
    errors = [line for line in said.splitlines() if line.startswith("error ")]
    return errors[-1][:300] if errors else ""


if __name__ == "__main__":
    main(Faults, faults)
