"""Capture on the cluster: a selection of models into the shards of a corpus.

Actors capture each model by a call of its own, because a model may fail in its own way and take its
worker down. The driver keeps every result in a journal and, at the end, makes the corpus from it.
So the files are the same for any number of workers, and for a job that was killed and goes on.
`cluster.darts_corpus` draws networks of a search space by the hundred thousand.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cluster.actors import ActorPool, Done, Failed, Item, WorkerKind, WorkerLostError, starter
from cluster.capture_worker import CaptureWorker, WorkerCapture
from cluster.config import ExtractConfig
from cluster.journal import (
    BatchWriter,
    Journal,
    Result,
    RunRecord,
    Settled,
    captured,
    failed,
    merged,
)
from cluster.ledger import Ledger
from cluster.provenance import identity, labels_identity, packages, source_name, stated_for
from cluster.resources import cluster_totals, pool_size, worker_share
from cluster.shards import PublishedShards, Publisher, ShardRecord, cut
from cluster.telemetry import JobTelemetry, job_telemetry
from nar.base.asking import NOTHING_STATED, Asking
from nar.base.console import progress
from nar.base.errors import CaptureError, ConfigError, CorpusError, NarError
from nar.base.workspace import Workspace
from nar.capture import CAPTURE_VERSION
from nar.corpus import read_cards
from nar.corpus.manifest import FILE_NAME, Failure, Manifest, Skipped, count_corpus
from nar.graphs.assumed import Assumed


@dataclass(frozen=True, slots=True)
class ExtractReport:
    """The outcome of an extraction.

    Attributes:
        directory: Directory of the corpus.
        manifest: Manifest of the corpus.
        captured: Models that this run tried.
        kept: Models that an earlier run had settled.
        published: The changes of this run in the directory.
        kinds: Failures by kind: ``capture``, ``died``, ``timeout``, ``memory``.
        steps: Seconds of workers by source and step; ``rest`` is the time outside every step:
            failures, lost tries, the way to the worker and back.
        assumed: What was assumed of users' own models, by name.
    """

    directory: Path
    manifest: Manifest
    captured: int
    kept: int
    published: PublishedShards
    kinds: dict[str, int]
    steps: dict[str, dict[str, float]]
    assumed: dict[str, Assumed] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExtractJob:
    """The request of an extraction.

    Attributes:
        names: Specs, in the order of capture, which decides nothing else.
        skipped: Sources of the request that are not installed, with the way out.
        restart: Forget what an earlier job left in the workspace.
        retry_failed: Try models again that failed before.
        asking: What the user states of models of their own.
    """

    names: Collection[str]
    skipped: Mapping[str, str]
    restart: bool = False
    retry_failed: bool = False
    asking: Asking = NOTHING_STATED


def extract(job: ExtractJob, workspace: Workspace, config: ExtractConfig) -> ExtractReport:
    """Capture models on the connected cluster, and make them a corpus.

    Args:
        job: The request.
        workspace: Gets ``corpus/`` and ``ledger/extract/``.
        config: Sizes of the workers, batches and shards.

    Raises:
        ConfigError: The workspace holds a corpus that was not made here.
        WorkerStartError: The cluster has no room.
    """
    with job_telemetry("extract") as telemetry:
        return _extract(job, workspace, config, telemetry)


def _extract(
    job: ExtractJob, workspace: Workspace, config: ExtractConfig, telemetry: JobTelemetry
) -> ExtractReport:
    ledgers = workspace.root / "ledger" / "extract"
    _begin(ledgers, workspace.corpus, restart=job.restart)
    # In the given order: a source lists models together that share most of their building.
    identities = {name: identity(name, job.asking) for name in job.names}
    journal = Journal(ledgers / "journal")
    missing = _missing(identities, journal, retry_failed=job.retry_failed)
    telemetry.total, telemetry.records["kept"] = len(identities), len(identities) - len(missing)
    if missing:
        capture_all(missing, journal, config, telemetry, job.asking)
    settled = {name: _settled(journal, name, identities[name]) for name in sorted(identities)}
    publisher = Publisher(workspace.corpus, Ledger(ledgers / "shards", ShardRecord), journal)
    published = publisher.publish(cut(settled, config.shard_size), settled)
    kept = len(published.entries) - published.written
    telemetry.shards = {
        "written": published.written,
        "kept": kept,
        "removed": len(published.removed),
    }
    manifest = _manifest(workspace.corpus, published, journal, settled, job.skipped)
    if _manifest_now(workspace.corpus) != manifest:
        manifest.write(workspace.corpus)
    return ExtractReport(
        workspace.corpus,
        manifest,
        captured=len(missing),
        kept=len(identities) - len(missing),
        published=published,
        kinds=dict(Counter(failure.kind for failure in manifest.failures)),
        steps=_steps(settled),
        assumed={
            name: each.record.assumed for name, each in settled.items() if each.record.assumed
        },
    )


def _begin(ledgers: Path, corpus: Path, *, restart: bool) -> None:
    """Refuse a corpus that was made elsewhere; with ``restart``, delete it and its ledger."""
    if restart:
        old = (*corpus.glob("*.parquet"), *ledgers.glob("*/*"), *ledgers.glob("*.json"))
        for path in (corpus / FILE_NAME, *old):
            path.unlink(missing_ok=True)
    elif (corpus / FILE_NAME).exists() and not (ledgers / "shards").is_dir():
        raise ConfigError(
            f"{corpus} holds a corpus without its ledger; pass --restart to replace it, "
            "or another --work"
        )


def _manifest_now(corpus: Path) -> Manifest | None:
    try:
        return Manifest.read(corpus)
    except CorpusError:
        return None


def _missing(
    identities: Mapping[str, str], journal: Journal, *, retry_failed: bool
) -> dict[str, str]:
    """Models that have to be captured, each with the digest that decides its capture."""
    settled = {name: journal.find(name, code) for name, code in identities.items()}
    return {
        name: identities[name]
        for name, earlier in settled.items()
        if earlier is None or (retry_failed and earlier.record.failure is not None)
    }


def _settled(journal: Journal, name: str, code: str) -> Settled:
    settled = journal.find(name, code)
    assert settled is not None, f"{name} was captured or has failed"
    return settled


def _manifest(
    corpus: Path,
    published: PublishedShards,
    journal: Journal,
    settled: Mapping[str, Settled],
    skipped: Mapping[str, str],
) -> Manifest:
    """The manifest of published shards: the same journal gives the same manifest."""
    records = [each.record for each in settled.values()]
    failures = tuple(record.failure for record in records if record.failure is not None)
    runs = [journal.run_of(batch) for batch in sorted({each.batch for each in settled.values()})]
    cards = (card for entry in published.entries for card in read_cards(corpus / entry.file))
    spent = merged({source_name(record.name): record.seconds} for record in records)
    counts = count_corpus(cards, failures, spent)
    unknown = merged(record.unknown_operators for record in records)
    return Manifest(
        packages=packages({source_name(name) for name in settled}),
        capture_version=CAPTURE_VERSION,
        shards=published.entries,
        sources=counts.sources,
        totals=counts.totals,
        failures=failures,
        skipped=tuple(Skipped(source=name, reason=skipped[name]) for name in sorted(skipped)),
        unknown_operators={name: int(count) for name, count in unknown.items()},
        seconds=round(sum(run.seconds for run in runs), 3),
        workers=max((run.workers for run in runs), default=1),
        cores=max((run.cores for run in runs), default=0),
    )


def _steps(settled: Mapping[str, Settled]) -> dict[str, dict[str, float]]:
    by_source: dict[str, list[Mapping[str, float]]] = {}
    for each in settled.values():
        record = each.record
        rest = max(0.0, record.seconds - sum(record.steps.values()))
        by_source.setdefault(source_name(record.name), []).append({**record.steps, "rest": rest})
    return {source: merged(steps) for source, steps in sorted(by_source.items())}


def capture_all(
    identities: Mapping[str, str],
    journal: Journal,
    config: ExtractConfig,
    telemetry: JobTelemetry,
    asking: Asking = NOTHING_STATED,
) -> None:
    """Capture models into the journal; it keeps finished captures, however the job ends.

    Args:
        identities: For each name of a model, the digest that decides its capture.
        journal: The journal.
        config: Sizes of workers and batches.
        telemetry: Counts the models by outcome.
        asking: What the user states of models of their own.

    Raises:
        WorkerStartError: The cluster has no room.
    """
    share = worker_share(config)
    workers = pool_size(config, share)
    cores = int(cluster_totals().get("CPU", 0.0))
    run = RunRecord(seconds=0.0, workers=workers, cores=cores, labels=labels_identity())
    writer = BatchWriter(journal, config.batch_size, config.batch_s, run)
    kind: WorkerKind[WorkerCapture] = WorkerKind(
        start=starter(CaptureWorker, share, config.memory_limit_bytes),
        ask=lambda worker, name: worker.capture.remote(name, stated_for(name, asking)),
        is_spent=lambda value: value.resident_bytes > config.resident_limit_bytes,
    )
    items = [Item(name, group=source_name(name)) for name in identities]
    try:
        groups = Counter(map(source_name, identities))
        with progress("capturing", len(identities), groups=groups) as advance:
            for outcome in ActorPool(kind, workers, config).run(items):
                result = _result(outcome, identities[outcome.key])
                writer.add(result)
                is_failed = result.row is None
                advance(1, group=source_name(outcome.key), failed=int(is_failed))
                telemetry.count("failed" if is_failed else "captured")
    finally:
        writer.close()


def _result(outcome: Done[WorkerCapture] | Failed, identity: str) -> Result:
    if isinstance(outcome, Done):
        return captured(outcome.value.capture, identity, outcome.seconds)
    return failed(_failure(outcome.key, outcome.error), identity, outcome.seconds)


def _failure(name: str, error: Exception) -> Failure:
    if isinstance(error, CaptureError):
        return Failure(name=name, operator=error.operator, reason=error.reason)
    text = str(error) if isinstance(error, NarError) else f"{type(error).__name__}: {error}"
    kind = error.kind if isinstance(error, WorkerLostError) else "capture"
    return Failure(name=name, operator="-", reason=text.strip().partition("\n")[0], kind=kind)
