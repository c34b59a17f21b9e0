"""Capture on the cluster: a selection of models into the shards of a corpus.

Actors capture each model by a call of its own, because a model may fail in its own way and take its
worker down. The driver keeps every result in a journal and, at the end, makes the corpus from it.
So the files are the same for any number of workers, and for a job that was killed and goes on.
`cluster.darts_corpus` draws networks of a search space by the hundred thousand.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Final

from nar.base.asking import NOTHING_STATED, Asking
from nar.base.console import progress
from nar.base.errors import CaptureError, ConfigError, CorpusError, NarError
from nar.base.files import remove_parts, write_whole
from nar.base.own_zoo import Declared
from nar.base.workspace import Workspace
from nar.capture import CAPTURE_VERSION
from nar.corpus import read_cards
from nar.corpus.manifest import FILE_NAME, Failure, Manifest, Skipped, count_corpus
from nar.graphs.assumed import Assumed

from .actors import ActorPool, Done, Failed, Item, WorkerKind, WorkerLostError, starter
from .capture_worker import CaptureWorker, WorkerCapture
from .config import ExtractConfig
from .journal import (
    BatchWriter,
    Journal,
    Result,
    RunRecord,
    SettledModel,
    captured,
    failed,
    merged,
)
from .ledger import Ledger
from .provenance import (
    changed_files,
    identity_of,
    ingredients,
    kind_of_spec,
    labels_identity,
    packages,
    source_name,
    stated_for,
)
from .resources import cluster_totals, pool_size, worker_share
from .shards import PublishedShards, Publisher, ShardRecord, cut
from .telemetry import JobTelemetry, job_telemetry

# Beside the corpus: a line of JSON for each model that is missing.
FAILURES: Final = "failures.jsonl"
# File and line of a user's code in a reason.
_PLACE: Final = re.compile(r"[\w./-]+\.py:\d+")
# Chosen: names in a clause; more do not fit into a line of a terminal.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class ExtractReport:
    """The outcome of an extraction.

    Attributes:
        directory: Directory of the corpus.
        manifest: Manifest of the corpus.
        captured: Models that this run tried.
        kept: Models that an earlier run had settled.
        shared: Models that needed no capture, for another has the same configuration.
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
    shared: int
    published: PublishedShards
    kinds: dict[str, int]
    steps: dict[str, dict[str, float]]
    assumed: dict[str, Assumed] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExtractJob:
    """The request of an extraction.

    Attributes:
        names: Specs, in any order.
        skipped: Sources of the request that are not installed, with the way out.
        restart: Forget what an earlier job left in the workspace.
        retry_failed: Try models again that failed before.
        asking: What the user states of models of their own.
        zoo: The models among them that a zoo declares, by name: what is captured for the name.
        shared: The models among them that share a capture, by name: the name of the capture, of
            which `zoo` has the file.
    """

    names: Collection[str]
    skipped: Mapping[str, str]
    restart: bool = False
    retry_failed: bool = False
    asking: Asking = NOTHING_STATED
    zoo: Mapping[str, Declared] = field(default_factory=dict)
    shared: Mapping[str, str] = field(default_factory=dict)

    def captured_as(self, name: str) -> str:
        """The name of the capture of a model."""
        return self.shared.get(name, name)

    def declared(self, name: str) -> Declared:
        """What is captured for a name."""
        return self.zoo.get(name) or Declared(name, name)

    def stated(self, name: str) -> Asking:
        """What is stated of a model."""
        each = self.declared(name)
        asking = replace(self.asking, inputs=each.inputs) if each.inputs else self.asking
        return stated_for(each.spec, asking)


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
    with job_telemetry("extract", workspace.root) as telemetry:
        return _extract(job, workspace, config, telemetry)


def _extract(
    job: ExtractJob, workspace: Workspace, config: ExtractConfig, telemetry: JobTelemetry
) -> ExtractReport:
    ledgers = workspace.root / "ledger" / "extract"
    _begin(ledgers, workspace.corpus, restart=job.restart)
    for directory in (workspace.corpus, *ledgers.glob("*")):
        remove_parts(directory)
    journal = Journal(ledgers / "journal")
    with closing(journal):
        return _extract_into(journal, job, workspace, config, telemetry)


