"""Where the page gets a model from: a name of the index, or a graph that came with the request."""

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.json_format import ParseDict, ParseError

from nar.base.errors import InvalidQueryError, UnknownArchitectureError, at
from nar.graphs.architecture import UNKNOWN, Architecture, Labels, architecture
from nar.serve.explaining import Graphs
from nar.v1.retrieval_pb2 import Graph
from nar.web.catalogue import Catalogue
from nar.wire.graphs import decode_graph
from nar.wire.settings import ServerConfig

_UNNAMED: Final = "your model"
# Chosen: longer names are cut, as no heading shows more.
_NAME_LETTERS: Final = 200


class Models:
    """Finds the graphs of models.

    Args:
        graphs: Has those of the index; None where the server reads no corpus.
        config: How large graphs may be.
    """

    def __init__(self, graphs: Graphs | None, config: ServerConfig) -> None:
        self._graphs = graphs
        self._config = config

    def find(self, asked: Mapping[str, Any], catalogue: Catalogue) -> Architecture:
        """A model.

        Args:
            asked: `architecture`, a name; or `graph`, the JSON of that message, and its `name`.
            catalogue: Of the index.

        Raises:
            InvalidQueryError: It is neither.
            InvalidGraphError: Names the field at fault.
            UnknownArchitectureError: Nothing of the name is indexed, or has a graph here.
        """
        if "graph" in asked:
            return self._sent(str(asked.get("name", _UNNAMED))[:_NAME_LETTERS], asked["graph"])
        name = asked.get("architecture")
        if not isinstance(name, str):
            raise InvalidQueryError("architecture", "wanted a name, or a graph, came neither")
        return self._known(name, catalogue)

    def _sent(self, name: str, graph: Any) -> Architecture:  # noqa: ANN401
        with at("graph"):
            try:
                message = ParseDict(graph, Graph())
            except (ParseError, AttributeError, TypeError) as error:
                raise InvalidQueryError("", f"wanted a Graph, came {error}") from error
            config = self._config
            network = decode_graph(message, max_nodes=config.max_nodes, max_edges=config.max_edges)
        labels = Labels(name, source="page", library="-", family=UNKNOWN, task=UNKNOWN)
        return architecture(labels, network)

    def _known(self, name: str, catalogue: Catalogue) -> Architecture:
        entry = catalogue.names.get(name)
        if entry is None:
            raise UnknownArchitectureError(f"no architecture of the name {name!r} is indexed")
        read = self._graphs.read([name], {entry.source}) if self._graphs else {}
        if name not in read:
            raise UnknownArchitectureError(
                f"{name!r} is indexed without a graph: the corpus that this server reads, if any, "
                "has none of it"
            )
        return read[name]
