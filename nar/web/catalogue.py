"""Where the page gets models from: the catalogue of an index, or a graph that a request brings."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from typing import Any, Final, Protocol

import numpy as np
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from numpy.typing import NDArray

from nar.answers.answer import Graphs
from nar.base.errors import InvalidQueryError, UnknownArchitectureError
from nar.graphs.architecture import UNKNOWN, Architecture, Labels, architecture
from nar.index.filters import EVERYTHING, Filter, conditions_of
from nar.index.rows import IndexEntry
from nar.v1.retrieval_pb2 import Graph
from nar.wire.graphs import decode_graph, encode_graph
from nar.wire.queries import at
from nar.wire.settings import ServerConfig

# Chosen: rows that are read at a time, fewer than the 16,384 that Milvus returns at most.
_PAGE: Final = 10_000
_WORD: Final = re.compile(r"[a-z0-9]+")
# Chosen: names in the list below the field; a longer list hides the page.
_SUGGESTED: Final = 12
# Chosen: how alike a misspelt name and its suggestion are at least; it is the default of difflib.
_LIKENESS: Final = 0.6


class CatalogueSource(Protocol):
    """What a catalogue is made from: a `Reader` or an `ArchitectureIndex`."""

    def count(self) -> int:
        """Number of rows."""

    def page(self, after: str, limit: int, wanted: Filter) -> list[IndexEntry]:
        """The rows that follow an id, ordered by id."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A name that may be meant."""

    name: str
    family: str
    task: str


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """A label of every architecture: its values, and the position of each row's value.

    Attributes:
        values: Every value once, the most frequent first.
        codes: Unsigned 16-bit integers, little endian, in base64.
    """

    values: tuple[str, ...]
    codes: str


@dataclass(frozen=True, slots=True)
class MapColumns:
    """What the map draws.

    Attributes:
        names: Names of the architectures.
        labels: Labels that a filter can ask for, by column: family, task, ...
        points: x and y of each, as 16-bit fractions of the map, little endian, in base64; None
            where the index has no map.
    """

    names: tuple[str, ...]
    labels: Mapping[str, LabelColumn]
    points: str | None


class Catalogue:
    """The architectures of an index; it never changes.

    Args:
        entries: The entry of each architecture in the index.
        points: Places on the map by name, each coordinate from -1 to 1; some names may be missing.
    """

    def __init__(
        self, entries: Sequence[IndexEntry], points: Mapping[str, NDArray[np.float32]]
    ) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._folded = {entry.name.lower(): entry.name for entry in entries}
        self._points = points

    @property
    def names(self) -> Mapping[str, IndexEntry]:
        """The entries of the index, by name."""
        return self._entries

    def suggested(self, text: str) -> list[Suggestion]:
        """Names with every word of a text, the likeliest first; if none has, similar names."""
        words = _WORD.findall(text.lower())
        if not words:
            return []
        matching = [name for name in self._folded if all(word in name for word in words)]
        if not matching:
            first = (_model(text.lower()) or words[0])[:1]
            matching = get_close_matches(text.lower(), self._stems(first), _SUGGESTED, _LIKENESS)
        matching.sort(key=lambda name: _rank(name, text.lower()))
        entries = (self._entries[self._folded[name]] for name in matching[:_SUGGESTED])
        return [Suggestion(entry.name, entry.family, entry.task) for entry in entries]

    def _stems(self, first: str) -> Iterator[str]:
        """Names whose model begins with a letter: people rarely misspell the first letter."""
        return (name for name in self._folded if _model(name).startswith(first))

    def columns(self) -> MapColumns:
        """What the map draws."""
        entries = list(self._entries.values())
        labels = {
            each.column: _column([getattr(entry, each.column) for entry in entries])
            for each in conditions_of(Filter)
            if each.is_label
        }
        return MapColumns(tuple(self._entries), labels, self._encoded_points())

    def _encoded_points(self) -> str | None:
        if not self._points:
            return None
        middle = np.zeros(2, dtype=np.float32)
        points = np.stack([self._points.get(name, middle) for name in self._entries])
        return _base64(np.round((points + 1) / 2 * np.iinfo(np.uint16).max))


def read_catalogue(index: CatalogueSource, points: Mapping[str, NDArray[np.float32]]) -> Catalogue:
    """The catalogue of all rows of an index."""
    entries: list[IndexEntry] = []
    while page := index.page(entries[-1].id if entries else "", _PAGE, EVERYTHING):
        entries += page
    return Catalogue(entries, points)


