"""A corpus of as many DARTS networks as wanted: each worker draws and writes whole shards.

Networks that NAR draws itself need no journal: a shard is drawn again in seconds, and none of its
models takes a worker down. So only names of files come through the driver, and its memory does not
grow with the corpus, but for 16 bytes a network by which different networks are counted.
"""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nar.base.console import progress
from nar.base.files import remove_parts
from nar.base.workspace import Workspace
from nar.capture import CAPTURE_VERSION
from nar.corpus import write_shard
from nar.corpus.columns import prefixes_of
from nar.corpus.manifest import FILE_NAME, Counts, Manifest, ShardEntry, SourceCounts, Totals
from nar.corpus.shards import FAST, parsed, shard_bytes
from nar.own import capture_architecture
from nar.zoo.sources.darts.models import DARTS
from nar.zoo.sources.darts.sampling import spread

from .actors import ActorPool, Failed, Item, WorkerKind, starter
from .config import ExtractConfig
from .ledger import Ledger, Record, digest, file_digest
from .provenance import files_identity, identity, packages
from .resources import cluster_totals, pool_size, worker_share
from .telemetry import job_telemetry


class DrawnRecord(Record):
    """A shard that was drawn.

    Attributes:
        identity: Digest of everything that decides its bytes.
        entry: Its file, rows and digest.
    """

    identity: str
    entry: ShardEntry


class DrawWorker:
    """Draws networks and writes them as shards.

    Args:
        corpus: Directory of the corpus, the same on every node.
    """

    def __init__(self, corpus: Path) -> None:
        self._corpus = corpus

    def draw(self, part: str) -> ShardEntry:
        """Write the shard of a part, which reads ``start-stop``."""
        start, stop = map(int, part.split("-"))
        names = [f"{DARTS.name}:{genotype}" for genotype in spread(start, stop)]
        rows = [capture_architecture(name).architecture for name in names]
        return write_shard(self._corpus / _file_of(part), rows, level=FAST)


def _file_of(part: str) -> str:
    return f"{DARTS.name}-{part}.parquet"


def draw(count: int, workspace: Workspace, config: ExtractConfig) -> Manifest:
    """Make a corpus of DARTS networks that are spread evenly over their space.

    Args:
        count: How many networks; a smaller count gives the beginning of a larger corpus.
        workspace: Gets ``corpus/`` and ``ledger/draw/``; another corpus there is replaced.
        config: Sizes of workers and shards.

    Raises:
        WorkerStartError: The cluster has no room.
    """
    started = time.monotonic()
    corpus = workspace.corpus.absolute()
    corpus.mkdir(parents=True, exist_ok=True)
    remove_parts(corpus)
    ledger = Ledger(workspace.root / "ledger" / "draw", DrawnRecord)
    rows = config.shard_size
    parts = [f"{start:09d}-{min(start + rows, count):09d}" for start in range(0, count, rows)]
    code = digest(identity(f"{DARTS.name}:{DARTS.example}"), files_identity())
    missing = [part for part in parts if not _is_whole(ledger.find(part), code, corpus)]
    if missing or not _is_known(corpus, parts):
        # While the directory changes it has no manifest: a reader finds no corpus rather than a
        # damaged corpus.
        (corpus / FILE_NAME).unlink(missing_ok=True)
    share = worker_share(config)
    size = pool_size(config, share)
    kind: WorkerKind[ShardEntry] = WorkerKind(
        starter(DrawWorker, share, corpus), lambda worker, part: worker.draw.remote(part)
    )
    # A worker keeps nothing of the shards that it has drawn, so that it need not be replaced.
    pool = ActorPool(kind, size, config.model_copy(update={"items_per_process": None}))
    with progress("drawing", len(missing)) as advance, job_telemetry("draw") as telemetry:
        telemetry.total = sum(map(_rows_of, missing))
        telemetry.shards = {
            "kept": len(parts) - len(missing),
            "written": 0,
            "waiting": len(missing),
        }
        for outcome in pool.run([Item(part) for part in missing]):
            if isinstance(outcome, Failed):
                raise outcome.error
            ledger.add(outcome.key, DrawnRecord(identity=code, entry=outcome.value))
            advance(1)
            telemetry.shards["written"] += 1
            telemetry.shards["waiting"] -= 1
            telemetry.count("drawn", outcome.value.rows)
    records = [record for part in parts if (record := ledger.find(part)) is not None]
    entries = tuple(record.entry for record in records)
    manifest = _manifest(corpus, entries, time.monotonic() - started, size())
    _remove_others(corpus, entries)
    manifest.write(corpus)
    return manifest


def _is_known(corpus: Path, parts: Sequence[str]) -> bool:
    """Whether the directory holds no shard beside those of the parts."""
    return {path.name for path in corpus.glob("*.parquet")} <= set(map(_file_of, parts))


def _remove_others(corpus: Path, entries: Iterable[ShardEntry]) -> None:
    """Remove the shards of a former corpus."""
    kept = {entry.file for entry in entries}
    for path in corpus.glob("*.parquet"):
        if path.name not in kept:
            path.unlink()


def _rows_of(part: str) -> int:
    start, stop = map(int, part.split("-"))
    return stop - start


def _is_whole(record: DrawnRecord | None, code: str, corpus: Path) -> bool:
    if record is None or record.identity != code:
        return False
    return file_digest(corpus / record.entry.file) == record.entry.sha256


def _manifest(
    corpus: Path, entries: tuple[ShardEntry, ...], seconds: float, workers: int
) -> Manifest:
    rows = sum(entry.rows for entry in entries)
    shards = [_prefixes(corpus / entry.file) for entry in entries]
    exact, topology = (len(np.unique(np.concatenate(each))) for each in zip(*shards, strict=True))
    counts = Counts(raw=rows, exact=exact, topology=topology)
    tiers = {"named": counts}
    source = SourceCounts(**dict(counts), failed=0, tiers=tiers)
    return Manifest(
        packages=packages({DARTS.name}),
        capture_version=CAPTURE_VERSION,
        shards=entries,
        sources={DARTS.name: source},
        totals=Totals(everything=counts, headline=counts, tiers=tiers),
        seconds=round(seconds, 3),
        workers=workers,
        cores=int(cluster_totals().get("CPU", 0.0)),
    )


def _prefixes(path: Path) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The first eight bytes of the exact fingerprint and of the topology of each row."""
    columns = ("exact", "topology")
    table = parsed(path, shard_bytes(path), lambda table: table, columns=columns)
    exact, topology = (prefixes_of(table.column(name)) for name in columns)
    return exact, topology
