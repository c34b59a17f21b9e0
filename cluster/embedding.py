"""Embedding on the cluster: the shards of a corpus become one index.

Actors read their parts of the corpus and embed them. No graph comes through this process, the
driver: it has only names and the digests of acknowledged rows. A Milvus server takes many writers,
so each worker writes its own rows and sends their digests. Milvus Lite takes one writer, and so
does a collection that readers already get: there workers return rows, and the driver writes them.

Where the index has most rows already, rows that are new or changed are written into it
(`nar.index.increments`). Otherwise a collection is filled that no reader sees yet. A job that was
killed goes on with the rows that this collection lacks. Readers see the new collection when it is
complete and verified; the old collection is kept for `nar index rollback`.
"""

import os
import secrets
import shutil
import socket
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from threading import Event
from typing import Any, Final, Generic, Literal, TypeAlias

import ray
from ray.actor import ActorHandle

from nar.answers.atlas import atlas_encoder, read_atlas, shipped_atlas
from nar.answers.atlas_store import open_atlas
from nar.answers.novelty import keep_novelty, kept_novelty
from nar.base.console import Advance, progress, stderr
from nar.base.errors import ConfigError, IndexUnavailableError, InvalidInputError
from nar.base.files import write_whole
from nar.base.workspace import Workspace, job
from nar.corpus import Corpus, Location, ShardChangedError
from nar.corpus.manifest import Manifest, ShardEntry
from nar.encoding.embed import fingerprint, load_checkpoint
from nar.encoding.stored import read_files
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import Carried, IndexBuild, check_replaceable
from nar.index.collection import Collection
from nar.index.digests import ROW_BYTES, RowDigests
from nar.index.increments import Increment, RowComparison, corpus_of, descriptions, is_of_corpus
from nar.index.publishing import Holder, Lease
from nar.index.settings import IndexConfig

from . import embed_worker
from .actors import ActorPool, Failed, Item, Start, ValueT, WorkerKind, starter
from .config import EmbedConfig
from .ledger import digest
from .resources import PoolSize, WorkerStartError, pool_size, worker_share
from .shards import ShardDescriptions
from .telemetry import JobTelemetry, job_telemetry

# Chosen: letters of a digest in the name of a build. 64 bits tell corpora apart, and the name has
# room for 40 letters.
JOB_LETTERS = 16


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """The outcome of an embedding.

    Attributes:
        way: How rows were written: ``new`` collection, ``in place``, or ``nothing`` had changed.
        encoder: Fingerprint of the encoder.
        rows: Rows of the published collection.
        embedded: Rows that this run embedded.
        removed: Rows that this run deleted, because the corpus lacks them.
        strangers: Rows that the corpus lacks and that the index still has.
        failures: Names of architectures that are not in the index, with the reason.
        uri: Where the index is.
        seconds: Wall time, from the corpus to the published collection.
        workers: Processes that shared the work.
        keeps_before: Whether the replaced collection is kept, to go back to.
    """

    way: Literal["new", "in place", "nothing"]
    encoder: str
    rows: int
    embedded: int = 0
    removed: int = 0
    strangers: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    uri: str = ""
    seconds: float = 0.0
    workers: int = 0
    keeps_before: bool = False


@dataclass(frozen=True, slots=True)
class _Job:
    """An embedding: its corpus, its encoder and its workers.

    Attributes:
        corpus: Where the corpus lies.
        digest: Digest of the rows of the corpus.
        shards: Files of the corpus.
        encoder: Fingerprint of the encoder.
        dim: Length of its vectors.
        pool: The workers.
        described: Descriptions of the rows of shards.
    """

    corpus: Location
    digest: str
    shards: tuple[ShardEntry, ...]
    encoder: str
    dim: int
    pool: "EmbedPool"
    described: ShardDescriptions

    @property
    def rows(self) -> int:
        """How many rows the corpus has."""
        return _count(self.shards)

    @property
    def digests(self) -> dict[str, str]:
        """Sha256 of each file."""
        return {entry.file: entry.sha256 for entry in self.shards}

    def missing_parts(self, held: RowComparison) -> Iterator[str]:
        """Parts with the rows that an index lacks; each shard is compared when it is its turn.

        Args:
            held: The rows of the index.
        """
        for entry in self.shards:
            are_right = held.are_right(self.described.of(entry))
            yield from embed_worker.missing_parts(entry.file, are_right, self.pool.config.part_rows)


