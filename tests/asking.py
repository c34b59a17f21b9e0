"""Small things that every test of a running server asks."""

import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import grpc
import numpy as np
from google.protobuf.message import Message
from grpc_status import rpc_status
from live_server import LiveServer
from prometheus_client.parser import text_string_to_metric_families
from tiny_index import known

from nar.answers.query import Answer
from nar.index.rows import Hit
from nar.v1 import retrieval_pb2 as wire
from nar.wire.graphs import encode_graph

Detail = TypeVar("Detail", bound=Message)


def one_query() -> wire.SearchRequest:
    """A search that has to embed a graph."""
    return wire.SearchRequest(queries=[wire.Query(graph=encode_graph(known("timm:plain")))])


def sample(server: LiveServer, name: str, **labels: str) -> float:
    """Sum of the samples of a metric that have these labels, as the metrics port shows them."""
    with urllib.request.urlopen(server.metrics_url) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    samples = (sample for family in families for sample in family.samples)
    return sum(s.value for s in samples if s.name == name and labels.items() <= s.labels.items())


def detail(error: grpc.RpcError, kind: type[Detail]) -> Detail:
    """The one rich detail of a call that failed."""
    (packed,) = rpc_status.from_call(error).details
    message = kind()
    assert packed.Unpack(message)
    return message


def assert_alike(given: Sequence[Answer], wanted: Sequence[Answer]) -> None:
    """The same hits in the same order; a score depends a little on what is computed beside it."""
    assert [[unscored(hits) for hits in lists(answer)] for answer in given] == [
        [unscored(hits) for hits in lists(answer)] for answer in wanted
    ]
    np.testing.assert_allclose(scores(given), scores(wanted), atol=1e-5)


def lists(answer: Answer) -> tuple[tuple[Hit, ...], ...]:
    return answer.hits, answer.same_network, answer.same_at_inference, answer.same_design


def unscored(hits: tuple[Hit, ...]) -> list[Hit]:
    return [replace(hit, score=0.0) for hit in hits]


def scores(answers: Sequence[Answer]) -> list[float]:
    return [hit.score for answer in answers for hits in lists(answer) for hit in hits]
