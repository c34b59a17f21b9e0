"""Shared motifs as messages: the server encodes them, the client decodes them."""

from collections.abc import Iterable, Sequence

from nar.answers.difference import MotifCounts, MotifDifference
from nar.graphs.architecture import Architecture
from nar.graphs.fingerprints import Fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.index.rows import IndexEntry
from nar.v1 import retrieval_pb2 as wire
from nar.wire.answers import encode_architecture
from nar.wire.graphs import encode_graph

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
