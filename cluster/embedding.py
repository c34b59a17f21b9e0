"""Embedding on the cluster: the shards of a corpus become one index.

Actors embed, and this process alone owns the index. It fills a collection that no reader sees yet
and that knows the rows it has acknowledged: a job that was killed goes on with the rows that are
missing, and a job that is repeated has nothing to do. Readers see the new collection when it is
complete and verified.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import ray
from numpy.typing import NDArray
from ray.actor import ActorHandle

from cluster.actors import ActorPool, Recruiter, starter
from cluster.config import EmbedConfig
from cluster.items import Done, Failed, Item
from cluster.ledger import digest
from cluster.resources import bound_memory, pool_size, worker_share
from nar.architecture import Architecture
from nar.config import IndexConfig
from nar.console import progress
from nar.corpus import iterate_cards, read_shard
from nar.corpus.manifest import Manifest
from nar.encoding.checkpoint import fingerprint, load_checkpoint
from nar.encoding.embed import Embedder
from nar.encoding.encoder import Encoder
from nar.errors import InvalidInputError
from nar.graph import ComputationalGraph
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import IndexBuild
from nar.index.rows import architecture_id, index_row
from nar.novelty import keep_novelty
from nar.workspace import Workspace

Vectors = NDArray[np.float32]
JOB_LETTERS = 16


class EmbedWorker:
    """Embeds graphs; remembers the motifs it has encoded."""

    def __init__(self, encoder: Encoder, memory_limit_bytes: int | None) -> None:
        bound_memory(memory_limit_bytes)
        self._embedder = Embedder(encoder)

    def embed(self, graphs: Sequence[ComputationalGraph]) -> Vectors:
        """Embed graphs: shape (graphs, dim)."""
        return self._embedder.embed(graphs)


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What an embedding left behind.

    Attributes:
        uri: Where the index is.
        encoder: Fingerprint of the encoder.
        rows: Rows of the published collection.
        embedded: Rows that this run embedded.
        failures: Names of architectures that are not in the index, with the reason.
        seconds: Wall time, from the corpus to the published collection.
        workers: Processes that shared it.
    """

    uri: str
    encoder: str
    rows: int
    embedded: int
    failures: dict[str, str]
    seconds: float
    workers: int


class Desk:
    """Hands parts of the corpus to workers, and writes to the index what comes back.

    A part is a slice of a shard's rows, as ``file#low:high``. The shard that was read last is kept:
    parts come in order.

    Args:
        corpus: Directory of the corpus.
        build: The collection to fill.
    """

    def __init__(self, corpus: Path, build: IndexBuild) -> None:
        self._corpus = corpus
        self._build = build
        self._lent: dict[str, list[Architecture]] = {}
        self._shard: tuple[str, list[Architecture]] = ("", [])

    def read(self, part: str) -> list[Architecture]:
        """The architectures of a part."""
        file, rows = parsed_part(part)
        if file != self._shard[0]:
            self._shard = (file, read_shard(self._corpus / file))
        return self._shard[1][rows]

    def lend(self, worker: ActorHandle[EmbedWorker], part: str) -> "ray.ObjectRef[Vectors]":
        """Ask a worker for the vectors of a part, whose rows are kept until they come."""
        self._lent[part] = self.read(part)
        return worker.embed.remote([item.graph for item in self._lent[part]])

    def take(self, outcome: Done[Vectors] | Failed) -> int:
        """Write what became of a part; when this returns, its rows are acknowledged.

        Returns:
            How many there were.

        Raises:
            InvalidInputError: The index takes no such row; it names the field at fault.
        """
        rows = self._lent.pop(outcome.key)
        if isinstance(outcome, Failed):
            return 0
        pairs = zip(rows, outcome.value, strict=True)
        self._build.load(index_row(item, vector) for item, vector in pairs)
        return len(rows)


