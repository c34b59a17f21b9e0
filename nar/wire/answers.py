"""Hits, answers and states as messages: the server encodes them, the client decodes them."""

from collections.abc import Iterable
from typing import Any, Final

from nar.answers.query import Answer
from nar.index.rows import Hit, IndexEntry
from nar.index.state import IndexState
from nar.v1 import retrieval_pb2

# The fields of an Architecture message are those of an IndexEntry.
FIELDS: Final = tuple(field.name for field in retrieval_pb2.Architecture.DESCRIPTOR.fields)


def encode_architecture(entry: IndexEntry) -> retrieval_pb2.Architecture:
    """The message of an indexed architecture."""
    return retrieval_pb2.Architecture(**_values(entry))


def decode_architecture(message: retrieval_pb2.Architecture, score: float = 1.0) -> Hit:
    """The hit of a message; an architecture looked up by name is its own, of score 1."""
    return Hit(**{name: getattr(message, name) for name in FIELDS}, score=score)


def encode_answer(answer: Answer) -> retrieval_pb2.SearchResult:
    """The result of one query that was answered."""
    return retrieval_pb2.SearchResult(
        hits=_encode_hits(answer.hits),
        same_network=_encode_hits(answer.same_network),
        same_at_inference=_encode_hits(answer.same_at_inference),
        same_design=_encode_hits(answer.same_design),
        novelty=answer.novelty,
    )


def decode_answer(message: retrieval_pb2.SearchResult) -> Answer:
    """The answer of a result whose status is OK."""
    return Answer(
        hits=_decode_hits(message.hits),
        same_network=_decode_hits(message.same_network),
        same_at_inference=_decode_hits(message.same_at_inference),
        same_design=_decode_hits(message.same_design),
        novelty=message.novelty if message.HasField("novelty") else None,
    )


def encode_state(state: IndexState, *, takes_writes: bool) -> retrieval_pb2.Index:
    """The message of the state of an index, behind a server that takes writes or none."""
    return retrieval_pb2.Index(
        collection=state.collection,
        is_in_memory=state.is_in_memory,
        is_writable=takes_writes and state.is_writable,
        visible_within_ms=round(1_000 * state.visible_within_s),
    )


def decode_state(message: retrieval_pb2.Index) -> IndexState:
    """The state of a message."""
    return IndexState(
        message.collection,
        is_in_memory=message.is_in_memory,
        is_writable=message.is_writable,
        visible_within_s=message.visible_within_ms / 1_000,
    )


def _decode_hits(messages: Iterable[retrieval_pb2.Hit]) -> tuple[Hit, ...]:
    return tuple(decode_architecture(message.architecture, message.score) for message in messages)


def _values(entry: IndexEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in FIELDS}


def _encode_hits(hits: Iterable[Hit]) -> list[Any]:
    # As a mapping and not as a message, which would be copied: half of the time.
    return [{"architecture": _values(hit), "score": hit.score} for hit in hits]
