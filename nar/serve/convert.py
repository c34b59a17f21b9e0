"""Queries, filters and answers between messages and records; a query's limits are checked here.

Errors name their field by its path from the message that was given.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nar.errors import InvalidInputError, InvalidQueryError, NarError
from nar.index.filters import MAX_VALUE_BYTES, Filter, Range, text_fault
from nar.retrieve import Query, Target
from nar.serve.graphs import decode_graph
from nar.serve.limits import Limits
from nar.v1 import retrieval_pb2

Item = TypeVar("Item")
Record = TypeVar("Record")


@contextmanager
def at(path: str) -> Iterator[None]:
    """Put a path before the field of every InvalidInputError raised inside."""
    try:
        yield
    except InvalidInputError as error:
        if error.field:
            raise error.under(path) from None
        raise type(error)(path, error.reason) from None


def decode_each(
    field: str, items: Sequence[Item], decode: Callable[[Item], Record], *, max_items: int
) -> list[Record | NarError]:
    """Decode the items of a call; an item at fault gives its error in its place.

    Raises:
        InvalidQueryError: No items, or too many: a fault of the whole call.
    """
    if not 1 <= len(items) <= max_items:
        raise InvalidQueryError(field, f"wanted 1 to {max_items}, came {len(items)}")
    return [_decoded(f"{field}[{position}]", item, decode) for position, item in enumerate(items)]


def _decoded(path: str, item: Item, decode: Callable[[Item], Record]) -> Record | NarError:
    try:
        with at(path):
            return decode(item)
    except InvalidInputError as error:
        return error


def decode_query(message: retrieval_pb2.Query, limits: Limits, dim: int) -> Query:
    """The question of a message.

    Args:
        message: As it came.
        limits: What to accept.
        dim: Length of the encoder's vectors.

    Raises:
        InvalidInputError: Its field is a path from the message: ``graph.edge_index[7]``.
    """
    with at("top_k"):
        top_k = _decode_top_k(message.top_k, limits)
    with at("filter"):
        wanted = decode_filter(message.filter)
    return Query(_decode_target(message, limits, dim), top_k, wanted)


def _decode_target(message: retrieval_pb2.Query, limits: Limits, dim: int) -> Target:
    kind = message.WhichOneof("target")
    if kind is None:
        reason = "wanted a graph, an architecture or a vector, came none"
        raise InvalidQueryError("target", reason)
    with at(kind):
        if kind == "graph":
            return decode_graph(
                message.graph, max_nodes=limits.max_nodes, max_edges=limits.max_edges
            )
        return (
            decode_name(message.architecture)
            if kind == "architecture"
            else decode_vector(message.vector, dim)
        )


def _decode_top_k(top_k: int, limits: Limits) -> int:
    if top_k > limits.max_top_k:
        raise InvalidQueryError("", f"wanted 1 to {limits.max_top_k}, came {top_k}")
    return top_k or limits.default_top_k


def decode_name(name: str) -> str:
    """A name or id that an architecture may have."""
    fault = text_fault(name, MAX_VALUE_BYTES) if name else "wanted a name or id, came none"
    if fault:
        raise InvalidQueryError("", fault)
    return name


def decode_vector(message: retrieval_pb2.Vector, dim: int) -> NDArray[np.float32]:
    """The vector of a message, of the length it came with. Shape (dim,)."""
    vector = np.array(message.values, dtype=np.float32)
    if len(vector) != dim:
        raise InvalidQueryError("values", f"wanted {dim} numbers, came {len(vector)}")
    finite = np.isfinite(vector)
    if not finite.all():
        first = int(np.argmin(finite))
        raise InvalidQueryError(f"values[{first}]", f"wanted a finite number, came {vector[first]}")
    if not vector.any():
        raise InvalidQueryError("values", "wanted a direction, came only zeros")
    return vector


def decode_filter(message: retrieval_pb2.Filter) -> Filter:
    """The filter of a message."""
    return Filter(
        names=tuple(message.names),
        sources=tuple(message.sources),
        libraries=tuple(message.libraries),
        families=tuple(message.families),
        blocks=tuple(message.blocks),
        tasks=tuple(message.tasks),
        topologies=tuple(message.topologies),
        exacts=tuple(message.exacts),
        parameters=_decode_range(message.parameters),
        flops=_decode_range(message.flops),
        nodes=_decode_range(message.nodes),
    )


def encode_filter(wanted: Filter) -> retrieval_pb2.Filter:
    """The message of a filter."""
    return retrieval_pb2.Filter(
        names=wanted.names,
        sources=wanted.sources,
        libraries=wanted.libraries,
        families=wanted.families,
        blocks=wanted.blocks,
        tasks=wanted.tasks,
        topologies=wanted.topologies,
        exacts=wanted.exacts,
        parameters=_encode_range(wanted.parameters),
        flops=_encode_range(wanted.flops),
        nodes=_encode_range(wanted.nodes),
    )


def _decode_range(message: retrieval_pb2.Range) -> Range:
    return Range(
        minimum=message.minimum if message.HasField("minimum") else None,
        maximum=message.maximum if message.HasField("maximum") else None,
    )


def _encode_range(wanted: Range) -> retrieval_pb2.Range:
    return retrieval_pb2.Range(minimum=wanted.minimum, maximum=wanted.maximum)