def named_part(file: str, low: int, high: int) -> str:
    """Name of the rows of a shard from ``low`` to before ``high``."""
    return f"{file}#{low}:{high}"


def parsed_part(part: str) -> tuple[str, slice]:
    """File and rows of a part's name."""
    file, _, rows = part.partition("#")
    low, _, high = rows.partition(":")
    return file, slice(int(low), int(high))


def embed(workspace: Workspace, index_config: IndexConfig, config: EmbedConfig) -> EmbedReport:
    """Embed a corpus on the connected cluster and publish it as the index.

    Args:
        workspace: Has ``corpus/`` and ``checkpoint/``; gets ``novelty.json``.
        index_config: Where the index is.
        config: Sizes of the workers.

    Raises:
        CorpusError: The corpus is missing or damaged.
        CheckpointError: The checkpoint is missing or damaged.
        IndexUnavailableError: The index does not answer, or another process holds it.
        WorkerStartError: The cluster has no room.
    """
    started = time.monotonic()
    encoder = load_checkpoint(workspace.checkpoint)
    code, job = fingerprint(encoder), _job(workspace.corpus)
    share = worker_share(config)
    workers = pool_size(config, share)
    start = starter(EmbedWorker, share, ray.put(encoder), config.memory_limit_bytes)
    with (
        ArchitectureIndex(index_config) as index,
        index.build(code, encoder.config.dim, job=job) as build,
    ):
        desk = Desk(workspace.corpus, build)
        before = len(build.ids)
        pool = ActorPool(Recruiter(start, desk.lend), workers, config)
        parts = _missing(workspace.corpus, build.ids, config.part_rows)
        failures = _embed_all(pool, desk, parts)
        rows = build.publish()
        keep_novelty(index, workspace.novelty, encoder=code)
    seconds = round(time.monotonic() - started, 3)
    return EmbedReport(index_config.uri, code, rows, rows - before, failures, seconds, workers)


def _job(corpus: Path) -> str:
    """Name of the build: the same shards belong to the same build."""
    return digest(*(entry.sha256 for entry in Manifest.read(corpus).shards))[:JOB_LETTERS]


def _missing(corpus: Path, ids: frozenset[str], part_rows: int) -> dict[str, int]:
    """Parts with a row that is not acknowledged yet, and how many rows each has."""
    parts = {}
    # Cards stand in the order of the shards; no graph is parsed to learn a name.
    ids_in_order = (architecture_id(card.labels.name) for card in iterate_cards(corpus))
    for entry in Manifest.read(corpus).shards:
        wanted = list(islice(ids_in_order, entry.rows))
        for low in range(0, len(wanted), part_rows):
            part = wanted[low : low + part_rows]
            if not ids.issuperset(part):
                parts[named_part(entry.file, low, low + len(part))] = len(part)
    return parts


def _embed_all(pool: ActorPool[Vectors], desk: Desk, parts: dict[str, int]) -> dict[str, str]:
    """Embed parts; of one that fails, each row by itself. The reason for each row that is lost."""
    with progress("embedding", sum(parts.values())) as advance:
        spoilt = _embed_parts(pool, desk, list(parts), advance)
        rows = [row for part in spoilt for row in _rows_of(part.key)]
        lost = _embed_parts(pool, desk, rows, advance)
    return {desk.read(part.key)[0].labels.name: str(part.error) for part in lost}


def _rows_of(part: str) -> list[str]:
    file, rows = parsed_part(part)
    return [named_part(file, row, row + 1) for row in range(rows.start, rows.stop)]


def _embed_parts(
    pool: ActorPool[Vectors], desk: Desk, parts: Sequence[str], advance: Callable[[int], None]
) -> list[Failed]:
    failed = []
    for outcome in pool.run([Item(part) for part in parts]):
        try:
            advance(desk.take(outcome))
        except InvalidInputError as error:
            failed.append(Failed(outcome.key, error))
        if isinstance(outcome, Failed):
            failed.append(outcome)
    return failed
