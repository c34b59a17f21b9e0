"""Judging: whether what a server answered to some bytes may stand.

Written from the contract, and apart from the server: what is answered with OK is checked for
itself. Hits of vectors are compared with a product of numpy now and then.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

import grpc
import numpy as np
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from benchmark.campaigns.contract import (
    TOLERANCE,
    Known,
    is_direction,
    is_filter,
    is_graph,
    is_known,
    is_nearest,
    passes,
)
from benchmark.campaigns.messages import METHODS
from nar.index.rows import architecture_id
from nar.v1 import retrieval_pb2 as wire

INVALID: Final[int] = grpc.StatusCode.INVALID_ARGUMENT.value[0]
NOT_FOUND: Final[int] = grpc.StatusCode.NOT_FOUND.value[0]
ITEM_CODES: Final = {0, INVALID, NOT_FOUND}
# A caller of nonsense may also come too early again.
CALL_CODES: Final = {INVALID, grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]}


def fault_of(
    known: Known, method: str, sent: bytes, code: int, answer: bytes, *, deep: bool = False
) -> str | None:
    """What is wrong with an answer; None if it may stand.

    Args:
        known: What the server is.
        method: That was called.
        sent: The bytes of the request.
        code: Of the call.
        answer: The bytes of the reply, if it was OK.
        deep: Compare hits with all vectors of the index.
    """
    if code:
        # Who explains has one target for all items of a call.
        may = CALL_CODES | {NOT_FOUND} if method == "Explain" else CALL_CODES
        return None if code in may else f"the call ended with code {code}"
    kind = METHODS[method]
    try:
        request = GetMessageClass(kind.input_type).FromString(sent)
    except DecodeError:
        return "OK for bytes that are no message"
    reply = GetMessageClass(kind.output_type).FromString(answer)
    if method not in ITEMS:
        return None
    field, judge = ITEMS[method]
    items = getattr(request, field)
    if not 1 <= len(items) <= known.limits.max_items or len(items) != len(reply.results):
        return f"{len(items)} items, {len(reply.results)} results"
    for item, result in zip(items, reply.results, strict=True):
        if result.status.code not in ITEM_CODES:
            return f"an item ended with code {result.status.code}"
        fault = judge(known, item, result, deep) if not result.status.code else None
        if fault:
            return f"wrong OK: {fault}"
    return None


def _search_fault(
    known: Known, query: wire.Query, result: wire.SearchResult, deep: bool
) -> str | None:
    limits, target = known.limits, query.WhichOneof("target")
    top_k = query.top_k or limits.default_top_k
    scores = [hit.score for hit in result.hits]
    checks = {
        "no target": target is not None,
        "top_k": top_k <= limits.max_top_k,
        "by": query.by in wire.By.values(),
        "too many hits": len(scores) <= top_k,
        "order of scores": all(a >= b for a, b in pairwise(scores)),
        "scores beyond 1": all(-1 <= score <= 1 for score in scores),
        "novelty": 0 <= result.novelty <= 100,
        "filter": all(passes(query.filter, hit.architecture) for hit in result.hits),
        "filter without meaning": is_filter(query.filter),
        "unknown hits": all(hit.architecture.name in known.names for hit in result.hits),
        "vector": target != "vector" or is_direction(known, query.vector),
        "name": target != "architecture" or is_known(known, query.architecture),
        "graph": target != "graph" or is_graph(query.graph, limits),
    }
    wrong = [name for name, holds in checks.items() if not holds]
    if not wrong and deep and target == "vector" and not query.HasField("filter"):
        wrong += [] if is_nearest(known, query, scores) else ["hits that are not the nearest"]
    return ", ".join(wrong) or None


def _embed_fault(known: Known, graph: wire.Graph, result: wire.EmbedResult, _: bool) -> str | None:
    vector = np.array(result.vector.values)
    if vector.shape != known.vectors.shape[1:] or abs(np.linalg.norm(vector) - 1) > TOLERANCE:
        return "no vector of length 1"
    prints = (result.topology, result.exact, result.inference)
    if any(len(each) != 64 for each in prints):
        return "fingerprints"
    return None if is_graph(graph, known.limits) else "this is no graph"


def _get_fault(known: Known, name: str, result: wire.GetResult, _: bool) -> str | None:
    given = result.architecture
    is_same = name in (given.name, given.id) and given.id == architecture_id(given.name)
    return None if is_same and given.name in known.names else "another architecture"


Judge = Callable[[Known, Any, Any, bool], str | None]
ITEMS: Final[Mapping[str, tuple[str, Judge]]] = {
    "Search": ("queries", _search_fault),
    "Embed": ("graphs", _embed_fault),
    "Get": ("architectures", _get_fault),
}
