"""Jobs, clients and failures in any order: no row leaves an index that nobody has named."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from types import SimpleNamespace

import pytest
from backends import ENCODER
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from oracle import DIM, row

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

NAMES = [f"model {number}" for number in range(12)]
# What each row says: the version of its model, by its name.
Versions = Mapping[str, int]


def rows_of(versions: Versions) -> list[IndexRow]:
    return [
        row(name, 1 + version, version, flops=version) for name, version in sorted(versions.items())
    ]


def digests_of(versions: Versions) -> dict[str, str]:
    return {each.name: each.digest() for each in rows_of(versions)}


@dataclass(frozen=True)
class Job:
    """A job: what its corpus has, what fails, and what clients do meanwhile."""

    corpus: Versions
    failing: frozenset[str] = frozenset()
    removes: bool = False
    meanwhile: tuple["Write", ...] = ()


@dataclass(frozen=True)
class Write:
    """A client writes some rows, and deletes others by their names."""

    upserted: Versions = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()

    def apply(self, index: ArchitectureIndex) -> None:
        if self.upserted:
            index.upsert(rows_of(self.upserted))
        if self.deleted:
            index.delete([row(name, 1, 0).id for name in sorted(self.deleted)])


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

    def __init__(self, job: Job, rows: Sequence[IndexRow], write: Callable[[Write], None]) -> None:
        self._job, self._rows, self._write = job, rows, write
        self._meanwhile = job.meanwhile

    def let_clients_write(self) -> None:
        for write in self._meanwhile:
            self._write(write)
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


def run(index: ArchitectureIndex, config: IndexConfig, job: Job) -> None:
    rows = rows_of(job.corpus)
    code = sha256(repr(digests_of(job.corpus)).encode()).hexdigest()
    described = Described(rows)
    pool = Pool(job, rows, lambda write: write.apply(index))
    shards = (ShardEntry(file="all.parquet", rows=len(rows), sha256=code),)
    task = embedding._Job("nowhere", code[:16], shards, ENCODER, DIM, pool, described)
    before = check_replaceable(
        index.published, ENCODER, lambda: described.rows(shards), other_encoder=False
    )
    with index.leased(Holder("1", "a job")) as lease:
        embedding._update(task, index, config, before, lease, removes=job.removes)
    pool.let_clients_write()  # a job that finds nothing to do embeds nothing


def expected(before: dict[str, str], step: Job | Write) -> dict[str, str]:
    """The rows by name that the index must have, from the rows that it had."""
    if isinstance(step, Write):
        after = before | digests_of(step.upserted)
        return {name: code for name, code in after.items() if name not in step.deleted}
    after = dict(before)
    for write in step.meanwhile:
        after = expected(after, write)
    if step.removes:
        after = {name: code for name, code in after.items() if name in step.corpus}
    made = {name: each for name, each in step.corpus.items() if name not in step.failing}
    return after | digests_of(made)


def held(index: ArchitectureIndex) -> dict[str, str]:
    index.follow()
    return {each.row.name: each.row.digest() for page in index.live.pages() for each in page}


versions = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 2), max_size=len(NAMES))
names = st.frozensets(st.sampled_from(NAMES), max_size=3)
others = st.dictionaries(st.sampled_from(["client a", "client b"]), st.integers(0, 2))
writes = st.builds(Write, others | versions, names)
# A client's write beside a job is of rows that the corpus does not have: of the others the job's
# word is the last.
beside = st.builds(Write, others, st.frozensets(st.sampled_from(["client a", "client b"])))
jobs = st.builds(Job, versions.filter(len), names, st.booleans()) | st.builds(
    Job, versions.filter(len), names, st.just(False), st.lists(beside, max_size=2).map(tuple)
)
first = st.builds(Job, versions.filter(len))


@pytest.mark.parametrize(
    ("store", "examples"),
    [("lite", 12), pytest.param("server", 3, marks=pytest.mark.milvus_server)],
)
@pytest.mark.slow
def test_no_row_is_missing_that_nobody_named(store, examples, request, tmp_path, monkeypatch):
    monkeypatch.setattr(
        embedding, "_failures_by_name", lambda _, rows: {each.key: "no" for each in rows}
    )
    uri = request.getfixturevalue("milvus_uri") if store == "server" else str(tmp_path / "index.db")
    config = IndexConfig(uri=uri, alias="nothing_lost")
    with ArchitectureIndex(config) as index:
        with index.build(ENCODER, DIM) as build:
            build.publish()

        # Shrinking takes minutes, and a case of five steps is read as it is.
        @settings(max_examples=examples, database=None, phases=[Phase.generate])
        @given(first, st.lists(jobs | writes, max_size=5))
        def check(begin, steps):
            wanted = {}
            index.delete([each.row.id for page in index.live.pages() for each in page])
            for step in (begin, *steps):
                run(index, config, step) if isinstance(step, Job) else step.apply(index)
                wanted = expected(wanted, step)
                assert held(index) == wanted

        check()
