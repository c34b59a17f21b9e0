"""Where the page gets a model from: a name of the index, or a graph that came with the request."""

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.json_format import ParseDict, ParseError

from nar.answers.explanation import Drawn
from nar.base.errors import InvalidQueryError, UnknownArchitectureError, at
from nar.serve.explaining import Graphs
from nar.v1.retrieval_pb2 import Graph
from nar.web.catalogue import Catalogue
from nar.wire.graphs import decode_graph
from nar.wire.settings import ServerConfig

_UNNAMED: Final = "your model"


class Models:
    """Finds the graphs of models.

    Args:
        graphs: Has those of the index; None where the server reads no corpus.
        config: How large graphs may be.
    """

    def __init__(self, graphs: Graphs | None, config: ServerConfig) -> None:
        self._graphs = graphs
        self._config = config

    def find(self, asked: Mapping[str, Any], catalogue: Catalogue) -> tuple[str, Drawn]:
        """The name and graph of a model.

        Args:
            asked: `architecture`, a name; or `graph`, the JSON of that message, and its `name`.
            catalogue: Of the index.

        Raises:
            InvalidQueryError: It is neither.
            InvalidGraphError: Names the field at fault.
            UnknownArchitectureError: Nothing of the name is indexed, or has a graph here.
        """
        if "graph" in asked:
            return str(asked.get("name", _UNNAMED))[:200], self._sent(asked["graph"])
        name = asked.get("architecture")
        if not isinstance(name, str):
            raise InvalidQueryError("architecture", "wanted a name, or a graph, came neither")
        return name, self._known(name, catalogue)

    def _sent(self, graph: Any) -> Drawn:  # noqa: ANN401
        with at("graph"):
            try:
                message = ParseDict(graph, Graph())
            except (ParseError, AttributeError, TypeError) as error:
                raise InvalidQueryError("", f"wanted a Graph, came {error}") from error
            config = self._config
            return decode_graph(message, max_nodes=config.max_nodes, max_edges=config.max_edges)

    def _known(self, name: str, catalogue: Catalogue) -> Drawn:
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
