"""Records of architectures as messages: hits, answers, explanations, and what is to be indexed."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, get_args

from nar.answers.difference import MotifCounts, MotifDifference
from nar.answers.query import Answer
from nar.base.errors import InvalidQueryError, at
from nar.graphs.architecture import Architecture, Labels, Tier
from nar.graphs.fingerprints import Fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.index.filters import text_fault
from nar.index.rows import TEXT_BYTES, Hit, IndexEntry, IndexState
from nar.v1 import retrieval_pb2
from nar.v1 import retrieval_pb2 as wire
from nar.wire.graphs import encode_graph

# The fields of an Architecture message are those of an IndexEntry.
FIELDS: Final = tuple(field.name for field in retrieval_pb2.Architecture.DESCRIPTOR.fields)

# What a message says of its architecture besides the graph; the block stands outside of `Labels`.
LABELS: Final = tuple(name for name in TEXT_BYTES if name != "block")
_TIERS: Final[tuple[Tier, ...]] = get_args(Tier)


def encode_architecture(entry: IndexEntry) -> retrieval_pb2.Architecture:
    """The message of an indexed architecture."""
    return retrieval_pb2.Architecture(**_values(entry))


def decode_architecture(message: retrieval_pb2.Architecture, score: float = 1.0) -> Hit:
    """The hit of a message; an architecture that was looked up by name has score 1."""
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


def encode_new(item: Architecture) -> wire.NewArchitecture:
    """The message of an architecture that is to be indexed."""
    labels = {name: getattr(item.labels, name) for name in LABELS}
    return wire.NewArchitecture(block=item.block, graph=encode_graph(item.graph), **labels)


def decode_new(
    message: wire.NewArchitecture, graph: Callable[[wire.Graph], Fingerprinted]
) -> Architecture:
    """The architecture of a message; its texts are as long as the index can hold them.

    Args:
        message: As it came.
        graph: Decodes its graph.

    Raises:
        InvalidInputError: Its field is a path from the message: ``graph.nodes[7]``.
    """
    if not message.name:
        raise InvalidQueryError("name", "wanted a name, came none")
    for column, limit in TEXT_BYTES.items():
        fault = text_fault(getattr(message, column), limit)
        if fault:
            raise InvalidQueryError(column, fault)
    tier = _tier(message.tier)
    with at("graph"):
        drawn = graph(message.graph)
    labels = {name: getattr(message, name) for name in LABELS}
    return Architecture(
        Labels(**labels | {"tier": tier}),
        message.block,
        drawn.graph,
        drawn.topology,
        drawn.exact,
        drawn.inference,
    )


def _tier(sent: str) -> Tier:
    """What a message says of how a model comes about; older clients say nothing."""
    for tier in _TIERS:
        if sent in (tier, ""):
            return tier
    raise InvalidQueryError("tier", f"wanted {', '.join(_TIERS)} or none, came {sent!r}")


Compared = Architecture | Fingerprinted | ComputationalGraph | str


def encode_request(target: Compared, others: Sequence[str]) -> wire.ExplainRequest:
    """The message that asks what a graph, or an indexed architecture, shares with others."""
    if isinstance(target, str):
        return wire.ExplainRequest(architecture=target, others=others)
    graph = target if isinstance(target, ComputationalGraph) else target.graph
    return wire.ExplainRequest(graph=encode_graph(graph), others=others)


def encode_explanation(other: IndexEntry, motifs: MotifDifference) -> wire.ExplainResult:
    """The result of one comparison, of the target with another architecture."""
    target_share, other_share = motifs.in_shared
    return wire.ExplainResult(
        architecture=encode_architecture(other),
        shared=map(_encode_counts, motifs.shared),
        different=map(_encode_counts, motifs.other),
        target_share=target_share,
        other_share=other_share,
        at_inference=motifs.at_inference,
    )


def decode_explanation(message: wire.ExplainResult) -> MotifDifference:
    """What the target, which is the first, shares with the other, of a result that is OK."""
    return MotifDifference(
        shared=_decode_counts(message.shared),
        other=_decode_counts(message.different),
        at_inference=message.at_inference,
    )


def _encode_counts(motif: MotifCounts) -> wire.MotifCounts:
    return wire.MotifCounts(
        code=motif.code, operators=motif.operators, in_target=motif.first, in_other=motif.second
    )


def _decode_counts(messages: Iterable[wire.MotifCounts]) -> tuple[MotifCounts, ...]:
    return tuple(
        MotifCounts(each.code, tuple(each.operators), each.in_target, each.in_other)
        for each in messages
    )
