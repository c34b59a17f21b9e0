"""Cards: what a corpus says of an architecture besides its graph, quick to read for all of them."""

from dataclasses import dataclass, fields

import pyarrow as pa

from nar.architecture import Architecture, Labels
from nar.labels.paper_labels import paper_block, paper_family

_LABELS = tuple(field.name for field in fields(Labels))


@dataclass(frozen=True, slots=True)
class Card:
    """One row of a corpus without its graph.

    Attributes:
        labels: Name and labels.
        block: Coarse class: ``attention``, ``cnn`` or ``other``.
        paper_family: Fine class that the paper's rules read from the name.
        paper_block: Coarse class that the paper's rules read from the name.
        parameters: Learned scalars, tied ones once.
        flops: Floating-point operations of the captured forward pass.
        nodes: Operators.
        edges: Values passed.
        topology: Topology fingerprint, sha256 hex.
        exact: Exact fingerprint, sha256 hex.
    """

    labels: Labels
    block: str
    paper_family: str
    paper_block: str
    parameters: int
    flops: int
    nodes: int
    edges: int
    topology: str
    exact: str


def card_row(item: Architecture) -> dict[str, object]:
    """The card columns of one architecture."""
    labels, graph = item.labels, item.graph
    return {
        **{name: getattr(labels, name) for name in _LABELS},
        "block": item.block,
        "paper_family": paper_family(labels.name),
        "paper_block": paper_block(labels.name),
        "parameters": graph.parameters,
        "flops": graph.flops,
        "node_count": graph.nodes,
        "edge_count": graph.edges,
        "topology": bytes.fromhex(item.topology),
        "exact": bytes.fromhex(item.exact),
    }


def cards_of(table: pa.Table) -> list[Card]:
    """The cards of a table that has the card columns."""
    return [
        Card(
            labels=Labels(*(row[name] for name in _LABELS)),
            block=row["block"],
            paper_family=row["paper_family"],
            paper_block=row["paper_block"],
            parameters=row["parameters"],
            flops=row["flops"],
            nodes=row["node_count"],
            edges=row["edge_count"],
            topology=row["topology"].hex(),
            exact=row["exact"].hex(),
        )
        for row in table.to_pylist()
    ]