def embed(
    workspace: Workspace,
    index_config: IndexConfig,
    config: EmbedConfig,
    *,
    corpus: Location | None = None,
    removes: bool = False,
    other_encoder: bool = False,
) -> EmbedReport:
    """Embed a corpus on the connected cluster and publish it as the index.

    Only what the index lacks is embedded: by exact fingerprint, labels and encoder.

    Args:
        workspace: Has ``corpus/``; without ``checkpoint/`` it gets the shipped encoder there. Gets
            ``novelty.json``.
        index_config: Where the index is.
        config: Sizes of the workers.
        corpus: Where the corpus lies; None for the corpus of the workspace. Every node reads it.
        removes: Whether to delete rows that the corpus lacks, which somebody may have added. A new
            collection takes them over otherwise.
        other_encoder: Whether the index may be of another encoder, whose rows then go.

    Raises:
        CorpusError: The corpus is missing or damaged.
        CheckpointError: The checkpoint is missing or damaged.
        IndexUnavailableError: The index does not answer, or another process holds it.
        IndexMismatchError: It is of another encoder, and ``other_encoder`` is not set.
        WorkerStartError: The cluster has no room.
    """
    started = time.monotonic()
    with job_telemetry("embed", workspace.root) as telemetry:
        job = _job(workspace, corpus or workspace.corpus, config, telemetry)
        with (
            ArchitectureIndex(index_config) as index,
            index.leased(_holder(workspace)) as lease,
        ):
            before = check_replaceable(
                index.published,
                job.encoder,
                lambda: job.described.rows(job.shards),
                other_encoder=other_encoder,
            )
            done = _update(job, index, index_config, before, lease, removes=removes)
            # A killed job may have brought the index to the corpus without measuring novelty.
            if done.way != "nothing" or not kept_novelty(workspace.novelty, encoder=job.encoder):
                changed = None if done.way == "new" else done.embedded + done.removed
                keep_novelty(
                    index, workspace.novelty, encoder=job.encoder, changed=changed, rows=done.rows
                )
    seconds = round(time.monotonic() - started, 3)
    return replace(done, uri=index_config.uri, seconds=seconds, workers=job.pool.size())


def _job(
    workspace: Workspace, where: Location, config: EmbedConfig, telemetry: JobTelemetry
) -> _Job:
    shards = Manifest.read(where.absolute()).shards
    use_shipped_encoder(workspace)
    encoder = load_checkpoint(workspace.checkpoint)
    share = worker_share(config)
    corpus = where.absolute()
    stored = ray.put(encoder)
    embedder: object = stored
    if config.encoders is not None:
        encoders = embed_worker.start_encoders(stored, config.encoders, config.encoders.num_workers)
        embedder = embed_worker.EncodedElsewhere(encoder.config.motifs, stored, encoders)
    start = starter(embed_worker.EmbedWorker, share, corpus, embedder, config.memory_limit_bytes)
    return _Job(
        corpus,
        digest(*(entry.sha256 for entry in shards))[:JOB_LETTERS],
        shards,
        fingerprint(encoder),
        encoder.config.dim,
        EmbedPool(start, pool_size(config, share), config, telemetry),
        ShardDescriptions(workspace.root / "ledger" / "embed", corpus),
    )


