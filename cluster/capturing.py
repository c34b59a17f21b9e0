"""Captures of many models by actors, into the journal.

A model of a library is a call of its own, for each may fail in its own way and take its worker
down. What NAR draws itself takes about a millisecond: many of those go in one call.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from cluster.actors import ActorPool, Recruiter, starter
from cluster.config import ExtractConfig
from cluster.failures import WorkerLostError
from cluster.items import Done, Failed, Item
from cluster.journal import Journal, Result, RunRecord, Scribe, captured, failed
from cluster.progress import watching
from cluster.provenance import labels_identity, source_name
from cluster.resources import cluster_totals, pool_size, worker_share
from cluster.telemetry import Teller
from cluster.worker import CaptureWorker, WorkerCaptures
from nar.console import stderr
from nar.corpus.manifest import Failure
from nar.errors import CaptureError, NarError
from nar.zoo.sources import source_of

DRAWN_TOGETHER: Final = 64

# Names of the models that a call asks for, by its key: the first of them.
Calls = Mapping[str, Sequence[str]]


def capture_all(
    identities: Mapping[str, str], journal: Journal, config: ExtractConfig, teller: Teller
) -> None:
    """Capture models into the journal; what was finished is in it, whatever ends this.

    Args:
        identities: Of each model by its name, the digest of what decides its capture.
        journal: Where to.
        config: Sizes of workers and batches.
        teller: Is told what became of each.

    Raises:
        WorkerStartError: The cluster has no room.
    """
    share = worker_share(config)
    workers = pool_size(config, share)
    cores = int(cluster_totals().get("CPU", 0.0))
    run = RunRecord(seconds=0.0, workers=workers, cores=cores, labels=labels_identity())
    scribe = Scribe(journal, config.batch_size, config.batch_s, run)

    def results(calls: Calls) -> Iterator[Result | Failed]:
        recruiter: Recruiter[WorkerCaptures] = Recruiter(
            start=starter(CaptureWorker, share, config.memory_limit_bytes),
            ask=lambda worker, key: worker.capture.remote(calls[key]),
            is_spent=lambda value: value.resident_bytes > config.resident_limit_bytes,
        )
        items = [Item(key, group=source_name(key)) for key in calls]
        for outcome in ActorPool(recruiter, workers, config).run(items):
            yield from _results(outcome, calls[outcome.key], identities)

    try:
        with watching(Counter(map(source_name, identities)), stderr) as advance:
            again: dict[str, list[str]] = {}
            for calls in (_calls(identities), again):
                for result in results(calls):
                    if isinstance(result, Failed):
                        again.update((name, [name]) for name in calls[result.key])
                        continue
                    scribe.add(result)
                    advance(source_name(result.record.name), result.row is not None)
                    teller.count("failed" if result.row is None else "captured")
    finally:
        scribe.close()


def _calls(names: Iterable[str]) -> Calls:
    """Names in their order; those that NAR draws itself are asked for with the first of them."""
    calls: dict[str, list[str]] = {}
    drawn: dict[str, list[str]] = {}
    for name in names:
        source = source_of(name)
        together = drawn.get(source.name, []) if source and not source.library else []
        if not 0 < len(together) < DRAWN_TOGETHER:
            together = calls[name] = []
        if source and not source.library:
            drawn[source.name] = together
        together.append(name)
    return calls


def _results(
    outcome: Done[WorkerCaptures] | Failed, names: Sequence[str], identities: Mapping[str, str]
) -> Iterator[Result | Failed]:
    """What became of each model of a call; the call itself where several failed together."""
    seconds = outcome.seconds / len(names)
    if isinstance(outcome, Done):
        for name, capture in zip(names, outcome.value.captures, strict=True):
            yield captured(capture, identities[name], seconds)
    elif len(names) == 1:
        yield failed(_failure(outcome.key, outcome.error), identities[outcome.key], seconds)
    else:
        yield outcome


def _failure(name: str, error: Exception) -> Failure:
    if isinstance(error, CaptureError):
        return Failure(name=name, operator=error.operator, reason=error.reason)
    text = str(error) if isinstance(error, NarError) else f"{type(error).__name__}: {error}"
    kind = error.kind if isinstance(error, WorkerLostError) else "capture"
    return Failure(name=name, operator="-", reason=text.strip().partition("\n")[0], kind=kind)
