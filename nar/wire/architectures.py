"""Architectures to index as messages: the client encodes them, the server decodes them."""

from collections.abc import Callable
from typing import Final, get_args

from nar.base.errors import InvalidQueryError
from nar.graphs.architecture import Architecture, Labels, Tier
from nar.graphs.fingerprints import Fingerprinted
from nar.index.filters import text_fault
from nar.index.rows import TEXT_BYTES
from nar.v1 import retrieval_pb2 as wire
from nar.wire.graphs import encode_graph
from nar.wire.paths import at

# What a message says of its architecture besides the graph; the block stands outside of `Labels`.
LABELS: Final = tuple(name for name in TEXT_BYTES if name != "block")
_TIERS: Final[tuple[Tier, ...]] = get_args(Tier)


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
