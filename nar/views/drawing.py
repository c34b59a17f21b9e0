"""Drawings: the graph of a model, or its macro graph, in the formats that other tools read."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import networkx as nx

from nar.base.errors import InvalidInputError
from nar.base.files import write_whole
from nar.graphs.graph import ComputationalGraph, operand_lists
from nar.graphs.ops import ATTRIBUTES, op_name
from nar.motifs.macro_graph import macro_graph
from nar.motifs.partition import partition
from nar.views.display import in_brief
from nar.views.svg import Box, svg

# Of nodes 0, 1, ... in canonical order; each has a ``label``.
Drawing: TypeAlias = nx.MultiDiGraph


def drawn_operators(name: str, graph: ComputationalGraph) -> Drawing:
    """Every operator as a node with its attributes, every value passed as an edge."""
    drawing = Drawing(name=name)
    rows = zip(graph.op_ids.tolist(), graph.attributes.tolist(), strict=True)
    for node, (identifier, values) in enumerate(rows):
        attributes = {key: value for key, value in zip(ATTRIBUTES, values, strict=True) if value}
        drawing.add_node(node, label=op_name(identifier), **attributes)
    for node, operands in enumerate(operand_lists(graph.nodes, graph.edge_index)):
        for position, source in enumerate(operands):
            drawing.add_edge(source, node, operand=position)
    return drawing


def drawn_motifs(name: str, graph: ComputationalGraph) -> Drawing:
    """Every motif as a node, linked where one reads what another makes."""
    cut = partition(graph)
    macro = macro_graph(cut)
    operators = {code: cut.operators(code) for code in cut.counts()}
    drawing = Drawing(name=name)
    for motif, code in enumerate(cut.motif_codes.tolist()):
        names = operators[code]
        text = " ".join(names)
        drawing.add_node(motif, label=in_brief(names), code=f"{code:016x}", operators=text)
    drawing.add_edges_from(macro.edge_index.T.tolist())
    return drawing


def as_json(drawing: Drawing) -> str:
    """The node-link form of networkx: ``networkx.node_link_graph`` reads it."""
    return json.dumps(nx.node_link_data(drawing, edges="edges"), indent=1) + "\n"


def as_graphml(drawing: Drawing) -> str:
    """GraphML, as yEd, Gephi and ``networkx.read_graphml`` read it."""
    return "\n".join(nx.generate_graphml(drawing)) + "\n"


def as_dot(drawing: Drawing) -> str:
    r"""The language of Graphviz: ``dot -Tpdf``.

    Example:
        >>> drawing = Drawing(name='a "b"')
        >>> drawing.add_node(0, label="conv", kernel=3)
        >>> print(as_dot(drawing))
        digraph "a \"b\"" {
          node [shape=box]
          0 [label="conv", kernel="3"]
        }
        <BLANKLINE>
    """
    nodes = [f"  {node} [{_listed(data)}]" for node, data in drawing.nodes(data=True)]
    edges = [
        f"  {source} -> {target}" + (f" [{_listed(data)}]" if data else "")
        for source, target, data in drawing.edges(data=True)
    ]
    head = f"digraph {_quoted(drawing.name)} {{"
    return "\n".join([head, "  node [shape=box]", *nodes, *edges, "}", ""])


def as_svg(drawing: Drawing) -> str:
    """A picture from top to bottom, equal motifs and equal operators in one colour."""
    boxes = [
        Box(data["label"], data.get("code", data["label"])) for _, data in drawing.nodes(data=True)
    ]
    return svg(drawing.name, boxes, sorted(set(drawing.edges())))


_WRITERS: Final[Mapping[str, Callable[[Drawing], str]]] = {
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


def write_drawing(path: Path, drawing: Drawing) -> None:
    """Write a drawing in the format that the name of the file says.

    Raises:
        InvalidInputError: There is no such format, or the file cannot be written.
    """
    check_suffix(path)
    write_text(path, _WRITERS[path.suffix](drawing))


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        InvalidInputError: It cannot be written.
    """
    try:
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(str(path), f"cannot be written: {error.strerror}") from error


def _listed(data: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_quoted(str(value))}" for name, value in data.items())


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
