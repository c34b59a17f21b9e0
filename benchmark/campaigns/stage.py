"""Stage: small real servers that can be brought into any state, and one call of any method."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, cast

import grpc
from asking import one_query
from gated import Delegating
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from live_server import LiveServer, live_server

from benchmark.campaigns.messages import METHODS, SERVICE
from nar.encoding.embed import Embedder
from nar.index.architecture_index import ArchitectureIndex
from nar.v1 import retrieval_pb2 as wire

# A request of each method that is answered, and that comes to the index or the encoder.
VALID: Final[Mapping[str, Message]] = {
    "Search": one_query(),
    "Embed": wire.EmbedRequest(graphs=[one_query().queries[0].graph]),
    "Get": wire.GetRequest(architectures=["timm:plain"]),
    "Describe": wire.DescribeRequest(),
    "List": wire.ListRequest(),
    "Explain": wire.ExplainRequest(graph=one_query().queries[0].graph, others=["timm:plain"]),
    "Upsert": wire.UpsertRequest(
        architectures=[wire.NewArchitecture(name="own:one", graph=one_query().queries[0].graph)]
    ),
    "Delete": wire.DeleteRequest(architectures=["own:one"]),
    "Label": wire.LabelRequest(
        changes=[wire.LabelChange(architecture="timm:plain", removed=["stage"])]
    ),
}
# One whose only item nobody knows.
UNKNOWN: Final[Mapping[str, Message]] = {
    "Search": wire.SearchRequest(queries=[wire.Query(architecture="timm:nobody")]),
    "Get": wire.GetRequest(architectures=["timm:nobody"]),
    "Explain": wire.ExplainRequest(graph=one_query().queries[0].graph, others=["timm:nobody"]),
    "Delete": wire.DeleteRequest(architectures=["timm:nobody"]),
    "Label": wire.LabelRequest(
        changes=[wire.LabelChange(architecture="timm:nobody", removed=["stage"])]
    ),
}
LONG_S: Final = 30.0
# No probe of health may come between: an index that fails ends its server.
NEVER_S: Final = 3_600.0
CODE_NAMES: Final = {code.value[0]: code.name for code in grpc.StatusCode}


@dataclass(frozen=True, slots=True)
class Reached:
    """How a call ended; where it was answered, how its only item ended.

    Attributes:
        code: Name of the status.
        words: What its message says.
    """

    code: str
    words: str = ""


class Interrupted:
    """An index before whose every method something happens."""

    def __init__(self, index: ArchitectureIndex, before: Callable[[], object]) -> None:
        self._index, self._before = index, before

    def __getattr__(self, name: str) -> object:
        """A method of the index, or what else it has."""
        held = getattr(self._index, name)
        if not callable(held):
            return held

        @wraps(held)
        def call(*arguments: object, **named: object) -> object:
            self._before()
            return held(*arguments, **named)

        return call


@dataclass(frozen=True, slots=True)
class Stage:
    """What servers are made of.

    Attributes:
        embedder: Tiny and real.
        index: Tiny and real.
    """

    embedder: Embedder
    index: ArchitectureIndex

    @contextmanager
    def server(
        self, before: Callable[[], object] = lambda: None, **settings: object
    ) -> Iterator[LiveServer]:
        """A server; ``before`` happens whenever a call comes to its encoder or index."""
        is_up = False

        def once_up() -> None:
            if is_up:
                before()

        embedder = cast(Embedder, Delegating(self.embedder, once_up))
        index = cast(ArchitectureIndex, Interrupted(self.index, once_up))
        settings = {
            "probe_interval_s": NEVER_S,
            "compute_threads": 16,
            "heavy_threads": 16,
            "writable": True,
            **settings,
        }
        with live_server(embedder, index, **settings) as server:
            is_up = True
            yield server


@contextmanager
def connected(server: LiveServer) -> Iterator[grpc.Channel]:
    """A connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(server.target, options=options) as channel:
        yield channel


def asked(channel: grpc.Channel, method: str, sent: bytes | Message, **how: Any) -> Reached:
    """Call a method, with bytes or with a message."""
    content = sent if isinstance(sent, bytes) else sent.SerializeToString()
    call = channel.unary_unary(f"/{SERVICE.full_name}/{method}")
    return reached(call.future(content, **({"timeout": LONG_S} | how)), method)


def reached(call: grpc.Future, method: str) -> Reached:
    """How a call ended."""
    if call.code() is not grpc.StatusCode.OK:
        return Reached(call.code().name, call.details())
    answer = GetMessageClass(METHODS[method].output_type).FromString(call.result())
    items = getattr(answer, "results", [])
    return Reached(CODE_NAMES[items[0].status.code], items[0].status.message) if items else OK


OK: Final = Reached("OK")