def use_shipped_encoder(workspace: Workspace) -> None:
    """Give a workspace without an encoder the shipped encoder, and say so.

    Raises:
        CorpusError: This installation came without an encoder.
    """
    if workspace.checkpoint.exists():
        return
    shipped = shipped_atlas().encoder
    part = workspace.checkpoint.with_name(f"{workspace.checkpoint.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(shipped, part)
    part.rename(workspace.checkpoint)
    stderr.print(
        f"{workspace.root} has no encoder of its own: the encoder of the atlas that ships with NAR "
        f"was copied to {workspace.checkpoint}; {job('pretrain')} trains one instead",
        style="dim",
        soft_wrap=True,
    )


def put_beside_atlas(workspace: Workspace, config: IndexConfig) -> int:
    """Give an index the rows of the atlas that it lacks; how many these were.

    Args:
        workspace: Its encoder has to be that of the atlas; without one it gets that.
        config: Where the index is.

    Raises:
        ConfigError: The workspace has an encoder of its own.
        IndexMismatchError: The index is of another encoder.
    """
    use_shipped_encoder(workspace)
    atlas = shipped_atlas()
    encoder = read_files(workspace.checkpoint).fingerprint
    if encoder != atlas_encoder(atlas):
        raise ConfigError(
            f"the rows of the atlas are of the encoder {atlas_encoder(atlas)[:16]}, and "
            f"{workspace.checkpoint} has {encoder[:16]}; take a --work without a checkpoint, or "
            "leave out --beside-atlas"
        )
    with open_atlas(atlas, config, Event()) as index:
        rows = read_atlas(atlas).rows
        held = index.contains([row.id for row in rows])
        missing = [row for row in rows if row.id not in held]
        if missing:
            increment = Increment(index, config.batch_rows, by="embed --beside-atlas")
            increment.load(missing)
            increment.finish([], "")
    return len(missing)


def _holder(workspace: Workspace) -> Holder:
    """Who a job is that writes an index for a workspace, to jobs of other workspaces.

    Args:
        workspace: Whose index the job holds by `cluster.session.alone`.
    """
    path = workspace.root / "ledger" / "id"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda part: part.write_text(secrets.token_hex(8)), survives=True)
    name = (
        f"process {os.getpid()} on {socket.gethostname()} with --work {workspace.root.absolute()}"
    )
    return Holder(path.read_text(), name)


def _update(
    job: _Job,
    index: ArchitectureIndex,
    index_config: IndexConfig,
    before: Collection | None,
    lease: Lease,
    *,
    removes: bool,
) -> EmbedReport:
    """Bring the index to the corpus in the shortest way."""
    if is_of_corpus(index, job.encoder, job.digest, job.rows):
        return EmbedReport("nothing", job.encoder, job.rows)
    published = _published_descriptions(job, index)
    if len(published):
        comparison = RowComparison(published)
        # A large change is not compared to its end, nor are all its parts listed.
        parts = list(takewhile(lambda _: not comparison.is_large, job.missing_parts(comparison)))
        if comparison.is_small(removes=removes):
            lease.take(index.live)
            increment = Increment(index, index_config.batch_rows, by="embed")
            return _write_in_place(job, increment, lease, parts, comparison, removes)
    return _build_anew(job, index, index_config, before, lease, removes=removes)


def _published_descriptions(job: _Job, index: ArchitectureIndex) -> RowDigests:
    """The descriptions of the rows of the index.

    They were kept when the index was last brought to a corpus, and are right if nobody has written
    since. Otherwise the index is asked, which takes time for every row.
    """
    corpus = corpus_of(index, job.encoder)
    shards = job.described.shards_of(corpus)
    if shards and is_of_corpus(index, job.encoder, corpus, _count(shards)):
        return job.described.rows(shards)
    return descriptions(index, job.encoder)


def _count(shards: Sequence[ShardEntry]) -> int:
    return sum(entry.rows for entry in shards)


