"""Capture on the cluster: a selection of models into the shards of a corpus.

Actors capture; the driver writes shards of fixed content, so that any number of workers, and a
job that was killed and goes on, make the same files.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from cluster.actors import ActorPool, Recruiter, starter
from cluster.config import ExtractConfig
from cluster.items import Failed, Item
from cluster.ledger import Ledger, digest
from cluster.resources import Share, bound_memory, pool_size, worker_share
from cluster.shards import Shard, ShardRecord, ShardStore, cut, is_held, manifest_of
from nar.console import progress
from nar.corpus import SCHEMA_VERSION
from nar.errors import CaptureError, ConfigError, NarError
from nar.manifest import FILE_NAME, Failure, Manifest
from nar.workspace import Workspace
from nar.zoo import ZooCapture, capture_architecture

PACKAGES = ("nar", "timm", "torch", "torchvision", "transformers")


class CaptureWorker:
    """Captures models; lives long, because importing a model library takes seconds."""

    def __init__(self, memory_limit_bytes: int | None) -> None:
        bound_memory(memory_limit_bytes)

    def capture(self, name: str) -> ZooCapture:
        """Capture one model."""
        return capture_architecture(name)


@dataclass(frozen=True, slots=True)
class ExtractReport:
    """What an extraction left behind.

    Attributes:
        directory: Of the corpus.
        manifest: Of the corpus.
        kept: Shards that an earlier run had finished.
        written: Shards that this run wrote.
    """

    directory: Path
    manifest: Manifest
    kept: int
    written: int


def extract(
    names: Sequence[str], workspace: Workspace, config: ExtractConfig, *, restart: bool = False
) -> ExtractReport:
    """Capture models on the connected cluster, shard by shard.

    Args:
        names: Specs, in any order.
        workspace: Gets ``corpus/`` and ``ledger/extract/``.
        config: Sizes of the workers and of the shards.
        restart: Forget what an earlier job left there.

    Raises:
        ConfigError: The workspace holds the corpus of another selection, or of other versions.
        WorkerStartError: The cluster has no room.
    """
    started = time.monotonic()
    shards = cut(names, config.shard_size)
    ledger = Ledger(workspace.root / "ledger" / "extract", ShardRecord)
    _begin(ledger, shards, workspace.corpus, restart=restart)
    store = ShardStore(workspace.corpus, ledger)
    records = {shard.part: record for shard in shards if (record := store.finished(shard))}
    missing = [shard for shard in shards if shard.part not in records]
    workers = 0
    if missing:
        share = worker_share(config)
        workers = pool_size(config, share)
        pool = ActorPool(_recruiter(config, share), workers, config)
        records |= _capture_all(pool, missing, store)
    seconds = round(time.monotonic() - started, 3)
    manifest = manifest_of(workspace.corpus, [records[shard.part] for shard in shards], versions())
    if missing or not is_held(manifest, workspace.corpus):
        timed = {"seconds": seconds, "workers": workers}
        manifest.model_copy(update=timed).write(workspace.corpus)
    held = Manifest.read(workspace.corpus)
    return ExtractReport(workspace.corpus, held, len(shards) - len(missing), len(missing))


def _begin(
    ledger: Ledger[ShardRecord], shards: Sequence[Shard], corpus: Path, *, restart: bool
) -> None:
    """Make sure that what lies in the corpus directory is of this job and no other."""
    way_out = "pass --restart to replace its corpus, or another --work"
    if restart:
        for path in (*corpus.glob(FILE_NAME), *corpus.glob("shard-*.parquet")):
            path.unlink()
        ledger.clear()
    elif ledger.job() is None and (corpus / FILE_NAME).exists():
        raise ConfigError(f"{corpus} holds a corpus without its ledger; {way_out}")
    ledger.begin(_job(shards), way_out=way_out)
    corpus.mkdir(parents=True, exist_ok=True)


def _job(shards: Sequence[Shard]) -> str:
    """Digest of all that decides the files: selection, cut, schema, libraries, users' files."""
    files = {Path(name.rpartition(":")[0]) for shard in shards for name in shard.names}
    contents = [sha256(file.read_bytes()).hexdigest() for file in sorted(files) if file.is_file()]
    selection = [digest(*shard.names) for shard in shards]
    return digest(str(SCHEMA_VERSION), *map(str, versions().items()), *selection, *contents)


def _recruiter(config: ExtractConfig, share: Share) -> Recruiter[ZooCapture]:
    return Recruiter(
        start=starter(CaptureWorker, share, config.memory_limit_bytes),
        ask=lambda worker, name: worker.capture.remote(name),
    )


def _capture_all(
    pool: ActorPool[ZooCapture], shards: Sequence[Shard], store: ShardStore
) -> dict[str, ShardRecord]:
    """Capture every model of the shards; their records by part."""
    home = {name: shard for shard in shards for name in shard.names}
    items = [Item(name, group=name.partition(":")[0]) for name in home]
    records = {}
    with progress("capturing", len(items)) as advance:
        for outcome in pool.run(items):
            result = _failure(outcome) if isinstance(outcome, Failed) else outcome.value
            shard = home[outcome.key]
            record = store.settle(shard, outcome.key, result)
            if record is not None:
                records[shard.part] = record
            advance(1)
    return records


def _failure(outcome: Failed) -> Failure:
    error = outcome.error
    if isinstance(error, CaptureError):
        return Failure(name=outcome.key, operator=error.operator, reason=error.reason)
    text = str(error) if isinstance(error, NarError) else f"{type(error).__name__}: {error}"
    return Failure(name=outcome.key, operator="-", reason=text.strip().partition("\n")[0])


def versions() -> dict[str, str]:
    """Version of each library that decides what a capture gives, if it is installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
