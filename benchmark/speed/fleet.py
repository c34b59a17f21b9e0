"""What a build costs the driver of a fleet, with a stub in place of Ray: results/scaling.md.

Workers answer at once, so that all that is measured is the one process that names parts of a
corpus, hands them out, keeps each row by its id and its digest, and looks for every row again, as
at the end of a first build. No row is embedded, no Milvus answers, and rows are random bytes by
shard. Each size is a process of its own.

Run: make fleet, and make fleet-hundred, which takes an hour; or some sizes:
python -m benchmark speed fleet 1000000/256 10000000/256
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy.optimize import nnls
from stub_ray import Handle, Reference, pool_of, stubbed_ray

from benchmark.speed import hub
from cluster import embedding
from cluster.actors import Start
from cluster.config import EmbedConfig
from cluster.embed_worker import missing_parts, parsed_part
from cluster.telemetry import JobTelemetry
from nar.base.files import write_whole
from nar.index.digests import ROW_BYTES, RowDigests
from nar.index.increments import RowComparison
from nar.index.publishing import Lease

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = ROOT / "results" / "fleet.json"
PAGE: Final = ROOT / "results" / "scaling.md"
SHARD_ROWS: Final = 2_048
PART_ROWS: Final = 512
# The sizes of `make fleet`: rows and workers.
GRID: Final = (
    *((rows, workers) for rows in (100_000, 1_000_000) for workers in (2, 8, 64, 256)),
    (10_000_000, 256),
)
SHOWN: Final = ((10_000_000, 256), (100_000_000, 16), (100_000_000, 256))


@dataclass(frozen=True, slots=True)
class Cost:
    """What a size cost.

    Attributes:
        rows: How many rows.
        workers: How many workers were simulated.
        pool_s: Seconds of the processor in which parts were named and handed out, and the digests
            of their rows kept.
        verify_s: In which all rows were looked for again.
        peak_mib: The most memory.
        digest: Of all ids and digests, in order: the same for any number of workers.
    """

    rows: int
    workers: int
    pool_s: float
    verify_s: float
    peak_mib: int
    digest: str

    @property
    def cpu_s(self) -> float:
        """All seconds."""
        return self.pool_s + self.verify_s


def shards(rows: int) -> Iterator[tuple[str, int]]:
    """Each file and how many rows it has."""
    for start in range(0, rows, SHARD_ROWS):
        yield f"darts-{start:09d}.parquet", min(SHARD_ROWS, rows - start)


def described(file: str, rows: int) -> bytes:
    """Ids and digests of the rows of a file, the same whenever they are asked for."""
    seed = int(file.removeprefix("darts-").removesuffix(".parquet"))
    return np.random.Generator(np.random.SFC64(seed)).bytes(ROW_BYTES * rows)


class Answers:
    """Workers that answer at once with the ids and digests of a part."""

    def __init__(self, rows: int) -> None:
        self._rows = dict(shards(rows))
        self._file, self._content = "", b""

    def ask(self, _: object, part: str) -> Reference:
        """What a worker returns for a part. Its own time is counted, too: 0.1 us a row."""
        file, numbers = parsed_part(part)
        if file != self._file:
            self._file, self._content = file, described(file, self._rows[file])
        low, high = numbers[0], numbers[-1] + 1
        return Reference(self._content[ROW_BYTES * low : ROW_BYTES * high])


class _NoLease:
    """Nobody else is there."""

    def keep(self) -> None:
        """Show no life."""


def simulated(rows: int, workers: int) -> Cost:
    """A build of so many rows."""
    began = time.process_time()
    built, nothing = RowDigests(), RowComparison(RowDigests())

    def take(digests: bytes) -> int:
        built.add_packed(digests)
        return len(digests) // ROW_BYTES

    def parts() -> Iterator[str]:
        for file, count in shards(rows):
            are_right = nothing.are_right(described(file, count))
            yield from missing_parts(file, are_right, PART_ROWS)

    config = EmbedConfig(part_rows=PART_ROWS, num_workers=workers)
    start = cast("Start", lambda _: Handle())
    pool = embedding.EmbedPool(start, pool_of(workers), config, JobTelemetry("embed", None))
    method = embedding.WriteMethod(cast("Any", Answers(rows).ask), take)
    with stubbed_ray():
        failed = pool.embed(method, parts(), rows, cast("Lease", _NoLease()))
    assert not failed
    pooled = time.process_time()
    seen = np.zeros(len(built), dtype=np.bool_)
    digest = sha256()
    for file, count in shards(rows):
        content = described(file, count)
        places, are_same = built.compared(content)
        assert are_same.all()
        seen[places] = True
        digest.update(content)
    assert seen.all()
    verified = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**10
    seconds = [pooled - began, verified - pooled]
    return Cost(rows, workers, *(round(each, 2) for each in seconds), peak, digest.hexdigest())


@dataclass(frozen=True, slots=True)
class Model:
    """Seconds of a build by its size: the terms that a bad driver would have are among them.

    Attributes:
        each_us: Microseconds a row.
        shared_ns: Nanoseconds for each shard of each worker.
        squared_fs: Femtoseconds for each pair of rows.
    """

    each_us: float
    shared_ns: float
    squared_fs: float

    def cpu_s(self, rows: int, workers: int) -> float:
        """The seconds of a size."""
        return float(_terms(rows, workers) @ [self.each_us, self.shared_ns, self.squared_fs])


def _terms(rows: int, workers: int) -> NDArray[np.float64]:
    return np.array([1e-6 * rows, 1e-9 * workers * rows / SHARD_ROWS, 1e-15 * rows**2])


def fitted(costs: Sequence[Cost]) -> Model:
    """The model whose errors are smallest as shares of what was measured; no term is negative."""
    terms = np.array([_terms(cost.rows, cost.workers) / cost.cpu_s for cost in costs])
    found, _ = nnls(terms, np.ones(len(costs)))
    return Model(*found.tolist())


HEAD: Final = """\
## The driver of a fleet