def _write_in_place(
    job: _Job,
    increment: Increment,
    lease: Lease,
    parts: Sequence[str],
    comparison: RowComparison,
    removes: bool,
) -> EmbedReport:
    """Write changed rows into the collection that readers get."""
    method = by_this_process(increment, job.digests)
    failed = job.pool.embed(method, parts, comparison.changed, lease)
    vanished = comparison.vanished
    gone = vanished if removes else []
    is_whole = not failed and len(gone) == len(vanished)
    rows = increment.finish(gone, job.digest if is_whole else "")
    if is_whole:
        job.described.note_brought(job.digest, job.shards)
    return EmbedReport(
        "in place",
        job.encoder,
        rows,
        embedded=comparison.changed - len(failed),
        removed=len(gone),
        strangers=len(vanished) - len(gone),
        failures=_failures_by_name(job.corpus, failed),
    )


def _build_anew(
    job: _Job,
    index: ArchitectureIndex,
    index_config: IndexConfig,
    before: Collection | None,
    lease: Lease,
    *,
    removes: bool,
) -> EmbedReport:
    """Build a collection of all rows; an unfinished build for the same rows goes on."""
    keeps_before = index.is_published
    with index.build(job.encoder, job.dim, job=job.digest) as build:
        lease.take(build.staging)
        # Where there were no rows there are none of others, and the ids of the own are not needed.
        has_others = before is not None or len(build.rows) > 0
        own = job.described.rows(job.shards) if has_others else None
        # An earlier attempt may have rows of others, and rows that it took over as they were.
        held = RowComparison(build.descriptions())
        method = write_method(build, index_config, job)
        left = max(job.rows - len(build.rows), 0)
        failed = job.pool.embed(method, job.missing_parts(held), left, lease)
        failures = _failures_by_name(job.corpus, failed)
        carried = build.carry_over(before, own, removes=removes) if own else Carried(0, 0)
        is_whole = not (failures or carried.strangers)
        rows = build.publish(keep_before=True, corpus=job.digest if is_whole else "", by="embed")
    if is_whole:
        job.described.note_brought(job.digest, job.shards)
    return EmbedReport(
        "new",
        job.encoder,
        rows,
        embedded=held.changed - len(failed),
        removed=carried.left,
        strangers=carried.strangers,
        failures=failures,
        keeps_before=keeps_before,
    )


def _failures_by_name(corpus: Location, rows: Sequence[Failed]) -> dict[str, str]:
    """Why rows are not in the index, by the names of their architectures."""
    of_file: defaultdict[str, dict[int, Exception]] = defaultdict(dict)
    for row in rows:
        file, (position,) = embed_worker.parsed_part(row.key)
        of_file[file][position] = row.error
    return {
        names[row]: str(error)
        for entry, names in (Corpus(corpus).names() if rows else ())
        for row, error in sorted(of_file[entry.file].items())
    }


Writer: TypeAlias = IndexBuild | Increment
# Errors of which the part is not at fault: the next part would fare no better.
_ENDING: Final = (IndexUnavailableError, WorkerStartError, ShardChangedError)


@dataclass(frozen=True, slots=True)
class WriteMethod(Generic[ValueT]):
    """How rows are written.

    Attributes:
        ask: Submits a part to a worker.
        take: Takes the worker's answer; afterwards the rows of the part are in the index. Returns
            how many rows there were.
    """

    ask: Callable[[ActorHandle[Any], str], "ray.ObjectRef[ValueT]"]
    take: Callable[[ValueT], int]


def by_this_process(
    writer: Writer, digests: Mapping[str, str]
) -> WriteMethod[embed_worker.EmbeddedPart]:
    """Workers return rows, and this process writes them.

    Args:
        writer: Writes them.
        digests: Sha256 of each file of the corpus.
    """

    def take(part: embed_worker.EmbeddedPart) -> int:
        writer.load(part.rows())
        return len(part.cards)

    return WriteMethod(
        lambda worker, part: worker.embed.remote(part, digests[embed_worker.file_of(part)]), take
    )


