"""Export: the graph of a model, or its macro graph, in the formats that other tools read."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, TypeAlias

import networkx as nx

from nar.base.errors import InvalidInputError
from nar.base.files import write_text
from nar.graphs.graph import ComputationalGraph, operand_lists
from nar.graphs.ops import ATTRIBUTES, op_name
from nar.motifs.partition import macro_graph, partition
from nar.views.display import in_brief

# Its nodes are 0, 1, ... in canonical order, and each node has a ``label``.
ExportedGraph: TypeAlias = nx.MultiDiGraph


def operator_graph(name: str, graph: ComputationalGraph) -> ExportedGraph:
    """Every operator as a node with its attributes, every value passed as an edge."""
    exported = ExportedGraph(name=name)
    rows = zip(graph.op_ids.tolist(), graph.attributes.tolist(), strict=True)
    for node, (identifier, values) in enumerate(rows):
        attributes = {key: value for key, value in zip(ATTRIBUTES, values, strict=True) if value}
        exported.add_node(node, label=op_name(identifier), **attributes)
    for node, operands in enumerate(operand_lists(graph.nodes, graph.edge_index)):
        for position, source in enumerate(operands):
            exported.add_edge(source, node, operand=position)
    return exported


def motif_graph(name: str, graph: ComputationalGraph) -> ExportedGraph:
    """Every motif as a node, linked where a motif reads a value of another."""
    cut = partition(graph)
    macro = macro_graph(cut)
    operators = {code: cut.operators(code) for code in cut.counts()}
    exported = ExportedGraph(name=name)
    for motif, code in enumerate(cut.motif_codes.tolist()):
        names = operators[code]
        text = " ".join(names)
        exported.add_node(motif, label=in_brief(names), code=f"{code:016x}", operators=text)
    exported.add_edges_from(macro.edge_index.T.tolist())
    return exported


def as_json(exported: ExportedGraph) -> str:
    """The node-link form of networkx: ``networkx.node_link_graph`` reads it."""
    return json.dumps(nx.node_link_data(exported, edges="edges"), indent=1) + "\n"


def as_graphml(exported: ExportedGraph) -> str:
    """GraphML, as yEd, Gephi and ``networkx.read_graphml`` read it."""
    return "\n".join(nx.generate_graphml(exported)) + "\n"


def as_dot(exported: ExportedGraph) -> str:
    r"""The language of Graphviz: ``dot -Tpdf``.

    Example:
        >>> exported = ExportedGraph(name='a "b"')
        >>> exported.add_node(0, label="conv", kernel=3)
        >>> print(as_dot(exported))
        digraph "a \"b\"" {
          node [shape=box]
          0 [label="conv", kernel="3"]
        }
        <BLANKLINE>
    """
    nodes = [f"  {node} [{_listed(data)}]" for node, data in exported.nodes(data=True)]
    edges = [
        f"  {source} -> {target}" + (f" [{_listed(data)}]" if data else "")
        for source, target, data in exported.edges(data=True)
    ]
    head = f"digraph {_quoted(exported.name)} {{"
    return "\n".join([head, "  node [shape=box]", *nodes, *edges, "}", ""])


def as_svg(exported: ExportedGraph) -> str:
    """A picture from top to bottom, equal motifs and equal operators in one colour."""
    boxes = [
        NodeBox(data["label"], data.get("code", data["label"]))
        for _, data in exported.nodes(data=True)
    ]
    return svg(exported.name, boxes, sorted(set(exported.edges())))


_WRITERS: Final[Mapping[str, Callable[[ExportedGraph], str]]] = {
    ".dot": as_dot,
    ".graphml": as_graphml,
    ".json": as_json,
    ".svg": as_svg,
}


def check_suffix(path: Path) -> None:
    """See that a file can be written, before a model is captured for it.

    Raises:
        InvalidInputError: Its name ends as no format does.
    """
    if path.suffix not in _WRITERS:
        raise InvalidInputError(str(path), f"wanted a name that ends in {', '.join(_WRITERS)}")


def write_graph(path: Path, exported: ExportedGraph) -> None:
    """Write an exported graph in the format that the name of the file says.

    Raises:
        InvalidInputError: There is no such format, or the file cannot be written.
    """
    check_suffix(path)
    write_text(path, _WRITERS[path.suffix](exported))


def _listed(data: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_quoted(str(value))}" for name, value in data.items())


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# Height of a line in pixels. Chosen: a third more than the size of the letters, 12 pixels.
_LINE: Final = 16
# Width of a letter in pixels: 0.6 of its size, as in most fonts of fixed width.
_LETTER: Final = 7.2
# Chosen: pixels between the text and the edge of its box.
_PAD: Final = 8
# Chosen: pixels between boxes side by side.
_GAP_X: Final = 24
# Chosen: pixels between layers, room enough for a line to bend.
_GAP_Y: Final = 28
# Chosen: longer labels are wrapped, so that no box is wider than 280 pixels.
_LETTERS_A_LINE: Final = 36


@dataclass(frozen=True, slots=True)
class NodeBox:
    """The box of a node.

    Attributes:
        label: Its text.
        kind: Decides its colour.
    """

    label: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Placed:
    """A box with its lines; x and y of the middle of its upper edge."""

    box: NodeBox
    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float


def svg(title: str, boxes: Sequence[NodeBox], edges: Iterable[tuple[int, int]]) -> str:
    """Draw a graph.

    Args:
        title: What the picture shows; screen readers read it out.
        boxes: In an order in which most edges go forward.
        edges: Pairs of positions.

    Example:
        >>> text = svg("two", [NodeBox("conv", "a"), NodeBox("relu", "b")], [(0, 1)])
        >>> text.count("<rect"), text.count("<path")
        (2, 1)
    """
    links = list(edges)
    placed = _placed(boxes, _layers(len(boxes), links))
    right = max((each.x + each.width / 2 for each in placed), default=0.0)
    left = min((each.x - each.width / 2 for each in placed), default=0.0) - 2 * _GAP_X
    width, height = right - left + 2 * _GAP_X, max((_bottom(each) for each in placed), default=0.0)
    size = f"{width:.0f} {height + _GAP_Y:.0f}"
    frame = f'viewBox="{left:.0f} 0 {size}" width="{width:.0f}" height="{height + _GAP_Y:.0f}"'
    lines = [_path(placed[source], placed[target]) for source, target in links]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {frame} '
            'font-family="ui-monospace, monospace" font-size="12">',
            f"<title>{escape(title)}</title>",
            f'<g fill="none" stroke="#888">{"".join(lines)}</g>',
            *map(_rectangle, placed),
            "</svg>",
            "",
        ]
    )


def _layers(nodes: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """Layer of each node: below the nodes that it reads; edges that go back do not count.

    Example:
        >>> _layers(4, [(0, 1), (1, 2), (0, 3), (2, 1)])
        [0, 1, 2, 1]
    """
    layers = [0] * nodes
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        if source < target:
            layers[target] = max(layers[target], layers[source] + 1)
    return layers


def _placed(boxes: Sequence[NodeBox], layers: Sequence[int]) -> list[_Placed]:
    rows: dict[int, list[int]] = defaultdict(list)
    for node, layer in enumerate(layers):
        rows[layer].append(node)
    placed: dict[int, _Placed] = {}
    top = float(_GAP_Y)
    for layer in sorted(rows):
        texts = [tuple(wrap(boxes[node].label, _LETTERS_A_LINE)) for node in rows[layer]]
        widths = [max(map(len, lines), default=1) * _LETTER + 2 * _PAD for lines in texts]
        height = max(len(lines) for lines in texts) * _LINE + 2 * _PAD
        x = -(sum(widths) + _GAP_X * (len(widths) - 1)) / 2
        for node, lines, width in zip(rows[layer], texts, widths, strict=True):
            placed[node] = _Placed(boxes[node], lines, x + width / 2, top, width, height)
            x += width + _GAP_X
        top += height + _GAP_Y
    return [placed[node] for node in range(len(boxes))]


def _bottom(placed: _Placed) -> float:
    return placed.y + placed.height


def _path(source: _Placed, target: _Placed) -> str:
    """The line of an edge; a line past other layers goes round them on the left."""
    start, end = _bottom(source), target.y
    skips = not 0 < end - start <= _GAP_Y
    bend = (max(source.width, target.width) / 2 + _GAP_X) * skips
    middle = (end - start) / 2 if not skips else _GAP_Y
    return (
        f'<path d="M{source.x:.0f} {start:.0f}C{source.x - bend:.0f} {start + middle:.0f} '
        f'{target.x - bend:.0f} {end - middle:.0f} {target.x:.0f} {end:.0f}"/>'
    )


def _rectangle(placed: _Placed) -> str:
    hue = int.from_bytes(blake2b(placed.box.kind.encode(), digest_size=2).digest()) % 360
    left = placed.x - placed.width / 2
    texts = "".join(
        f'<text x="{placed.x:.0f}" y="{placed.y + _PAD + _LINE * (line + 0.8):.0f}" '
        f'text-anchor="middle" fill="#111">{escape(text)}</text>'
        for line, text in enumerate(placed.lines)
    )
    return (
        f'<g><rect x="{left:.0f}" y="{placed.y:.0f}" width="{placed.width:.0f}" '
        f'height="{placed.height:.0f}" rx="4" fill="hsl({hue} 60% 85%)" '
        f'stroke="hsl({hue} 40% 45%)"/>{texts}</g>'
    )
