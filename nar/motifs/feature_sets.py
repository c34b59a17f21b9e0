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

A path has two edges. A neighbourhood of Eq. 2 changes as soon as one neighbour does, a path only if
one of its three nodes does, so designs that differ here and there still share most of their paths.
How often a path occurs counts to the nearest power of two below. With a third ``conv ─> relu``, two
of the paths above would be ``conv relu conv``: besides the code of this path, a second code then
stands for "twice or more". A third code stands for "four times or more".
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs import kernel
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import (
    AFTER,
    ASPECT,
    BEFORE,
    LEVEL,
    OWNER,
    Codes,
    first_of_each,
    mix,
    operator_codes,
    salted,
)
from nar.graphs.ragged import Integers, offsets, owners, ranks, slices
from nar.motifs.borders import REACH, at_border, kernel_properties
from nar.motifs.config import FeatureKind
from nar.motifs.neighbours import (
    CHANNEL_RATIO,
    HEADS,
    Wiring,
    refine,
    skeleton,
    tells_operands_apart,
    wiring,
    with_attributes,
)
from nar.motifs.partition import MotifPartition

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
    compiled = kernel.compiled()
    if compiled is not None:
        return _sets_compiled(partitions, compiled, border_widths)
    graphs = [partition.graph for partition in partitions]
    of_node = owners([graph.nodes for graph in graphs])
    of_motif = owners([part.motifs for part in partitions])
    motif_codes = np.concatenate([part.motif_codes for part in partitions])
    return _sets(graphs, of_node, (of_motif, motif_codes), len(graphs), border_widths)


def _sets_compiled(
    partitions: Sequence[MotifPartition], compiled: kernel.Kernel, border_widths: bool
) -> FeatureSets:
    rules = _feature_rules(compiled, border_widths)
    codes, aspects, weights, left_out = zip(
        *(
            compiled.features(
                np.ascontiguousarray(partition.graph.op_ids, dtype=np.uint16),
                np.ascontiguousarray(partition.graph.attributes, dtype=np.int16),
                np.ascontiguousarray(partition.graph.edge_index, dtype=np.int32),
                np.ascontiguousarray(partition.motif_codes),
                kernel_properties(),
                rules,
            )
            for partition in partitions
        ),
        strict=True,
    )
    _log_hubs(sum(left_out))
    start = offsets([len(of_graph) for of_graph in codes])
    return FeatureSets(
        np.concatenate(codes), np.concatenate(aspects), np.concatenate(weights), start
    )


@cache
def _feature_rules(compiled: kernel.Kernel, border_widths: bool) -> object:
    return compiled.FeatureRules(
        salts=kernel.salts(compiled),
        border_widths=border_widths,
        channel_ratio=CHANNEL_RATIO,
        heads=HEADS,
        reach=REACH,
        whole_steps=_WHOLE_STEPS,
        max_neighbours=MAX_NEIGHBOURS,
        max_level=MAX_LEVEL,
        code_bits=_CODE_BITS,
    )


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
    _log_hubs(walked.cut)
    return _weighted(*levels(owner[walked.middle], walked))


def _log_hubs(left_out: int) -> None:
    if left_out:
        _log.info("paths leave out %d neighbours of hubs", left_out)


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


# Chosen: of more different neighbours on one side of a node, this many are taken, by hash.
# Otherwise n edges could make n^2 paths through one node.
MAX_NEIGHBOURS: Final = 16
# Chosen: 2^6 times or more often count alike.
MAX_LEVEL: Final = 6

# Chosen: of the 64 bits of a key, 40 hold a code, which two neighbours of a node rarely share. The
# other 24 hold the number of a node: many more than are read at once.
_CODE_BITS: Final = 40


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Paths of graphs; equal paths through one node are one row.

    Attributes:
        middle: Shape (paths,), the node in the middle.
        codes: Shape (paths,), code of the three nodes in their order.
        times: Shape (paths,), how often the path occurs.
        cut: How many neighbours were left out, past `MAX_NEIGHBOURS` on one side of a node.
    """

    middle: Integers
    codes: Codes
    times: Integers
    cut: int


def paths(nodes: Codes, wires: Wiring) -> Paths:
    """All paths of two edges.

    Args:
        nodes: Shape (nodes,), code of each node.
        wires: The graphs.
    """
    nodes = _placed(nodes, wires)
    before = _neighbours(wires.target, nodes[wires.source], len(nodes))
    after = _neighbours(wires.source, nodes[wires.target], len(nodes))
    second, start = slices(after.start, before.node)
    first = owners(np.diff(start))
    middle = before.node[first]
    ends = mix(before.codes[first] * BEFORE) + after.codes[second] * AFTER
    times = before.times[first] * after.times[second]
    return Paths(middle, mix(ends + nodes[middle]), times, before.cut + after.cut)


def levels(owner: Integers, walked: Paths) -> tuple[Integers, Codes]:
    """A code for every path of an owner, and another code each time its number doubles.

    Args:
        owner: Shape (paths,), owner of each path.
        walked: The paths.

    Returns:
        Owner and code, each pair once. The codes of an owner come in the order of the codes of its
        paths, so that sums over them are the same to the bit, whatever is read beside the owner.
    """
    keys = salted(walked.codes, owner, OWNER)
    order = np.argsort(keys)
    is_first = np.diff(keys[order], prepend=~keys[order][:1]) != 0
    first = np.flatnonzero(is_first)
    times = np.add.reduceat(walked.times[order], first) if len(first) else walked.times
    count = np.minimum(np.log2(times).astype(np.int64), MAX_LEVEL) + 1
    alone = order[first]
    by_code = np.argsort(walked.codes[alone])
    kept, count = np.repeat(alone[by_code], count[by_code]), count[by_code]
    return owner[kept], salted(walked.codes[kept], ranks(count), LEVEL)


def _placed(nodes: Codes, wires: Wiring) -> Codes:
    """Node codes mixed with the slots in which readers with ordered operands read the nodes."""
    edges = np.flatnonzero(tells_operands_apart(wires))
    source = wires.source[edges]
    seen = mix(operator_codes(wires.op_ids[wires.target[edges]]) + wires.slot[edges])
    first = first_of_each(salted(seen, source, OWNER))
    read_as = np.zeros(len(nodes), dtype=np.uint64)
    np.add.at(read_as, source[first], seen[first])
    return mix(nodes + mix(read_as))


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """Different neighbours of nodes on one side, how often, and where they begin for each node.

    ``cut`` counts the neighbours that were left out.
    """

    node: Integers
    codes: Codes
    times: Integers
    start: Integers
    cut: int


def _neighbours(node: Integers, codes: Codes, nodes: int) -> _Neighbours:
    # Node and code in one integer: a single sort, after which both can be read from the keys.
    bits = np.uint64(_CODE_BITS)
    keys = np.sort((node.astype(np.uint64) << bits) | (codes >> np.uint64(64 - _CODE_BITS)))
    first = np.flatnonzero(np.diff(keys, prepend=~keys[:1]) != 0)
    times = np.diff(np.append(first, len(keys)))
    keys = keys[first]
    owner = (keys >> bits).astype(np.int64)
    start = offsets(np.bincount(owner, minlength=nodes))
    kept = np.arange(len(owner)) - start[owner] < MAX_NEIGHBOURS
    cut = int(np.count_nonzero(~kept))
    owner, keys, times = owner[kept], keys[kept], times[kept]
    start = offsets(np.bincount(owner, minlength=nodes))
    return _Neighbours(owner, keys & ((np.uint64(1) << bits) - np.uint64(1)), times, start, cut)
