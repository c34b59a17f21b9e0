"""Queries and their filters as messages, both ways; the limits of a query are checked here.

The fields of a filter, as a record and as a message, are rows of one table. Errors name their field
by its path from the message that was given.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import numpy as np
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Value
from google.protobuf.unknown_fields import UnknownFieldSet
from numpy.typing import NDArray

from nar.answers.query import COUNTED, PARTS, Counted, Part, Query, Target
from nar.base.errors import InvalidInputError, InvalidQueryError, NarError
from nar.base.own_labels import LabelValue, checked_value, read, written
from nar.graphs.architecture import Architecture
from nar.graphs.assumed import Assumed, Unread
from nar.graphs.by import By
from nar.graphs.fingerprints import Fingerprinted, fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.index import filters
from nar.index.ranking import check_vector
from nar.index.rows import IndexRow
from nar.v1 import retrieval_pb2
from nar.wire.assumed import decode_assumed, decode_unread, encode_assumed, encode_unread
from nar.wire.graphs import Fingerprint, decode_graph, encode_graph
from nar.wire.limits import Limits

_BOUNDS: Final = ("minimum", "maximum")

Kind = TypeVar("Kind", bound=filters.Filter)


_COUNTED: Final[Mapping[int, Counted]] = {
    retrieval_pb2.COUNTED_UNSPECIFIED: "hits",
    retrieval_pb2.COUNTED_HITS: "hits",
    retrieval_pb2.COUNTED_NETWORKS: "networks",
}
_BY: Final[Mapping[int, By]] = {
    retrieval_pb2.BY_UNSPECIFIED: "design",
    retrieval_pb2.BY_DESIGN: "design",
    retrieval_pb2.BY_FAMILY: "family",
    retrieval_pb2.BY_TRUNK: "trunk",
    retrieval_pb2.BY_COPY: "copy",
    retrieval_pb2.BY_ORIGIN: "origin",
}
_PARTS: Final[Mapping[int, Part]] = {
    retrieval_pb2.Part.Value(f"PART_{part.upper()}"): part for part in PARTS
}
_SIGNS: Final[Mapping[int, filters.Sign]] = {
    retrieval_pb2.LABEL_SIGN_UNSPECIFIED: "in",
    retrieval_pb2.LABEL_SIGN_IN: "in",
    retrieval_pb2.LABEL_SIGN_EXISTS: "exists",
    retrieval_pb2.LABEL_SIGN_LESS: "<",
    retrieval_pb2.LABEL_SIGN_AT_MOST: "<=",
    retrieval_pb2.LABEL_SIGN_GREATER: ">",
    retrieval_pb2.LABEL_SIGN_AT_LEAST: ">=",
}
_SIGN_NUMBERS: Final = {sign: number for number, sign in _SIGNS.items()}
# Fields of a filter beside the rows of the table and the groups.
_LABELS, _WHERE = "labels", "where"
# `top_k` and `page_size` are of the type uint32 in the contract.
MAX_UINT32: Final = 2**32 - 1
Item = TypeVar("Item")
Record = TypeVar("Record")


@contextmanager
def at(path: str) -> Iterator[None]:
    """Put a path before the field of every InvalidInputError that the body raises.

    Example:
        >>> from nar.base.errors import InvalidQueryError
        >>> with at("queries[2]"), at("filter"):
        ...     raise InvalidQueryError("nodes", "wanted a number")
        Traceback (most recent call last):
        ...
        nar.base.errors.InvalidQueryError: queries[2].filter.nodes: wanted a number
    """
    try:
        yield
    except InvalidInputError as error:
        if error.field:
            raise error.under(path) from None
        raise type(error)(path, error.reason) from None


def decode_each(
    field: str, items: Sequence[Item], decode: Callable[[Item], Record], *, max_items: int
) -> list[Record | NarError]:
    """Decode the items of a call: for each item its record, or the error that it deserves.

    Raises:
        InvalidQueryError: No items, or too many: a fault of the whole call.
    """
    if not 1 <= len(items) <= max_items:
        raise InvalidQueryError(field, f"wanted 1 to {max_items}, came {len(items)}")
    return [_decoded(f"{field}[{position}]", item, decode) for position, item in enumerate(items)]


def check_totals(field: str, graphs: Iterable[retrieval_pb2.Graph], limits: Limits) -> None:
    """See that the graphs of a call are no more work together than one call may be.

    A graph that is too large by itself counts nothing: it is refused without any work.

    Raises:
        InvalidQueryError: Says how many nodes or edges came; a fault of the whole call.
    """
    sizes = [(len(graph.nodes), len(graph.edge_index.sources)) for graph in graphs]
    fitting = [
        size for size in sizes if size[0] <= limits.max_nodes and size[1] <= limits.max_edges
    ]
    bounds = {"nodes": limits.max_call_nodes, "edges": limits.max_call_edges}
    for column, (kind, bound) in enumerate(bounds.items()):
        total = sum(size[column] for size in fitting)
        if total > bound:
            reason = f"wanted at most {bound} {kind} in all graphs of a call, came {total}"
            raise InvalidQueryError(field, f"{reason}; send them in several calls")


def _decoded(path: str, item: Item, decode: Callable[[Item], Record]) -> Record | NarError:
    try:
        with at(path):
            return decode(item)
    except InvalidInputError as error:
        return error


def decode_query(
    message: retrieval_pb2.Query,
    limits: Limits,
    dim: int,
    fingerprint: Fingerprint = fingerprinted,
    graphs: dict[bytes, Fingerprinted] | None = None,
) -> Query:
    """The question of a message.

    Args:
        message: As it came.
        limits: What to accept.
        dim: Length of the encoder's vectors.
        fingerprint: As for `decode_graph`.
        graphs: Graphs of the call by their bytes; the graph of the message is added. Several
            questions about one graph have one record, which is embedded once.

    Raises:
        InvalidInputError: Its field is a path from the message: ``graph.edge_index[7]``.
    """
    with at("top_k"):
        top_k = _decode_top_k(message.top_k, limits)
    with at("filter"):
        wanted = decode_filter(message.filter)
    with at("by"):
        by = decode_by(message.by)
    parts, parts_if_new = (
        _decode_parts(getattr(message, field), field) for field in ("parts", "parts_if_new")
    )
    with at("assumed"):
        assumed = decode_assumed(message.assumed) if message.HasField("assumed") else None
    with at("unread"):
        unread = decode_unread(message.unread) if message.HasField("unread") else None
    target = _decode_target(message, limits, dim, fingerprint, {} if graphs is None else graphs)
    with at("counted"):
        counted = _decode_counted(message.counted)
    return Query(target, top_k, wanted, by, parts, parts_if_new, assumed, counted, unread)


def _decode_parts(numbers: Iterable[int], field: str) -> frozenset[Part]:
    parts = set()
    for position, number in enumerate(numbers):
        if number not in _PARTS:
            reason = f"wanted {', '.join(PARTS)}, came number {number}"
            raise InvalidQueryError(f"{field}[{position}]", reason)
        parts.add(_PARTS[number])
    return frozenset(parts)


def encode_query(
    target: Target,
    top_k: int | None,
    wanted: filters.Filter,
    by: By,
    parts: Iterable[Part] = (),
    parts_if_new: Iterable[Part] = (),
    assumed: Assumed | None = None,
    counted: Counted = "hits",
    unread: Unread | None = None,
) -> retrieval_pb2.Query:
    """The message of a question; without ``top_k`` the server chooses.

    Raises:
        InvalidQueryError: ``top_k`` is no number that a message can hold.
    """
    if top_k is not None and not 1 <= top_k <= MAX_UINT32:
        raise InvalidQueryError("top_k", f"wanted 1 to {MAX_UINT32}, came {top_k}")
    query = retrieval_pb2.Query(
        top_k=top_k or 0,
        filter=encode_filter(wanted),
        by=f"BY_{by.upper()}",
        parts=sorted(f"PART_{part.upper()}" for part in parts),
        parts_if_new=sorted(f"PART_{part.upper()}" for part in parts_if_new),
        assumed=None if assumed is None else encode_assumed(assumed),
        counted=f"COUNTED_{counted.upper()}",
        unread=None if unread is None else encode_unread(unread),
    )
    if isinstance(target, str):
        query.architecture = target
    elif isinstance(target, Architecture | Fingerprinted):
        query.graph.CopyFrom(encode_graph(target.graph))
    elif isinstance(target, ComputationalGraph):
        query.graph.CopyFrom(encode_graph(target))
    elif isinstance(target, IndexRow):
        query.vector.values.extend(target.embedding.tolist())
    else:
        query.vector.values.extend(np.asarray(target, dtype=np.float32).tolist())
    return query


def _decode_target(
    message: retrieval_pb2.Query,
    limits: Limits,
    dim: int,
    fingerprint: Fingerprint,
    graphs: dict[bytes, Fingerprinted],
) -> Target:
    kind = message.WhichOneof("target")
    if kind is None:
        reason = "wanted a graph, an architecture or a vector, came none"
        raise InvalidQueryError("target", reason)
    with at(kind):
        if kind == "graph":
            key = message.graph.SerializeToString(deterministic=True)
            if key not in graphs:
                graphs[key] = decode_graph(
                    message.graph,
                    max_nodes=limits.max_nodes,
                    max_edges=limits.max_edges,
                    fingerprint=fingerprint,
                )
            return graphs[key]
        return (
            decode_name(message.architecture)
            if kind == "architecture"
            else decode_vector(message.vector, dim)
        )


def decode_by(number: int) -> By:
    """What hits should share, by its number on the wire.

    Example:
        >>> decode_by(retrieval_pb2.BY_TRUNK)
        'trunk'
    """
    if number not in _BY:
        raise InvalidQueryError("", f"wanted {', '.join(_BY.values())}, came number {number}")
    return _BY[number]


def _decode_counted(number: int) -> Counted:
    if number not in _COUNTED:
        raise InvalidQueryError("", f"wanted {', '.join(COUNTED)}, came number {number}")
    return _COUNTED[number]


def _decode_top_k(top_k: int, limits: Limits) -> int:
    if top_k > limits.max_top_k:
        raise InvalidQueryError("", f"wanted 1 to {limits.max_top_k}, came {top_k}")
    return top_k or limits.default_top_k


def decode_name(name: str) -> str:
    """A name or id that an architecture may have."""
    if not name:
        raise InvalidQueryError("", "wanted a name or id, came none")
    if fault := filters.text_fault(name, filters.MAX_VALUE_BYTES):
        raise InvalidQueryError("", fault)
    return name


def decode_vector(message: retrieval_pb2.Vector, dim: int) -> NDArray[np.float32]:
    """The vector of a message, whatever its norm. Shape (dim,)."""
    vector = np.array(message.values, dtype=np.float32)
    check_vector(vector, dim, "values")
    return vector


def decode_filter(message: retrieval_pb2.Filter) -> filters.Filter:
    """The filter of a message.

    Raises:
        InvalidQueryError: It is too large, or sets a condition that this version does not know: an
            answer without it would have hits that the caller does not want. Its field is a path
            from the message: ``any_of[1].nodes``.
    """
    return decode_kind(message, filters.Filter) if message.ByteSize() else filters.EVERYTHING


def encode_filter(wanted: filters.Filter) -> retrieval_pb2.Filter:
    """The message of a filter.

    Example:
        >>> small = filters.Filter(nodes=filters.Range(maximum=9))
        >>> small_or_vit = (filters.Filter(families=("vit",)), small)
        >>> message = encode_filter(filters.Filter(any_of=small_or_vit))
        >>> message.any_of[0].families, message.any_of[1].nodes.maximum
        (['vit'], 9)
        >>> decode_filter(message) == filters.Filter(any_of=small_or_vit)
        True
    """
    return retrieval_pb2.Filter(**filter_fields(wanted))


def decode_kind(message: Message, kind: type[Kind]) -> Kind:
    """The filter of one kind that a message holds; see `decode_filter`."""
    filters.check_size(message, filters.lists_of(kind))
    return _filter_of(message, kind)


def filter_fields(wanted: filters.Filter) -> dict[str, Any]:
    """The fields that the message of a filter sets, as its constructor takes them."""
    fields: dict[str, Any] = {
        condition.field: _encode_wanted(value) for condition, value in wanted.conditions()
    }
    if wanted.labels:
        fields[_LABELS] = [_encode_label(each) for each in wanted.labels]
    for group in filters.GROUPS:
        fields[group] = [filter_fields(each) for each in getattr(wanted, group)]
    return fields


def _filter_of(message: Message, kind: type[Kind]) -> Kind:
    conditions = filters.conditions_of(kind)
    _check_known(message, conditions)
    fields: dict[str, Any] = {
        condition.field: _decode_wanted(condition, getattr(message, condition.field))
        for condition in conditions
    }
    fields[_LABELS] = tuple(_decode_label(each) for each in getattr(message, _LABELS, ()))
    for group in filters.GROUPS:
        fields[group] = _decode_group(message, group, kind)
    if where := getattr(message, _WHERE, ""):
        fields["all_of"] = (*fields["all_of"], filters.Filter.where(where))
    return kind(**fields)


def _check_known(message: Message, conditions: Sequence[filters.Condition]) -> None:
    """Refuse a condition that is not in the table."""
    known = [condition.field for condition in conditions]
    named = {field.name for field, _ in message.ListFields()}
    unknown = UnknownFieldSet(message)
    unnamed = {f"field {unknown[number].field_number}" for number in range(len(unknown))}
    strange = sorted(unnamed | named.difference(known, filters.GROUPS, (_LABELS, _WHERE)))
    if strange:
        reason = f"wanted conditions on {', '.join(known)}, came also {', '.join(strange)}"
        raise InvalidQueryError("", f"{reason}; leave it out, or ask a server of a newer version")


def _decode_group(message: Message, group: str, kind: type[Kind]) -> tuple[Kind, ...]:
    several = []
    for position, each in enumerate(getattr(message, group)):
        with at(f"{group}[{position}]"):
            several.append(_filter_of(each, kind))
    return tuple(several)


def _decode_wanted(condition: filters.Condition, sent: Any) -> filters.Wanted:  # noqa: ANN401 -- no common type
    if not condition.is_range:
        return tuple(sent)
    return filters.Range(**{name: getattr(sent, name) for name in _BOUNDS if sent.HasField(name)})


def _encode_wanted(wanted: filters.Wanted) -> list[str] | dict[str, int]:
    if not isinstance(wanted, filters.Range):
        return list(wanted)
    bounds = {name: getattr(wanted, name) for name in _BOUNDS}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _encode_label(condition: filters.LabelCondition) -> dict[str, Any]:
    values = [_encode_value(each) for each in condition.values]
    return {"key": condition.key, "sign": _SIGN_NUMBERS[condition.sign], "values": values}


def _decode_label(message: retrieval_pb2.LabelCondition) -> filters.LabelCondition:
    field = f"{_LABELS}.{message.key}"
    if message.sign not in _SIGNS:
        reason = f"wanted {', '.join(_SIGNS.values())}, came number {message.sign}"
        raise InvalidQueryError(field, reason)
    values = tuple(_decode_value(field, each) for each in message.values)
    return filters.LabelCondition(message.key, _SIGNS[message.sign], values)


def encode_labels(own: str) -> dict[str, Value]:
    """Own labels as a map of a message.

    Args:
        own: As `nar.base.own_labels` writes them.
    """
    return {key: _encode_value(value) for key, value in read(own).items()} if own else {}


def decode_labels(messages: Mapping[str, Value]) -> str:
    """The own labels of a map of a message, as `nar.base.own_labels` writes them.

    Raises:
        InvalidQueryError: Names the label that cannot be one.

    Example:
        >>> decode_labels({"team": Value(string_value="vision")})
        '{"team":"vision"}'
    """
    try:
        return written({key: _decode_value(f"labels.{key}", messages[key]) for key in messages})
    except InvalidInputError as error:
        raise InvalidQueryError(error.field, error.reason) from None


def _encode_value(value: LabelValue) -> Value:
    if isinstance(value, bool):
        return Value(bool_value=value)
    return Value(number_value=value) if isinstance(value, float) else Value(string_value=str(value))


def _decode_value(field: str, message: Value) -> LabelValue:
    kind = message.WhichOneof("kind")
    if kind not in ("string_value", "number_value", "bool_value"):
        reason = f"wanted a text, a number or a boolean, came {kind or 'nothing'}"
        raise InvalidQueryError(field, reason)
    try:
        return checked_value(field, getattr(message, kind))
    except InvalidInputError as error:
        raise InvalidQueryError(error.field, error.reason) from None