def _extract_into(
    journal: Journal,
    job: ExtractJob,
    workspace: Workspace,
    config: ExtractConfig,
    telemetry: JobTelemetry,
) -> ExtractReport:
    parts = _parts(job)
    missing = _missing(parts, journal, retry_failed=job.retry_failed)
    telemetry.total, telemetry.records["kept"] = len(parts), len(parts) - len(missing)
    if missing:
        capture_all(missing, journal, config, telemetry, job)
        journal.compact(config.batch_size)
    captures = Captures(journal, parts, job)
    ledger = Ledger(workspace.root / "ledger" / "extract" / "shards", ShardRecord)
    publisher = Publisher(workspace.corpus, ledger, journal, job.zoo)
    published = publisher.publish(cut(job.names, config.shard_size, job.captured_as), captures.of)
    kept = len(published.entries) - published.written
    telemetry.shards = {
        "written": published.written,
        "kept": kept,
        "removed": len(published.removed),
    }
    summary = _summed(captures)
    manifest = _manifest(workspace.corpus, published, journal, summary, job.skipped)
    if _manifest_now(workspace.corpus) != manifest:
        manifest.write(workspace.corpus)
    write_failures(workspace.root / FAILURES, manifest.failures)
    telemetry.failures = Counter(failure.kind for failure in manifest.failures)
    return ExtractReport(
        workspace.corpus,
        manifest,
        captured=len(missing),
        kept=len(parts) - len(missing),
        shared=len(set(job.names)) - len(parts),
        published=published,
        kinds=dict(Counter(failure.kind for failure in manifest.failures)),
        steps=dict(sorted(summary.steps.items())),
        assumed=summary.assumed,
    )


def _parts(job: ExtractJob) -> dict[str, Mapping[str, str]]:
    """What decides each capture, by its name; captures of one source share it in memory, too."""
    same: dict[tuple[str, ...], Mapping[str, str]] = {}
    parts = {}
    for name in dict.fromkeys(map(job.captured_as, job.names)):
        each = ingredients(job.declared(name).spec, job.stated(name))
        parts[name] = same.setdefault(tuple(chain.from_iterable(each.items())), each)
    return parts


@dataclass(frozen=True, slots=True)
class Captures:
    """What the journal has of the models of a job; read when it is asked for.

    Attributes:
        journal: The journal, which has every model.
        parts: What decides each capture.
        job: Says what is captured for each model.
    """

    journal: Journal
    parts: Mapping[str, Mapping[str, str]]
    job: ExtractJob

    def of(self, names: Iterable[str]) -> Iterator[SettledModel]:
        """The captures of models, in the order of names."""
        for name in names:
            captured_as = self.job.captured_as(name)
            settled = self.journal.find(captured_as, identity_of(self.parts[captured_as]))
            assert settled is not None, f"{name} was captured or has failed"
            yield replace(settled, called=name)


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


@dataclass(frozen=True, slots=True)
class Missing:
    """A model that has to be captured.

    Attributes:
        ingredients: What decides its capture, by what a person calls it.
        why: Why it has to be, as a clause.
    """

    ingredients: Mapping[str, str]
    why: str

    @property
    def identity(self) -> str:
        """Digest of the ingredients."""
        return identity_of(self.ingredients)


def _missing(
    parts: Mapping[str, Mapping[str, str]], journal: Journal, *, retry_failed: bool
) -> dict[str, Missing]:
    """Models that have to be captured."""
    states: dict[str, str] = {}
    missing = {}
    for name, each in parts.items():
        why = reason_to_capture(name, each, journal, states)
        earlier = journal.find(name, identity_of(each))
        if not why and retry_failed and earlier and earlier.record.failure:
            why = "it had failed"
        if why:
            missing[name] = Missing(each, why)
    return missing


