"""The methods of the contract: which request each takes, and what answers it.

A call comes to `nar.serve.dispatch`, which finds its method here, and a thread runs the work of the
method: it decodes the request, calls the library and encodes the response.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from google.protobuf.message import Message

from nar.serve.items import Work, by_scope, one_by_one
from nar.serve.retrieval import Retrieval, compares_graphs
from nar.v1 import retrieval_pb2 as wire


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the contract.

    Attributes:
        name: On the wire.
        request: Kind of the message that it takes.
        work: Answers its requests.
        is_shared: Whether the requests of several calls are answered together.
        is_stream: Whether one call brings many requests, each of which is answered.
        is_heavy: Whether a request is work for the threads of heavy calls, whatever its size.
    """

    name: str
    request: type[Message]
    work: Work
    is_shared: bool = False
    is_stream: bool = False
    is_heavy: Callable[[Any], bool] | None = None


def methods_of(retrieval: Retrieval) -> Mapping[str, Method]:
    """Every method by its name; a caller bound to a part of the index is answered from it."""

    def work(name: str) -> Work:
        return by_scope(lambda scope: _works(retrieval.within(scope))[name])

    methods = (
        Method(
            "Search",
            wire.SearchRequest,
            work("Search"),
            is_shared=True,
            is_heavy=compares_graphs,
        ),
        Method(
            "SearchStream",
            wire.SearchRequest,
            work("SearchStream"),
            is_shared=True,
            is_stream=True,
            is_heavy=compares_graphs,
        ),
        Method("Embed", wire.EmbedRequest, work("Embed"), is_shared=True),
        Method("Get", wire.GetRequest, work("Get")),
        Method("List", wire.ListRequest, work("List")),
        Method("Describe", wire.DescribeRequest, work("Describe")),
        Method("Explain", wire.ExplainRequest, work("Explain")),
        Method("Upsert", wire.UpsertRequest, work("Upsert")),
        Method("Delete", wire.DeleteRequest, work("Delete")),
        Method("Label", wire.LabelRequest, work("Label")),
    )
    return {method.name: method for method in methods}


def _works(retrieval: Retrieval) -> Mapping[str, Work]:
    """The work of every method. Search and SearchStream count their queries apart."""
    return {
        "Search": partial(retrieval.search, method="Search"),
        "SearchStream": partial(retrieval.search, method="SearchStream"),
        "Embed": retrieval.embed,
        "Get": one_by_one(retrieval.get),
        "List": one_by_one(retrieval.listed),
        "Describe": one_by_one(retrieval.describe),
        "Explain": one_by_one(retrieval.explanations.explain),
        "Upsert": one_by_one(retrieval.writes.upsert),
        "Delete": one_by_one(retrieval.writes.delete),
        "Label": one_by_one(retrieval.writes.label),
    }
