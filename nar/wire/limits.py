"""What a server accepts: the server has it from its configuration, the client from Describe."""

from dataclasses import asdict, dataclass, fields

from nar.index.filters import MAX_DEPTH, MAX_FILTERS, MAX_VALUE_BYTES, MAX_VALUES
from nar.v1 import retrieval_pb2
from nar.wire.graphs import MAX_OPERATOR_CHARS
from nar.wire.settings import ServerConfig


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server accepts; a limit that a server of an older version does not name is 0.

    Attributes:
        max_items: Queries, graphs or names of one call.
        max_top_k: Hits of one query.
        default_top_k: Hits of a query that names no number.
        max_nodes: Nodes of one graph.
        max_edges: Edges of one graph.
        max_call_nodes: Nodes of all graphs of one call.
        max_call_edges: Edges of all graphs of one call.
        max_message_bytes: Bytes of one request.
        max_in_flight: Calls worked on at a time.
        max_page_size: Architectures of one page.
        max_filters: Filters of one query or page, nested ones counted.
        max_filter_values: Texts of one filter, the texts of nested filters counted.
        max_text_bytes: Bytes of a name, or of one text of a filter.
        max_filter_depth: How deep filters may be nested; 1 is a filter that holds no other.
        max_operator_chars: Characters of the name of an operator.
        max_call_s: How long a call, or a request of a stream, is worked on.
        max_upload_s: How long a request may take to arrive.
        max_search_streams: Streams open at a time, of all clients together.
        max_idle_s: A stream ends that brings no request, or takes no answer, for so long.
    """

    max_items: int
    max_top_k: int
    default_top_k: int
    max_nodes: int
    max_edges: int
    max_call_nodes: int
    max_call_edges: int
    max_message_bytes: int
    max_in_flight: int
    max_page_size: int
    max_filters: int
    max_filter_values: int
    max_text_bytes: int
    max_filter_depth: int
    max_operator_chars: int
    max_call_s: float
    max_upload_s: float
    max_search_streams: int
    max_idle_s: float


def limits_of(config: ServerConfig) -> Limits:
    """The limits in the configuration of a server; a call may have at least as much as a graph."""
    return Limits(
        max_items=config.max_queries,
        max_top_k=config.max_top_k,
        default_top_k=min(config.default_top_k, config.max_top_k),
        max_nodes=config.max_nodes,
        max_edges=config.max_edges,
        max_call_nodes=max(config.max_call_nodes, config.max_nodes),
        max_call_edges=max(config.max_call_edges, config.max_edges),
        max_message_bytes=config.max_message_bytes,
        max_in_flight=config.max_in_flight,
        max_page_size=config.max_page_size,
        max_filters=MAX_FILTERS,
        max_filter_values=MAX_VALUES,
        max_text_bytes=MAX_VALUE_BYTES,
        max_filter_depth=MAX_DEPTH,
        max_operator_chars=MAX_OPERATOR_CHARS,
        max_call_s=config.max_call_s,
        max_upload_s=config.max_upload_s,
        max_search_streams=config.max_search_streams,
        max_idle_s=config.max_idle_s,
    )


def encode_limits(limits: Limits) -> retrieval_pb2.Limits:
    """The message of limits."""
    return retrieval_pb2.Limits(**asdict(limits))


def decode_limits(message: retrieval_pb2.Limits) -> Limits:
    """The limits of a message."""
    return Limits(**{field.name: getattr(message, field.name) for field in fields(Limits)})