def reason_to_capture(
    name: str, parts: Mapping[str, str], journal: Journal, states: dict[str, str]
) -> str:
    """Why a model has to be captured, as a clause; empty where what is there is right.

    Args:
        name: The model.
        parts: What decides its capture now.
        journal: The captures that were made.
        states: The states of files that were looked at before; gets those that are looked at here.
    """
    settled = journal.find(name, identity_of(parts))
    if settled is not None:
        changed = changed_files(settled.record.read, states)
        return f"{_listed(changed)} changed" if changed else ""
    latest = journal.latest(name)
    if latest is None:
        return "it had not been captured"
    before = latest.record.ingredients
    if not before:
        return "an older version of NAR had captured it"
    others = [each for each in {**before, **parts} if before.get(each) != parts.get(each)]
    return f"{_listed(others)} changed" if others else "its files were named in another order"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


@dataclass(slots=True)
class _Summary:
    """What is known of all captures of a job, summed while they are read.

    Attributes:
        failures: Why models have no row, in the order of names.
        batches: The batches that have the captures.
        spent: Seconds of workers by source.
        unknown: Occurrences of each operator outside the vocabulary.
        steps: Seconds of workers by source and step.
        assumed: What was assumed of users' own models, by name.
    """

    failures: list[Failure] = field(default_factory=list)
    batches: set[int] = field(default_factory=set)
    spent: dict[str, float] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    steps: dict[str, dict[str, float]] = field(default_factory=dict)
    assumed: dict[str, Assumed] = field(default_factory=dict)

    def take(self, settled: SettledModel, *, is_again: bool) -> None:
        """Sum one capture in.

        Args:
            settled: The capture.
            is_again: Whether another model with the same capture was summed in before.
        """
        record = settled.record
        if record.failure is not None:
            self.failures.append(record.failure.model_copy(update={"name": settled.called}))
        if record.assumed:
            self.assumed[settled.called] = record.assumed
        if is_again:
            return
        source = source_name(settled.called)
        self.batches.add(settled.batch)
        self.spent[source] = self.spent.get(source, 0.0) + record.seconds
        self.unknown.update(record.unknown_operators)
        rest = max(0.0, record.seconds - sum(record.steps.values()))
        before = self.steps.get(source, {})
        self.steps[source] = merged([before, {**record.steps, "rest": rest}])


def _summed(captures: Captures) -> _Summary:
    summary, seen = _Summary(), set[str]()
    shared = captures.job.shared
    for settled in captures.of(sorted(captures.job.names)):
        summary.take(settled, is_again=settled.record.name in seen)
        if settled.called in shared:
            seen.add(settled.record.name)
    return summary


def _manifest(
    corpus: Path,
    published: PublishedShards,
    journal: Journal,
    summary: _Summary,
    skipped: Mapping[str, str],
) -> Manifest:
    """The manifest of published shards: the same journal gives the same manifest."""
    failures = tuple(summary.failures)
    runs = [journal.run_of(batch) for batch in sorted(summary.batches)]
    cards = (card for entry in published.entries for card in read_cards(corpus / entry.file))
    counts = count_corpus(cards, failures, dict(sorted(summary.spent.items())))
    return Manifest(
        packages=packages(set(summary.spent)),
        capture_version=CAPTURE_VERSION,
        shards=published.entries,
        sources=counts.sources,
        totals=counts.totals,
        failures=failures,
        skipped=tuple(Skipped(source=name, reason=skipped[name]) for name in sorted(skipped)),
        unknown_operators=dict(sorted(summary.unknown.items())),
        seconds=round(sum(run.seconds for run in runs), 3),
        workers=max((run.workers for run in runs), default=1),
        cores=max((run.cores for run in runs), default=0),
    )


