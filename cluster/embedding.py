"""Embedding on the cluster: the shards of a corpus become one index.

Actors read their parts of the corpus and embed them. This process alone owns the index, and no
graph comes through it: it knows names, and writes rows. It fills a collection that no reader sees
yet and that knows the rows it has acknowledged: a job that was killed goes on with the rows that
are missing, and a job that is repeated has nothing to do. Readers see the new collection when it is
complete and verified.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import ray
from numpy.typing import NDArray

from cluster.actors import ActorPool, Recruiter, starter
from cluster.config import EmbedConfig
from cluster.items import Failed, Item
from cluster.ledger import digest
from cluster.resources import bound_memory, pool_size, worker_share
from nar.architecture import Architecture
from nar.config import IndexConfig
from nar.console import progress
from nar.corpus import Card, card_of, iterate_names, read_shard
from nar.corpus.manifest import Manifest
from nar.encoding.checkpoint import fingerprint, load_checkpoint
from nar.encoding.embed import Embedder
from nar.encoding.encoder import Encoder
from nar.errors import InvalidInputError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import IndexBuild
from nar.index.rows import IndexRow, architecture_id, index_row
from nar.novelty import keep_novelty
from nar.workspace import Workspace

JOB_LETTERS = 16


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedPart:
    """What becomes of the rows of a part; their graphs stay where they were read.

    Attributes:
        cards: Of the architectures.
        vectors: Shape (architectures, dim).
    """

    cards: tuple[Card, ...]
    vectors: NDArray[np.float32]

    def rows(self) -> Iterator[IndexRow]:
        """The rows to write."""
        return map(index_row, self.cards, self.vectors)


class EmbedWorker:
    """Reads parts of a corpus and embeds them; remembers the motifs it has encoded.

    A part is a slice of a shard's rows, as ``file#low:high``. The shard that was read last is kept:
    parts of one shard come in order.

    Args:
        corpus: Directory of the corpus, the same on every node.
        encoder: What embeds.
        memory_limit_bytes: Private memory that the process may have; None sets no bound.
    """

    def __init__(self, corpus: Path, encoder: Encoder, memory_limit_bytes: int | None) -> None:
        bound_memory(memory_limit_bytes)
        self._corpus = corpus
        self._embedder = Embedder(encoder)
        self._shard: tuple[str, list[Architecture]] = ("", [])

    def embed(self, part: str) -> EmbeddedPart:
        """Read the architectures of a part and embed them.

        Raises:
            CorpusError: This node does not see the shard, or it is damaged.
        """
        file, rows = parsed_part(part)
        if file != self._shard[0]:
            self._shard = (file, read_shard(self._corpus / file))
        items = self._shard[1][rows]
        vectors = self._embedder.embed([item.graph for item in items])
        return EmbeddedPart(tuple(map(card_of, items)), vectors)


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
    corpus = workspace.corpus.absolute()
    start = starter(EmbedWorker, share, corpus, ray.put(encoder), config.memory_limit_bytes)
    with (
        ArchitectureIndex(index_config) as index,
        index.build(code, encoder.config.dim, job=job) as build,
    ):
        before = len(build.ids)
        recruiter: Recruiter[EmbeddedPart] = Recruiter(
            start, lambda worker, part: worker.embed.remote(part)
        )
        parts = _missing(corpus, build.ids, config.part_rows)
        spoilt = _embed_all(ActorPool(recruiter, workers, config), build, parts)
        failures = _named(corpus, spoilt)
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
    # No graph is parsed to learn a name.
    for entry, names in iterate_names(corpus):
        wanted = list(map(architecture_id, names))
        for low in range(0, len(wanted), part_rows):
            part = wanted[low : low + part_rows]
            if not ids.issuperset(part):
                parts[named_part(entry.file, low, low + len(part))] = len(part)
    return parts


def _embed_all(
    pool: ActorPool[EmbeddedPart], build: IndexBuild, parts: dict[str, int]
) -> list[Failed]:
    """Embed parts; of one that fails, each row by itself. What could not be embedded of those."""
    with progress("embedding", sum(parts.values())) as advance:
        spoilt = _embed_parts(pool, build, list(parts), advance)
        rows = [row for part in spoilt for row in _rows_of(part.key)]
        return _embed_parts(pool, build, rows, advance)


def _rows_of(part: str) -> list[str]:
    file, rows = parsed_part(part)
    return [named_part(file, row, row + 1) for row in range(rows.start, rows.stop)]


def _embed_parts(
    pool: ActorPool[EmbeddedPart],
    build: IndexBuild,
    parts: Sequence[str],
    advance: Callable[[int], None],
) -> list[Failed]:
    """Embed parts, and write what comes back; those that failed."""
    failed = []
    # A worker keeps to its shard, so that not every one of them reads it.
    for outcome in pool.run([Item(part, group=parsed_part(part)[0]) for part in parts]):
        if isinstance(outcome, Failed):
            failed.append(outcome)
            continue
        try:
            build.load(outcome.value.rows())
            advance(len(outcome.value.cards))
        except InvalidInputError as error:
            failed.append(Failed(outcome.key, error))
    return failed


def _named(corpus: Path, rows: Sequence[Failed]) -> dict[str, str]:
    """Why each of some rows is not in the index, by the name of its architecture."""
    of_file: defaultdict[str, dict[int, Exception]] = defaultdict(dict)
    for row in rows:
        file, position = parsed_part(row.key)
        of_file[file][position.start] = row.error
    return {
        names[row]: str(error)
        for entry, names in (iterate_names(corpus) if rows else ())
        for row, error in sorted(of_file[entry.file].items())
    }