def by_workers(
    build: IndexBuild, index: IndexConfig, digests: Mapping[str, str]
) -> WriteMethod[bytes]:
    """Workers write their rows themselves, and return the digests of the rows.

    Args:
        build: The build that is filled.
        index: Where.
        digests: Sha256 of each file of the corpus.
    """
    target = ray.put(embed_worker.StagingTarget(index, build.staging.name))

    def take(digests: bytes) -> int:
        build.acknowledge(digests)
        return len(digests) // ROW_BYTES

    return WriteMethod(
        lambda worker, part: worker.write.remote(part, digests[embed_worker.file_of(part)], target),
        take,
    )


def write_method(build: IndexBuild, index: IndexConfig, job: _Job) -> WriteMethod[Any]:
    """How a collection that no reader gets yet is filled."""
    if job.pool.config.workers_write and not build.staging.milvus.lite:
        return by_workers(build, index, job.digests)
    return by_this_process(build, job.digests)


@dataclass(frozen=True, slots=True)
class EmbedPool:
    """The workers that embed.

    Attributes:
        start: Starts one worker.
        size: How many there may be.
        config: The bounds of the workers, and the rows of a part.
        telemetry: Counts the rows by outcome.
    """

    start: Start
    size: PoolSize
    config: EmbedConfig
    telemetry: JobTelemetry

    def embed(
        self, method: WriteMethod[ValueT], parts: Iterable[str], rows: int, lease: Lease
    ) -> list[Failed]:
        """Embed parts into an index; if a part fails, each row by itself.

        Args:
            method: How rows are written.
            parts: The parts, those of one shard together; read as workers need them.
            rows: How many rows they have, as far as that is known before they are read.
            lease: The right to write; kept while parts come.

        Returns:
            The rows that could not be embedded.

        Raises:
            IndexUnavailableError: The index does not answer; rows that it has acknowledged stay.
            WorkerStartError: No worker starts.
        """
        self.telemetry.total = rows
        with progress("embedding", rows) as advance:
            failed_parts = self._embed(method, parts, lease, advance)
            alone = [row for part in failed_parts for row in _rows_of(part.key)]
            failed = self._embed(method, alone, lease, advance)
        self.telemetry.count("failed", len(failed))
        return failed

    def _embed(
        self,
        method: WriteMethod[ValueT],
        parts: Iterable[str],
        lease: Lease,
        advance: Advance,
    ) -> list[Failed]:
        """Embed parts, and take their rows into the index; return the parts that failed."""
        failed = []
        waiting, embedded = Counter[str](), 0

        def items() -> Iterator[Item]:
            for part in parts:
                file = embed_worker.file_of(part)
                waiting[file] += 1
                yield Item(part, group=file)

        pool = ActorPool(WorkerKind(self.start, method.ask), self.size, self.config)
        # A worker keeps to its shard, so that not every worker reads it.
        for outcome in pool.run(items(), lambda: advance.wait(pool.waited_for), is_streamed=True):
            lease.keep()
            file = embed_worker.file_of(outcome.key)
            waiting[file] -= 1
            if not waiting[file]:
                del waiting[file]
                embedded += 1
            self.telemetry.shards = {"under way": len(waiting), "embedded": embedded}
            if isinstance(outcome, Failed):
                if isinstance(outcome.error, _ENDING):
                    raise outcome.error
                failed.append(outcome)
                continue
            try:
                written = method.take(outcome.value)
            except InvalidInputError as error:
                failed.append(Failed(outcome.key, error))
                continue
            advance(written)
            self.telemetry.count("embedded", written)
        return failed


def _rows_of(part: str) -> list[str]:
    file, rows = embed_worker.parsed_part(part)
    return [embed_worker.named_part(file, [row]) for row in rows]