def capture_all(
    missing: Mapping[str, Missing],
    journal: Journal,
    config: ExtractConfig,
    telemetry: JobTelemetry,
    job: ExtractJob,
) -> None:
    """Capture models into the journal; it keeps finished captures, however the job ends.

    Args:
        missing: The models by name.
        journal: The journal.
        config: Sizes of workers and batches.
        telemetry: Counts the models by outcome.
        job: The request, which says what is captured for each name.

    Raises:
        WorkerStartError: The cluster has no room.
    """
    share = worker_share(config)
    size = pool_size(config, share)
    cores = int(cluster_totals().get("CPU", 0.0))
    run = RunRecord(seconds=0.0, workers=size(), cores=cores, labels=labels_identity())
    writer = BatchWriter(journal, config.batch_size, config.batch_s, run)
    kind: WorkerKind[WorkerCapture] = WorkerKind(
        start=starter(CaptureWorker, share, config.memory_limit_bytes),
        ask=lambda worker, name: worker.capture.remote(
            job.declared(name).spec, job.stated(name), name
        ),
        is_spent=lambda value: value.resident_bytes > config.resident_limit_bytes,
    )
    # In the order in which shards have them, so that a batch of the journal is read for one shard
    # or two, and not for all. Names of one class stand together; they share most of their building.
    items = [Item(name, group=source_name(name)) for name in sorted(missing)]
    pool = ActorPool(kind, size, config)
    try:
        groups = Counter(map(source_name, missing))
        with progress("capturing", len(missing), groups=groups) as advance:

            def meanwhile() -> float:
                return min(writer.write_old(), advance.wait(pool.waited_for))

            for outcome in pool.run(items, meanwhile):
                result = _result(outcome, missing[outcome.key], job.declared(outcome.key).spec)
                writer.add(result)
                is_failed = result.row is None
                group = source_name(outcome.key)
                advance(1, group=group, failed=int(is_failed), seconds=outcome.seconds)
                telemetry.count("failed" if is_failed else "captured")
    finally:
        writer.close()


def _result(outcome: Done[WorkerCapture] | Failed, missing: Missing, spec: str) -> Result:
    if isinstance(outcome, Done):
        made = outcome.value
        result = captured(
            made.capture,
            missing.identity,
            outcome.seconds,
            read=_beyond(made.read, missing.ingredients),
            unchecked=made.unchecked,
        )
    else:
        failure = _failure(outcome.key, outcome.error)
        result = failed(failure, missing.identity, outcome.seconds)
    said = {"ingredients": dict(missing.ingredients), "why": missing.why, "spec": spec}
    return replace(result, record=result.record.model_copy(update=said))


def _beyond(read: Mapping[str, str], ingredients: Mapping[str, str]) -> dict[str, str]:
    """The files that a capture opened and that are not among the ingredients already."""
    known = {each.rpartition(" ")[2] for each in ingredients.values()}
    return {file: state for file, state in read.items() if state not in known}


# The ways out of failures by their kind, as clauses.
_WAYS_OUT: Final = {
    "capture": "`nar search NAME --verbose` shows where it was raised; mend it and run again",
    "died": "run it alone, `nar search NAME`; code in C has ended its process",
    "timeout": "raise extract.limit_s in ray_config.yaml, and pass --retry-failed",
    "memory": "raise extract.memory_limit_bytes in ray_config.yaml, and pass --retry-failed",
}


def write_failures(path: Path, failures: Sequence[Failure]) -> None:
    """Write a line of JSON for each model that is missing: its reason, its place, the way out."""
    lines = (
        {
            **failure.model_dump(),
            "file": kind_of_spec(failure.name),
            "place": place.group() if (place := _PLACE.search(failure.reason)) else "",
            "way_out": _WAYS_OUT[failure.kind].replace("NAME", failure.name),
        }
        for failure in failures
    )
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def _failure(name: str, error: Exception) -> Failure:
    source = source_name(name)
    if isinstance(error, CaptureError):
        return Failure(name=name, operator=error.operator, reason=error.reason, source=source)
    text = str(error) if isinstance(error, NarError) else f"{type(error).__name__}: {error}"
    kind = error.kind if isinstance(error, WorkerLostError) else "capture"
    reason = text.strip().partition("\n")[0]
    return Failure(name=name, operator="-", reason=reason, kind=kind, source=source)
