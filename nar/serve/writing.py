"""The methods that write: they put architectures into the index and take them out.

An acknowledged write is in the index even if a process is killed then, and this server finds it.
What was measured on the index before, such as novelty, is not measured again.
"""

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from nar.answers.query import in_place
from nar.base.errors import InvalidQueryError, NarError
from nar.encoding.stored import GraphEmbedder
from nar.graphs.architecture import Architecture
from nar.index.rows import IndexRow, index_row
from nar.serve.calls import StageClock, TimedEmbedder
from nar.serve.items import Items, Looked, rows_of
from nar.v1 import retrieval_pb2 as wire
from nar.wire.queries import check_totals, decode_name
from nar.wire.records import decode_new, encode_architecture


class Written(Looked, Protocol):
    """What writes need of an index: a `Reader` or an `ArchitectureIndex`."""

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Write rows; a row of the same id is replaced."""

    def delete(self, ids: Sequence[str]) -> int:
        """Delete rows."""


class Writes:
    """The methods that write; called from several threads at once.

    Args:
        embedder: Turns graphs into vectors of the index's encoder.
        index: Takes the vectors.
        items: Decodes and encodes the items of calls.
    """

    def __init__(self, embedder: GraphEmbedder, index: Written, items: Items) -> None:
        self._embedder = embedder
        self._index = index
        self._items = items

    def upsert(self, request: wire.UpsertRequest, clock: StageClock) -> wire.UpsertResponse:
        """Embed and write all architectures that can be read, in one write."""
        with clock.stage("parse"):
            graphs = [each.graph for each in request.architectures]
            check_totals("architectures", graphs, self._items.limits)
            decode = partial(decode_new, graph=partial(self._items.graph, clock=clock))
            decoded = self._items.decode("architectures", request.architectures, decode, clock)
        news = _once(decoded, [each.name for each in request.architectures])
        good = [each for each in news if isinstance(each, Architecture)]
        vectors = TimedEmbedder(self._embedder, clock).embed([each.graph for each in good])
        rows = [index_row(*pair) for pair in zip(good, vectors, strict=True)]
        clock.patience.check()
        self._index.upsert(rows)
        results = self._items.encode(
            "Upsert", in_place(news, rows), _encode_written, wire.UpsertResult
        )
        return wire.UpsertResponse(results=results, timings=clock.timings())

    def delete(self, request: wire.DeleteRequest, clock: StageClock) -> wire.DeleteResponse:
        """Delete all architectures that are known, in one write."""
        names = self._items.decode("architectures", request.architectures, decode_name, clock)
        known = rows_of(names, self._index)
        self._index.delete(sorted({row.id for row in known if isinstance(row, IndexRow)}))
        results = self._items.encode("Delete", known, _encode_deleted, wire.DeleteResult)
        return wire.DeleteResponse(results=results)


def _once(
    decoded: Sequence[Architecture | NarError], names: Sequence[str]
) -> list[Architecture | NarError]:
    """Refuse each architecture whose name came before, even where the earlier was refused."""
    first = {name: position for position, name in reversed(list(enumerate(names)))}
    return [
        each
        if isinstance(each, NarError) or first[name] == position
        else _twice(position, first[name])
        for position, (name, each) in enumerate(zip(names, decoded, strict=True))
    ]


def _twice(position: int, earlier: int) -> InvalidQueryError:
    reason = f"architectures[{earlier}] has the same name; send one of them"
    return InvalidQueryError(f"architectures[{position}].name", reason)


def _encode_written(row: IndexRow) -> wire.UpsertResult:
    return wire.UpsertResult(architecture=encode_architecture(row))


def _encode_deleted(row: IndexRow) -> wire.DeleteResult:
    return wire.DeleteResult(architecture=encode_architecture(row))