def _model(name: str) -> str:
    """A name without its source."""
    return name.rpartition(":")[2]


def _rank(name: str, text: str) -> tuple[bool, bool, bool, int, str]:
    """Exact names first, then models that begin with the text, then short names."""
    model = _model(name)
    is_exact, begins = text in (name, model), model.startswith(text)
    return not is_exact, not begins, text not in name, len(name), name


def _column(values: Sequence[str]) -> LabelColumn:
    distinct, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return LabelColumn(tuple(distinct[order].tolist()), _base64(rank[inverse]))


def _base64(numbers: NDArray[np.generic]) -> str:
    return b64encode(numbers.astype("<u2").tobytes()).decode()


_UNNAMED: Final = "your model"
# Chosen: longer names are cut; no heading shows more letters.
_NAME_LETTERS: Final = 200


class Models:
    """Finds the graphs of models.

    Args:
        graphs: Has the graphs of the index; None where the server reads no corpus.
        config: How large graphs may be.
    """

    def __init__(self, graphs: Graphs | None, config: ServerConfig) -> None:
        self._graphs = graphs
        self._config = config

    def find(self, asked: Mapping[str, Any], catalogue: Catalogue) -> Architecture:
        """A model.

        Args:
            asked: `architecture`, a name; or `graph`, the JSON of that message, and its `name`.
            catalogue: The architectures of the index.

        Raises:
            InvalidQueryError: There is neither a name nor a graph.
            InvalidGraphError: Names the field at fault.
            UnknownArchitectureError: Nothing of the name is indexed, or has a graph here.
        """
        if "graph" in asked:
            config = self._config
            return sent(asked, max_nodes=config.max_nodes, max_edges=config.max_edges)
        name = asked.get("architecture")
        if not isinstance(name, str):
            raise InvalidQueryError("architecture", "wanted a name, or a graph, came neither")
        return self._known(name, catalogue)

    def _known(self, name: str, catalogue: Catalogue) -> Architecture:
        entry = catalogue.names.get(name)
        if entry is None:
            raise UnknownArchitectureError(f"no architecture of the name {name!r} is indexed")
        read = self._graphs.graphs([name], {entry.source}) if self._graphs else {}
        if name not in read:
            raise UnknownArchitectureError(
                f"{name!r} is indexed without a graph: the corpus that this server reads, if any, "
                "has none of it"
            )
        return read[name]


def sent(asked: Mapping[str, Any], *, max_nodes: int, max_edges: int) -> Architecture:
    """The model of a graph that a request brings.

    Args:
        asked: `graph`, the JSON of that message, and its `name`.
        max_nodes: Nodes that it may have.
        max_edges: Edges that it may have.

    Raises:
        InvalidQueryError: It is no such message.
        InvalidGraphError: Names the field at fault.
    """
    with at("graph"):
        try:
            message = ParseDict(asked["graph"], Graph())
        except (ParseError, AttributeError, TypeError) as error:
            raise InvalidQueryError("", f"wanted a Graph, came {error}") from error
        network = decode_graph(message, max_nodes=max_nodes, max_edges=max_edges)
    name = str(asked.get("name", _UNNAMED))[:_NAME_LETTERS]
    labels = Labels(name, source="page", library="-", family=UNKNOWN, task=UNKNOWN)
    return architecture(labels, network)


def sides_as_json(sides: Sequence[Architecture | Mapping[str, Any]]) -> bytes:
    """Models for a process beside: those that are known with their labels, others as they came.

    Args:
        sides: Architectures, and what requests brought for `sent`.
    """
    return json.dumps([_side(each) for each in sides]).encode()


def _side(side: Architecture | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(side, Mapping):
        return {"model": side, "labels": None}
    return {
        "model": {"graph": MessageToDict(encode_graph(side.graph))},
        "labels": asdict(side.labels),
    }


def sides_of_json(written: bytes, *, max_nodes: int, max_edges: int) -> list[Architecture]:
    """The models of `sides_as_json`.

    Raises:
        InvalidQueryError: As of `sent`.
        InvalidGraphError: As of `sent`.
    """
    found = []
    for each in json.loads(written):
        item = sent(each["model"], max_nodes=max_nodes, max_edges=max_edges)
        labels = each["labels"]
        found.append(replace(item, labels=Labels(**labels)) if labels else item)
    return found
