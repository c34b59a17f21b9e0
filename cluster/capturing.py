"""Captures of many models by actors, into the journal.

Each model is a call of its own, for each may fail in its own way and take its worker down. Networks
of a search space by the hundred thousand are drawn in `cluster.drawing`.
"""

from collections import Counter
from collections.abc import Mapping

from cluster.actors import ActorPool, Done, Failed, Item, Recruiter, WorkerLostError, starter
from cluster.capture_worker import CaptureWorker, WorkerCapture
from cluster.config import ExtractConfig
from cluster.journal import Journal, Result, RunRecord, Scribe, captured, failed
from cluster.progress import watching
from cluster.provenance import labels_identity, source_name
from cluster.resources import cluster_totals, pool_size, worker_share
from cluster.telemetry import Teller
from nar.base.console import stderr
from nar.base.errors import CaptureError, NarError
from nar.corpus.manifest import Failure


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
    recruiter: Recruiter[WorkerCapture] = Recruiter(
        start=starter(CaptureWorker, share, config.memory_limit_bytes),
        ask=lambda worker, name: worker.capture.remote(name),
        is_spent=lambda value: value.resident_bytes > config.resident_limit_bytes,
    )
    items = [Item(name, group=source_name(name)) for name in identities]
    try:
        with watching(Counter(map(source_name, identities)), stderr) as advance:
            for outcome in ActorPool(recruiter, workers, config).run(items):
                result = _result(outcome, identities[outcome.key])
                scribe.add(result)
                advance(source_name(outcome.key), result.row is not None)
                teller.count("failed" if result.row is None else "captured")
    finally:
        scribe.close()


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
