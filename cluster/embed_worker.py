"""The processes that embed: each reads its rows, embeds them, and writes or returns them.

One worker cuts graphs and encodes them, unless `embed: encoders:` of the cluster's sizes
names processes that encode; their labels and GPUs say on which nodes they run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
from numpy.typing import NDArray
from ray.actor import ActorHandle
from ray.exceptions import RayError, RayTaskError

from nar.corpus import Card, Location, ShardReader, card_of
from nar.encoding.embed import NODES_A_PASS, Embedder
from nar.encoding.registry import Encoder
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ragged import slices_within
from nar.index.rows import IndexRow, index_row
from nar.index.settings import IndexConfig
from nar.motifs.config import MotifConfig
from nar.motifs.partition import MotifPartition, split_all

from .actors import START_LIMIT_S
from .config import WorkerConfig
from .resources import WorkerStartError, bound_memory, check_room, worker_share

if TYPE_CHECKING:
    from nar.index.collection import Collection


def named_part(file: str, rows: NDArray[np.intp] | Sequence[int]) -> str:
    """Name of rows of a shard, given in ascending order: their runs, each end left out.

    Example:
        >>> named_part("timm-00000.parquet", [0, 1, 2, 7])
        'timm-00000.parquet#0:3,7:8'
    """
    ascending = np.asarray(rows)
    breaks = np.flatnonzero(np.diff(ascending) > 1) + 1
    lows = ascending[[0, *breaks]].tolist()
    highs = (ascending[[*(breaks - 1), -1]] + 1).tolist()
    return f"{file}#{','.join(f'{low}:{high}' for low, high in zip(lows, highs, strict=True))}"


def file_of(part: str) -> str:
    """File of a part."""
    return part.rpartition("#")[0]


def parsed_part(part: str) -> tuple[str, list[int]]:
    """File and rows of a part's name.

    Example:
        >>> parsed_part("timm-00000.parquet#0:3,7:8")
        ('timm-00000.parquet', [0, 1, 2, 7])
    """
    runs = part.rpartition("#")[2]
    ends = (run.split(":") for run in runs.split(","))
    return file_of(part), [row for low, high in ends for row in range(int(low), int(high))]


def missing_parts(file: str, are_there: NDArray[np.bool_], part_rows: int) -> Iterator[str]:
    """Parts of a shard with the rows that an index lacks.

    Args:
        file: File of the shard.
        are_there: Whether the index has each row. Shape (rows,).
        part_rows: The most rows of a part.
    """
    rows = np.flatnonzero(~are_there)
    for low in range(0, len(rows), part_rows):
        yield named_part(file, rows[low : low + part_rows])


class EncodeWorker:
    """Encodes graphs that other workers have cut; on a GPU if it has reserved one.

    Args:
        encoder: The encoder.
    """

    def __init__(self, encoder: Encoder) -> None:
        encoder.to(None)
        self._encoder = encoder

    def encode(self, partitions: Sequence[MotifPartition]) -> NDArray[np.float32]:
        """Unit vectors of cut graphs: shape (graphs, dim)."""
        return self._encoder.encode(partitions)


def start_encoders(
    encoder: "ray.ObjectRef[Encoder]", config: WorkerConfig, count: int
) -> list[ActorHandle[Any]]:
    """Start processes that encode. They keep no state, so Ray itself restarts a lost process.

    Args:
        encoder: The encoder.
        config: The resources that each process reserves, and the labels of its node.
        count: How many processes.

    Raises:
        NoRoomError: The nodes with these labels cannot hold them.
        WorkerStartError: They do not start, or other processes have their places.
    """
    share = worker_share(config)
    check_room(share, count)
    options = {**share.options(), "max_restarts": -1, "max_task_retries": -1}
    actor: Any = ray.remote(EncodeWorker).options(**options)
    encoders = [actor.remote(encoder) for _ in range(count)]
    try:
        # Wait here, or the workers that cut would take their places, and then wait for them.
        ray.get([each.__ray_ready__.remote() for each in encoders], timeout=START_LIMIT_S)
    except RayError as error:
        raise WorkerStartError(
            f"the processes that encode do not start; free the cluster: {error}"
        ) from error
    return encoders


class EncodedElsewhere:
    """Embeds as an `Embedder` does: cuts graphs here, and has them encoded by other processes.

    Args:
        motifs: The settings by which the encoder wants graphs cut.
        encoder: A reference to the encoder, kept so that a restarted process can read it again.
        encoders: The processes of `start_encoders`; they are asked in turn.
    """

    def __init__(
        self,
        motifs: MotifConfig,
        encoder: "ray.ObjectRef[Encoder]",
        encoders: Sequence[ActorHandle[Any]],
    ) -> None:
        self._motifs, self._encoder = motifs, encoder
        self._encoders = tuple(encoders)
        self._turn = 0

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Shape (graphs, dim), every row of length 1.

        Raises:
            WorkerStartError: A process that encodes was lost and does not start again.
        """
        # The next batch of graphs is cut while the batch before is encoded.
        encoded = [
            self._next().encode.remote(split_all(graphs[part], self._motifs))
            for part in slices_within([graph.nodes for graph in graphs], NODES_A_PASS)
        ]
        try:
            return np.concatenate(ray.get(encoded))
        except RayTaskError:
            raise  # the encoder's own error about these graphs
        except RayError as error:
            reason = str(error).strip().partition("\n")[0]
            raise WorkerStartError(
                f"a process that encodes does not start: {reason}; run again"
            ) from error

    def _next(self) -> ActorHandle[Any]:
        self._turn = (self._turn + 1) % len(self._encoders)
        return self._encoders[self._turn]


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedPart:
    """The embedded rows of a part; their graphs stay in the process that read them.

    Attributes:
        cards: Cards of the architectures.
        vectors: Shape (architectures, dim).
    """

    cards: tuple[Card, ...]
    vectors: NDArray[np.float32]

    def rows(self) -> Iterator[IndexRow]:
        """The rows to write."""
        return map(index_row, self.cards, self.vectors)