Written by `make fleet`, with a stub in place of Ray: workers that answer at once, so that what is
left is the one process that names parts, hands them out, keeps the digest of each row, and compares
all rows at the end. Shards of {shard:,} rows, parts of {part}. Seconds of the processor; nothing is
embedded, and neither Ray's own time for a part nor reading back from Milvus is in them.

| rows | workers | parts and digests s | comparison s | us a row | memory MiB | rows/s at most |
|---|---|---|---|---|---|---|
"""
FIT: Final = """
Fitted to all of them: {each_us:.2f} us a row, {shared_ns:.2f} ns for each shard and worker, \
{squared_fs:.2f} fs for each
pair of rows. So a build takes the driver:

| rows | workers | h | measured h |
|---|---|---|---|
"""


def section(costs: Sequence[Cost]) -> str:
    """The part of the page that tells of the driver."""
    rows = "".join(
        f"| {cost.rows:,} | {cost.workers} | {cost.pool_s:,.2f} | "
        f"{cost.verify_s:,.2f} | {1e6 * cost.cpu_s / cost.rows:.2f} | {cost.peak_mib:,} | "
        f"{cost.rows / cost.cpu_s:,.0f} |\n"
        for cost in costs
    )
    model = fitted(costs)
    measured = {(cost.rows, cost.workers): f"{cost.cpu_s / 3600:.2f}" for cost in costs}
    told = "".join(
        f"| {rows:,} | {workers} | {model.cpu_s(rows, workers) / 3600:.2f} | "
        f"{measured.get((rows, workers), 'not run')} |\n"
        for rows, workers in SHOWN
    )
    head = HEAD.format(shard=SHARD_ROWS, part=PART_ROWS)
    return f"{head}{rows}{FIT.format(**asdict(model))}{told}"


def kept() -> list[Cost]:
    """What was measured so far, by size."""
    stored = json.loads(KEPT.read_text()) if KEPT.exists() else []
    return [Cost(**each) for each in stored]


def appended(page: str) -> str:
    """A page with this section at its end, in place of the section that it has."""
    costs = kept()
    before = page.partition(HEAD.partition("\n")[0])[0].rstrip("\n")
    return f"{before}\n\n{section(costs)}{hub.section()}" if costs else page


def keep(cost: Mapping[str, Any]) -> None:
    """Keep a size beside the others, and write the page anew."""
    others = [each for each in kept() if (each.rows, each.workers) != _size(cost)]
    costs = sorted([*others, Cost(**cost)], key=lambda each: (each.rows, each.workers))
    text = json.dumps([asdict(each) for each in costs], indent=1) + "\n"
    write_whole(KEPT, lambda part: part.write_text(text))
    write_whole(PAGE, lambda part: part.write_text(appended(PAGE.read_text())))


def _size(cost: Mapping[str, Any]) -> tuple[int, int]:
    return cost["rows"], cost["workers"]


def main() -> None:
    """Run sizes, each in a process; with ``--one`` one size here."""
    told = sys.argv[1:]
    if told[:1] == ["--one"]:
        sys.stdout.write(json.dumps(asdict(simulated(int(told[1]), int(told[2])))))
        return
    sizes = [tuple(map(int, word.split("/"))) for word in told] or GRID
    for rows, workers in sizes:
        words = ["-m", "benchmark", "speed", "fleet", "--one", str(rows), str(workers)]
        ended = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, check=True)
        cost = json.loads(ended.stdout)
        keep(cost)
        Console().print(cost)


if __name__ == "__main__":
    main()
