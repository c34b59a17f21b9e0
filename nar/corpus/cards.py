"""Cards: what a corpus says of an architecture besides its graph, quick to read for all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pyarrow as pa

from nar.corpus.columns import graphs_of
from nar.corpus.schema import CARD_COLUMNS, INFERENCE
from nar.graphs.architecture import Architecture, Labels
from nar.graphs.normal_form import inference_fingerprint
from nar.labels.paper_labels import paper_block, paper_family

_LABELS = tuple(field.name for field in fields(Labels))
_FINGERPRINTS = ("topology", "exact", INFERENCE)
# Field of a card -> column, of those that are stored as they are.
_COLUMNS = {
    **{name: name for name in ("block", "paper_family", "paper_block", "parameters", "flops")},
    "nodes": "node_count",
    "edges": "edge_count",
}


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
        inference: Inference fingerprint, sha256 hex.
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
    inference: str


def card_of(item: Architecture) -> Card:
    """The card of an architecture."""
    name, graph = item.labels.name, item.graph
    return Card(
        labels=item.labels,
        block=item.block,
        paper_family=paper_family(name),
        paper_block=paper_block(name),
        parameters=graph.parameters,
        flops=graph.flops,
        nodes=graph.nodes,
        edges=graph.edges,
        topology=item.topology,
        exact=item.exact,
        inference=item.inference,
    )


def card_row(card: Card) -> dict[str, object]:
    """What a card says, column by column."""
    return {
        **{name: getattr(card.labels, name) for name in _LABELS},
        **{column: getattr(card, name) for name, column in _COLUMNS.items()},
        **{name: bytes.fromhex(getattr(card, name)) for name in _FINGERPRINTS},
    }


def cards_of(table: pa.Table) -> list[Card]:
    """The cards of a table that has the card columns.

    Without the column of inference fingerprints it has the graph columns, which these are made of.
    """
    columns = [name for name in CARD_COLUMNS if name in table.column_names]
    cards = [_card(row) for row in table.select(columns).to_pylist()]
    if INFERENCE in columns:
        return cards
    pairs = zip(cards, graphs_of(table), strict=True)
    return [replace(card, inference=inference_fingerprint(graph)) for card, graph in pairs]


def card_table(table: pa.Table, columns: Sequence[str] = CARD_COLUMNS) -> pa.Table:
    """Some of the card columns of a table, as `cards_of` reads them."""
    if INFERENCE not in columns or INFERENCE in table.column_names:
        return table.select(columns)
    prints = [bytes.fromhex(card.inference) for card in cards_of(table)]
    column = pa.array(prints, pa.binary(32))
    return table.append_column(INFERENCE, column).select(columns)


def _card(row: Mapping[str, Any]) -> Card:
    return Card(
        Labels(*(row[name] for name in _LABELS)),
        **{name: row[column] for name, column in _COLUMNS.items()},
        **{name: row.get(name, b"").hex() for name in _FINGERPRINTS},
    )