@dataclass(frozen=True, slots=True)
class StagingTarget:
    """The collection that workers write into by themselves.

    Attributes:
        index: A Milvus server, as every node reaches it.
        collection: Name of the collection that an `IndexBuild` fills there.
    """

    index: IndexConfig
    collection: str


class EmbedWorker:
    """Reads parts of a corpus and embeds them; remembers the motifs it has encoded.

    A part is some rows of a shard. The shard that was read last is kept, because parts of one shard
    come in order. Graphs are made only from the rows of a part.

    Args:
        corpus: Where the corpus lies, the same on every node.
        embedder: An encoder, or an `EncodedElsewhere` that has other processes encode.
        memory_limit_bytes: Private memory that the process may have; None sets no bound.
    """

    def __init__(
        self,
        corpus: Location,
        embedder: Encoder | EncodedElsewhere,
        memory_limit_bytes: int | None,
    ) -> None:
        bound_memory(memory_limit_bytes)
        self._corpus = corpus
        self._embedder = embedder if isinstance(embedder, EncodedElsewhere) else Embedder(embedder)
        self._shard_is = ("", "")
        self._shard: ShardReader | None = None
        self._staging: Collection | None = None

    def embed(self, part: str, shard: str) -> EmbeddedPart:
        """Read the architectures of a part and embed them.

        Args:
            part: Its name.
            shard: Sha256 of its shard by the manifest with which the job began.

        Raises:
            CorpusError: This node does not see the shard, or it is damaged.
            ShardChangedError: The corpus has changed since the job began.
        """
        file, rows = parsed_part(part)
        if self._shard is None or (file, shard) != self._shard_is:
            self._shard = ShardReader(self._corpus / file, shard)
            self._shard_is = (file, shard)
        items = self._shard.rows(rows)
        vectors = self._embedder.embed([item.graph for item in items])
        return EmbeddedPart(tuple(map(card_of, items)), vectors)

    def write(self, part: str, shard: str, target: StagingTarget) -> bytes:
        """Embed a part and write its rows.

        Returns:
            Ids and digests of the rows by `packed_rows`, as Milvus acknowledged them.

        Raises:
            CorpusError: This node does not see the shard, or it is damaged.
            InvalidInputError: A row cannot be written; no row of the part is written.
            IndexUnavailableError: This node does not reach Milvus, or Milvus refuses.
        """
        # This imports pymilvus, which takes half a second; workers that return rows do without it.
        from nar.index.bulk import staged, write_staged

        rows = list(self.embed(part, shard).rows())
        if self._staging is None or self._staging.name != target.collection:
            self._staging = staged(target.index, target.collection)
        return write_staged(self._staging, rows, target.index.batch_rows)
