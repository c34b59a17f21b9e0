"""The methods of the contract: which request each takes, and what answers it.

A call comes to `nar.serve.dispatch`, which finds its method here, and a thread runs the work of the
method: it decodes the request, calls the library and encodes the response.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from google.protobuf.message import Message

from nar.serve.items import Work, one_by_one
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
    """Every method by its name. Search and SearchStream count their queries apart."""
    search = partial(retrieval.search, method="Search")
    search_stream = partial(retrieval.search, method="SearchStream")
    explain = one_by_one(retrieval.explanations.explain)
    upsert, delete = one_by_one(retrieval.writes.upsert), one_by_one(retrieval.writes.delete)
    methods = (
        Method("Search", wire.SearchRequest, search, is_shared=True, is_heavy=compares_graphs),
        Method(
            "SearchStream",
            wire.SearchRequest,
            search_stream,
            is_shared=True,
            is_stream=True,
            is_heavy=compares_graphs,
        ),
        Method("Embed", wire.EmbedRequest, retrieval.embed, is_shared=True),
        Method("Get", wire.GetRequest, one_by_one(retrieval.get)),
        Method("List", wire.ListRequest, one_by_one(retrieval.listed)),
        Method("Describe", wire.DescribeRequest, one_by_one(retrieval.describe)),
        Method("Explain", wire.ExplainRequest, explain),
        Method("Upsert", wire.UpsertRequest, upsert),
        Method("Delete", wire.DeleteRequest, delete),
    )
    return {method.name: method for method in methods}
