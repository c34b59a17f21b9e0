"""The process that embeds: it reads its own rows, and writes them or gives them back."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cluster.embed_worker import EncodedElsewhere, parsed_part
from cluster.resources import bound_memory
from nar.corpus import Card, Location, ShardReader, card_of
from nar.encoding.embed import Embedder
from nar.encoding.encoder import Encoder
from nar.index.rows import IndexRow, index_row
from nar.index.settings import IndexConfig

if TYPE_CHECKING:
    from nar.index.collection import Collection


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


@dataclass(frozen=True, slots=True)
class Target:
    """What workers write into by themselves.

    Attributes:
        index: A Milvus server, as every node reaches it.
        collection: Of an `IndexBuild` there.
    """

    index: IndexConfig
    collection: str


class EmbedWorker:
    """Reads parts of a corpus and embeds them; remembers the motifs it has encoded.

    A part is some rows of a shard (`cluster.embed_worker`). The shard that was read last is kept: parts of
    one shard come in order. Graphs are made of the rows of a part alone.

    Args:
        corpus: Where the corpus lies, the same on every node.
        embedder: What embeds: an encoder, or where graphs are encoded that were cut here.
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
        self._file = ""
        self._shard: ShardReader | None = None
        self._staging: Collection | None = None

    def embed(self, part: str) -> EmbeddedPart:
        """Read the architectures of a part and embed them.

        Raises:
            CorpusError: This node does not see the shard, or it is damaged.
        """
        file, rows = parsed_part(part)
        if self._shard is None or file != self._file:
            self._shard, self._file = ShardReader(self._corpus / file), file
        items = self._shard.rows(rows)
        vectors = self._embedder.embed([item.graph for item in items])
        return EmbeddedPart(tuple(map(card_of, items)), vectors)

    def write(self, part: str, target: Target) -> dict[str, str]:
        """Embed a part and write its rows.

        Returns:
            The digest of each row by its id: Milvus has them.

        Raises:
            CorpusError: This node does not see the shard, or it is damaged.
            InvalidInputError: A row cannot be written; none of the part is.
            IndexUnavailableError: This node does not reach Milvus, or Milvus refuses.
        """
        # It imports pymilvus, which takes half a second and is not for those that give rows back.
        from nar.index.bulk import staged, write_staged

        rows = list(self.embed(part).rows())
        if self._staging is None or self._staging.name != target.collection:
            self._staging = staged(target.index, target.collection)
        return write_staged(self._staging, rows, target.index.batch_rows)
