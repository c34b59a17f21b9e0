"""Packed layers: query, key and value of an attention made by one layer, which was itself a sum.

Capture reads a packed layer as the three that it is, unless something is added to it before it is
taken apart: an adapter.

::

    x -> linear -----------> add -> split -> attention    is  x -> linear -> attention
    x -> linear -> linear --/                                 x -> linear --/
                                                              x -> linear --/
"""

from dataclasses import replace

from nar.graphs.normal_form.linear_sums import LinearSum
from nar.graphs.normal_form.rules import LinearSums
from nar.graphs.ops import op_id

_SPLIT, _ATTENTION = op_id("split"), op_id("attention")


def unpacked(sums: LinearSums, layers: dict[int, LinearSum]) -> dict[int, tuple[int, ...]]:
    """Put three layers in the place of each that an attention alone reads, in parts.

    Args:
        sums: Of the graph.
        layers: Nodes that become one layer; the parts of packed ones are added.

    Returns:
        Of each split that goes, the nodes that are read in its place. They are three of those that
        the layer and the split would have left.
    """
    parts: dict[int, tuple[int, ...]] = {}
    for node, total in list(layers.items()):
        layer = total.layer.third() if total.layer else None
        split = sums.only_reader(node, _SPLIT)
        if layer is None or split is None or sums.only_reader(split, _ATTENTION) is None:
            continue
        parts[split] = (node, split, total.parts[0])
        layers.update(dict.fromkeys(parts[split], replace(total, layer=layer)))
    return parts
