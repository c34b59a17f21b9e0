"""Feature sets: the operators, motif types and paths that occur in a graph.

A graph is read under several aspects, from coarse to fine: operators alone, operators with their
neighbours (Eq. 2 with s = 1), operators with their attributes, motif types, and paths of two edges;
then neighbours and paths of the skeleton, which has no norms and activations; and two codes of the
whole graph. A feature is one code of one aspect. Six nodes, and their features:

      input ─> conv ─> relu ─> conv ─> relu ─> linear
               └──── B ────┘  └──── B ────┘

      operators     input, conv, relu, linear                   each once
      neighbours    (input >conv), (input> conv >relu), (conv> relu >conv), ...
      attributes    conv 3x3, conv 3x3 that doubles the channels, relu, ...
      motif types   B, and what is around it
      paths         input conv relu, conv relu conv, relu conv relu, conv relu linear
      skeleton      (input >conv), (input> conv >conv), ...; input conv conv, conv conv linear
      whole         the design; the skeleton with its attributes
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import (
    ASPECT,
    OWNER,
    Codes,
    first_of_each,
    mix,
    operator_codes,
    salted,
)
from nar.graphs.ragged import Integers, offsets, owners, slices
from nar.motifs.borders import at_border
from nar.motifs.config import FeatureKind
from nar.motifs.neighbours import Wiring, refine, wiring, with_attributes
from nar.motifs.partition import MotifPartition
from nar.motifs.paths import levels, paths
from nar.motifs.skeleton import skeleton

# Chosen: the code of a whole graph sums up nodes in surroundings of so many steps, enough to
# separate designs.
_WHOLE_STEPS: Final = 2

_log = logging.getLogger(__name__)

# Kind of each aspect. Wider neighbourhoods, and neighbourhoods with attributes, occur in one family
# only: training memorises them, and they say nothing about an unseen family.
ASPECT_KINDS: Final[tuple[FeatureKind, ...]] = (
    "operators",
    "operators",
    "attributes",
    "motifs",
    "paths",
    "skeleton",
    "skeleton",
    "whole",
    "whole",
)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSets:
    """Distinct features of graphs, end to end.

    Attributes:
        codes: Shape (features,). Codes of different aspects are different.
        aspects: Shape (features,), uint8, aspect of each feature.
        weights: Shape (features,), float32: the weights of one aspect of one graph make a vector of
            length 1.
        start: Shape (graphs + 1,), where the features of each graph begin.
    """

    codes: Codes
    aspects: NDArray[np.uint8]
    weights: NDArray[np.float32]
    start: Integers

    @property
    def count(self) -> int:
        """Number of graphs."""
        return len(self.start) - 1

    def take(self, graphs: Integers) -> "FeatureSets":
        """The features of some of the graphs, in their order."""
        chosen, start = slices(self.start, graphs)
        return FeatureSets(self.codes[chosen], self.aspects[chosen], self.weights[chosen], start)

    def graph(self) -> Integers:
        """Shape (features,), graph of each feature."""
        return owners(np.diff(self.start))


def feature_sets(
    partitions: Sequence[MotifPartition], *, border_widths: bool = True
) -> FeatureSets:
    """The features of canonical graphs and of their motifs.

    Args:
        partitions: At least one graph, cut into motifs.
        border_widths: See `nar.motifs.config.MotifConfig`.
    """
    graphs = [partition.graph for partition in partitions]
    of_node = owners([graph.nodes for graph in graphs])
    of_motif = owners([part.motifs for part in partitions])
    motif_codes = np.concatenate([part.motif_codes for part in partitions])
    return _sets(graphs, of_node, (of_motif, motif_codes), len(graphs), border_widths)


def motif_feature_sets(
    partitions: Sequence[MotifPartition], *, border_widths: bool = True
) -> tuple[FeatureSets, list[Integers]]:
    """The features of each motif type of each graph, as `feature_sets` gives them for graphs.

    Returns:
        The sets, and for each graph the number of the set of each motif: shape (motifs,).
    """
    sets: list[Integers] = []
    codes: list[Codes] = []
    count = 0
    for partition in partitions:
        types, number = np.unique(partition.motif_codes, return_inverse=True)
        sets.append(number + count)
        codes.append(types)
        count += len(types)
    graphs = [partition.graph for partition in partitions]
    of_node = np.concatenate(
        [own[partition.node_to_motif] for own, partition in zip(sets, partitions, strict=True)]
    )
    motifs = (np.arange(count), np.concatenate(codes))
    return _sets(graphs, of_node, motifs, count, border_widths), sets


def joined(parts: Sequence[FeatureSets]) -> FeatureSets:
    """Sets, one after the other."""
    shift = offsets([len(part.codes) for part in parts])
    starts = [part.start[:-1] + before for part, before in zip(parts, shift, strict=False)]
    return FeatureSets(
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.aspects for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([*starts, shift[-1:]]),
    )


def _sets(
    graphs: Sequence[ComputationalGraph],
    of_node: Integers,
    motifs: tuple[Integers, Codes],
    count: int,
    border_widths: bool,
) -> FeatureSets:
    """The sets of ``count`` owners, from the owner of each node and the owners of motifs."""
    wires = wiring(graphs)
    operators = operator_codes(wires.op_ids)
    borderless = with_attributes(operators, graphs, at_border(wires))
    attributes = with_attributes(operators, graphs) if border_widths else borderless
    near = refine(operators, wires, 1)
    kept, bones = skeleton(wires)
    of_bone, shape = of_node[kept], refine(borderless[kept], bones, _WHOLE_STEPS)
    aspects = [
        _distinct(of_node, operators),
        _distinct(of_node, near),
        _distinct(of_node, attributes),
        _distinct(*motifs),
        _paths(of_node, attributes, wires),
        _distinct(of_bone, refine(operators[kept], bones, 1)),
        _paths(of_bone, attributes[kept], bones),
        _whole(of_node, refine(near, wires, _WHOLE_STEPS - 1), count),
        # Without widths at borders: the code stays at twice the width, or with other classes.
        _whole(of_bone, shape, count),
    ]
    return _assembled(aspects, count)


def _paths(owner: Integers, nodes: Codes, wires: Wiring) -> "_Aspect":
    """The paths of each owner; a path belongs to the owner of its middle node."""
    walked = paths(nodes, wires)
    if walked.cut:
        _log.info("paths leave out %d neighbours of hubs", walked.cut)
    return _weighted(*levels(owner[walked.middle], walked))


def _whole(owner: Integers, codes: Codes, count: int) -> "_Aspect":
    """One code for all nodes of each owner, whatever their numbering."""
    sums = np.zeros(count, dtype=np.uint64)
    np.add.at(sums, owner, mix(codes))
    owns = np.flatnonzero(np.bincount(owner, minlength=count))
    return _weighted(owns, mix(sums[owns]))


_Aspect = tuple[Integers, Codes, NDArray[np.float32]]


def _distinct(owner: Integers, codes: Codes) -> _Aspect:
    """Each code of each owner once, with its weight."""
    # One sort of mixed keys is faster than a sort by two columns.
    first = first_of_each(salted(codes, owner, OWNER))
    return _weighted(owner[first], codes[first])


def _weighted(owner: Integers, codes: Codes) -> _Aspect:
    """Owners and codes, with the weights that make a unit vector of the codes of each owner."""
    weights = 1 / np.sqrt(np.bincount(owner)[owner])
    return owner, codes, weights.astype(np.float32)


def _assembled(aspects: Sequence[_Aspect], count: int) -> FeatureSets:
    owner = np.concatenate([aspect[0] for aspect in aspects])
    number = owners([len(aspect[0]) for aspect in aspects])
    codes = np.concatenate([aspect[1] for aspect in aspects])
    weights = np.concatenate([aspect[2] for aspect in aspects])
    order = np.argsort(owner, kind="stable")
    return FeatureSets(
        salted(codes, number, ASPECT)[order],
        number[order].astype(np.uint8),
        weights[order],
        np.searchsorted(owner[order], np.arange(count + 1)),
    )
