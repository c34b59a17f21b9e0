"""Rows: jobs, clients and failures in any order; no row leaves an index that nobody has named.

A run draws a corpus and up to five steps: another corpus, with rows that fail to be embedded, with
and without ``--remove``, with clients that write meanwhile; or a client's write. After each step
the index must have the rows that a dictionary has. Jobs are those of `cluster.embedding`, which
decide how rows are written: in place, or into a new collection. What embeds the graphs is left out,
so that a thousand runs are a matter of minutes; several writers run beside each other, each with an
index of its own, as on a server most of a run is waiting.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from queue import Queue
from random import Random
from threading import Event
from types import SimpleNamespace
from typing import Final
from unittest.mock import patch

from milvus_server import milvus_server
from oracle import DIM, row

from benchmark.campaigns.campaign import Options, Tally, main, option
from cluster import embed_worker, embedding
from cluster.actors import Failed
from cluster.config import EmbedConfig
from nar.corpus.manifest import ShardEntry
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import check_replaceable
from nar.index.digests import RowDigests, packed_rows
from nar.index.publishing import Holder, Lease
from nar.index.rows import IndexRow
from nar.index.settings import IndexConfig

ENCODER: Final = "e" * 64
# A tenth of the rows is written in place: of so many names two.
NAMES: Final = tuple(f"model {number}" for number in range(24))
CLIENTS: Final = ("client a", "client b")
MOST_STEPS: Final = 5
# Of the steps of a run, and of its jobs.
CLIENT_WRITES, CHANGES_LITTLE, REMOVES, FAILS, BESIDE = 0.3, 0.6, 0.3, 0.2, 0.3
SEEN_EVERY: Final = 20
# A machine that pauses must not end a run: no time is measured here.
TIMEOUT_S: Final = 120.0
# What each row says: the version of its model, by its name.
Versions = Mapping[str, int]


@dataclass(frozen=True)
class Write:
    """A client writes some rows, and deletes others by their names."""

    upserted: Versions = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()

    def __call__(self, index: ArchitectureIndex, config: IndexConfig) -> str:
        """Do it."""
        if self.upserted:
            index.upsert(rows_of(self.upserted))
        if self.deleted:
            index.delete([row(name, 1, 0).id for name in sorted(self.deleted)])
        return "by clients"

    def expected(self, before: Mapping[str, str]) -> dict[str, str]:
        """The digests of rows by name that an index must have afterwards."""
        after = {**before, **digests_of(self.upserted)}
        return {name: code for name, code in after.items() if name not in self.deleted}


@dataclass(frozen=True)
class Job:
    """A job: what its corpus has, what fails, and what clients do meanwhile."""

    corpus: Versions
    failing: frozenset[str] = frozenset()
    removes: bool = False
    meanwhile: tuple[Write, ...] = ()

    def __call__(self, index: ArchitectureIndex, config: IndexConfig) -> str:
        """Do it; gives how rows were written."""
        rows = rows_of(self.corpus)
        code = sha256(repr(digests_of(self.corpus)).encode()).hexdigest()
        described, pool = Described(rows), Pool(self, rows, index, config)
        shards = (ShardEntry(file="all.parquet", rows=len(rows), sha256=code),)
        task = embedding._Job("nowhere", code[:16], shards, ENCODER, DIM, pool, described)
        before = check_replaceable(
            index.published, ENCODER, lambda: described.rows(shards), other_encoder=False
        )
        with index.leased(Holder("1", "a job")) as lease:
            report = embedding._update(task, index, config, before, lease, removes=self.removes)
        pool.let_clients_write()  # a job that finds nothing to do embeds nothing
        return report.way.replace(" ", "_")

    def expected(self, before: Mapping[str, str]) -> dict[str, str]:
        """The digests of rows by name that an index must have afterwards."""
        after = dict(before)
        for write in self.meanwhile:
            after = write.expected(after)
        if self.removes:
            after = {name: code for name, code in after.items() if name in self.corpus}
        made = {name: each for name, each in self.corpus.items() if name not in self.failing}
        return after | digests_of(made)


Step = Job | Write


def rows_of(versions: Versions) -> list[IndexRow]:
    """Rows that say which version of a model they are of."""
    return [
        row(name, 1 + version, version, flops=version) for name, version in sorted(versions.items())
    ]


def digests_of(versions: Versions) -> dict[str, str]:
    """The digests of these rows, by name."""
    return {each.name: each.digest() for each in rows_of(versions)}


class Described:
    """What `ShardDescriptions` tells, of rows that lie nowhere."""

    def __init__(self, rows: Sequence[IndexRow]) -> None:
        self._rows = {each.id: each.description() for each in rows}

    def of(self, _: ShardEntry) -> bytes:
        return packed_rows(self._rows)

    def rows(self, _: Sequence[ShardEntry]) -> RowDigests:
        return RowDigests([self._rows])

    def shards_of(self, _: str) -> tuple[ShardEntry, ...]:
        return ()

    def note_brought(self, *_: object) -> None:
        pass


class Pool:
    """Workers that give the rows of a corpus, fail on some, and let clients write before each."""

    config = EmbedConfig(part_rows=2, workers_write=False)
    size = 1

    def __init__(
        self, job: Job, rows: Sequence[IndexRow], index: ArchitectureIndex, config: IndexConfig
    ) -> None:
        self._job, self._rows, self._where = job, rows, (index, config)
        self._meanwhile = job.meanwhile

    def let_clients_write(self) -> None:
        for write in self._meanwhile:
            write(*self._where)
        self._meanwhile = ()

    def embed(
        self, method: embedding.WriteMethod, parts: Iterable[str], rows: int, lease: Lease
    ) -> list[Failed]:
        failed = []
        self.let_clients_write()
        for part in parts:
            file, numbers = embed_worker.parsed_part(part)
            for number in numbers:
                each = self._rows[number]
                if each.name in self._job.failing:
                    failed.append(Failed(embed_worker.named_part(file, [number]), ValueError("no")))
                else:
                    method.take(SimpleNamespace(rows=lambda each=each: [each], cards=[each]))
        return failed


def steps_of(number: int, seed: int) -> list[Step]:
    """The steps of a run, drawn from its number."""
    random = Random(f"{seed} {number}")
    steps: list[Step] = [Job(_corpus(random))]
    corpus = steps[0].corpus
    for _ in range(random.randint(0, MOST_STEPS)):
        if random.random() < CLIENT_WRITES:
            steps.append(_write(random, (*NAMES, *CLIENTS)))
            continue
        little = random.random() < CHANGES_LITTLE
        corpus = _changed(random, corpus) if little else _corpus(random)
        steps.append(_job(random, corpus))
    return steps


def _corpus(random: Random) -> dict[str, int]:
    few = random.sample(NAMES, random.randint(1, len(NAMES)))
    return {name: random.randint(0, 2) for name in few}


def _changed(random: Random, corpus: Versions) -> dict[str, int]:
    """The same corpus without one row, or with a new or a changed row."""
    name = random.choice(NAMES)
    rest = {each: version for each, version in corpus.items() if each != name}
    return rest if rest and random.random() < 1 / 3 else {**rest, name: random.randint(0, 2)}


def _job(random: Random, corpus: Versions) -> Job:
    failing = frozenset(random.sample(NAMES, 3)) if random.random() < FAILS else frozenset()
    if random.random() < REMOVES:
        return Job(corpus, failing, removes=True)
    # A client's write beside a job is of rows that the corpus does not have: of the others the
    # job's word is the last.
    beside = (_write(random, CLIENTS),) if random.random() < BESIDE else ()
    return Job(corpus, failing, meanwhile=beside)


def _write(random: Random, names: Sequence[str]) -> Write:
    upserted = {name: random.randint(0, 2) for name in random.sample(names, random.randint(0, 2))}
    return Write(upserted, frozenset(random.sample(names, random.randint(0, 2))))


def held(index: ArchitectureIndex) -> dict[str, str]:
    """The digests of the rows of an index, by name."""
    index.follow()
    return {each.row.name: each.row.digest() for page in index.live.pages() for each in page}


def _lived(
    index: ArchitectureIndex, config: IndexConfig, number: int, seed: int
) -> tuple[str, Counter[str]]:
    """Live through a run; gives what must not be, and how rows were written."""
    index.delete([each.row.id for page in index.live.pages() for each in page])
    wanted: dict[str, str] = {}
    ways: Counter[str] = Counter()
    for at, step in enumerate(steps_of(number, seed), start=1):
        ways[step(index, config)] += 1
        wanted = step.expected(wanted)
        has = held(index)
        if has != wanted:
            lost, more = sorted(wanted.keys() - has.keys()), sorted(has.keys() - wanted.keys())
            return f"run {number}, step {at}, {step}: lost {lost}, too many {more}", ways
    return "", ways


@dataclass(frozen=True, kw_only=True)
class Rows(Options):
    """How often, and where."""

    runs: int = option(1_000, "runs, each of a corpus and up to five steps")
    store: str = option("lite", "where the index is", choices=("lite", "server"))
    writers: int = option(4, "writers beside each other, each with an index of its own")

    @property
    def variant(self) -> str:
        """The store."""
        return self.store


def rows(told: Rows) -> Iterator[Tally]:
    """Do them all."""
    results: Queue[tuple[str, Counter[str]]] = Queue()
    ending = Event()
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        where = _places(told, place, stack)
        stack.enter_context(patch.object(embedding, "_failures_by_name", _failures_by_key))
        pool = stack.enter_context(ThreadPoolExecutor(told.writers))
        stack.callback(ending.set)
        for writer, config in enumerate(where):
            numbers = range(writer, told.runs, told.writers)
            pool.submit(_write_runs, config, numbers, told.seed, results.put, ending)
        faults: list[str] = []
        ways: Counter[str] = Counter()
        for done in range(1, told.runs + 1):
            fault, of_run = results.get()
            ways += of_run
            faults += [fault] * bool(fault)
            if done % SEEN_EVERY == 0 or done == told.runs:
                yield Tally(done, told.runs, {"steps": ways.total(), **ways}, tuple(faults))


def _places(told: Rows, place: Path, stack: ExitStack) -> list[IndexConfig]:
    if told.store == "server":
        uri = stack.enter_context(milvus_server(place, is_eager=True))
        places = [{"uri": uri, "alias": f"rows_{each}"} for each in range(told.writers)]
    else:
        places = [{"uri": str(place / f"{each}.db")} for each in range(told.writers)]
    return [IndexConfig(**each, timeout_s=TIMEOUT_S) for each in places]


def _write_runs(
    config: IndexConfig,
    numbers: Sequence[int],
    seed: int,
    tell: Callable[[tuple[str, Counter[str]]], None],
    ending: Event,
) -> None:
    left = list(numbers)
    try:
        with ArchitectureIndex(config) as index:
            with index.build(ENCODER, DIM) as build:
                build.publish()
            while left and not ending.is_set():
                number = left.pop(0)
                try:
                    tell(_lived(index, config, number, seed))
                # Whatever ends a run is a fault, and the others go on.
                except Exception as error:
                    tell((f"run {number} ended by {type(error).__name__}: {error}", Counter()))
    # Without an index none of its runs can begin, and who waits for them has to hear that.
    except Exception as error:
        for number in left:
            tell((f"run {number} never began: {type(error).__name__}: {error}", Counter()))


def _failures_by_key(_: object, failed: Sequence[Failed]) -> dict[str, str]:
    return {each.key: "no" for each in failed}


if __name__ == "__main__":
    main(Rows, rows)
