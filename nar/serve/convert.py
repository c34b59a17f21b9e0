"""Queries, filters and answers between messages and records; a query's limits are checked here.

Errors name their field by its path from the message that was given.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from nar.errors import InvalidInputError, InvalidQueryError
from nar.filters import Filter
from nar.graph import ComputationalGraph
from nar.index import Hit
from nar.serve.graphs import decode_graph
from nar.serve.limits import Limits
from nar.v1 import retrieval_pb2

Item = TypeVar("Item")
Record = TypeVar("Record")
Target = ComputationalGraph | str | NDArray[np.float32]

MAX_NAME_CHARS: Final = 1_024


@dataclass(frozen=True, slots=True)
class Query:
    """One question.

    Attributes:
        target: A canonical graph, the name or id of an architecture, or a vector of shape (dim,).
        top_k: Number of hits wanted.
        filter: What hits must be.
    """

    target: Target
    top_k: int
    filter: Filter


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
) -> list[Record | InvalidInputError]:
    """Decode the items of a call; an item at fault gives its error in its place.

    Raises:
        InvalidQueryError: No items, or too many: a fault of the whole call.
    """
    if not 1 <= len(items) <= max_items:
        raise InvalidQueryError(field, f"wanted 1 to {max_items}, came {len(items)}")
    return [_decoded(f"{field}[{position}]", item, decode) for position, item in enumerate(items)]


def _decoded(
    path: str, item: Item, decode: Callable[[Item], Record]
) -> Record | InvalidInputError:
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
    if not 0 < len(name) <= MAX_NAME_CHARS:
        reason = f"wanted a name or id of 1 to {MAX_NAME_CHARS} characters, came {len(name)}"
        raise InvalidQueryError("", reason)
    return name


def decode_vector(message: retrieval_pb2.Vector, dim: int) -> NDArray[np.float32]:
    """The vector of a message, scaled to length 1. Shape (dim,)."""
    vector = np.array(message.values, dtype=np.float64)
    if len(vector) != dim:
        raise InvalidQueryError("values", f"wanted {dim} numbers, came {len(vector)}")
    finite = np.isfinite(vector)
    if not finite.all():
        first = int(np.argmin(finite))
        raise InvalidQueryError(f"values[{first}]", f"wanted a finite number, came {vector[first]}")
    norm = float(np.linalg.norm(vector))
    if norm == 0:
        raise InvalidQueryError("values", "wanted a direction, came only zeros")
    return (vector / norm).astype(np.float32)
