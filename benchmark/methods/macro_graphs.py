"""Macro graphs of many architectures, laid end to end, with the contents of their motif types."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from nar.encoding.batches import runs
from nar.encoding.paper.merged import sparse_rows
from nar.graphs.hashing import Codes
from nar.graphs.ragged import Integers, offsets, owners, slices
from nar.motifs.config import MotifConfig
from nar.motifs.feature_sets import FeatureSets, joined, motif_feature_sets
from nar.motifs.motif_graphs import macro_graph
from nar.motifs.partition import MotifPartition

_NODES_A_RUN = 300_000


@dataclass(frozen=True, slots=True, eq=False)
class MacroBatch:
    """Some macro graphs, as a network reads them.

    Attributes:
        contents: Features of the motif types that occur.
        types: Shape (motifs,), type of each.
        graphs: Shape (motifs,), graph of each.
        before: Shape (motifs, motifs), sparse rows: the mean over the motifs that each reads.
        behind: The same over those that read it.
        sums: Shape (graphs, motifs), sparse rows: every motif type of a graph counts the same, and
            all of them as a vector of length 1.
    """

    contents: FeatureSets
    types: Integers
    graphs: Integers
    before: Tensor
    behind: Tensor
    sums: Tensor

    def kinds(self) -> tuple[Integers, Integers]:
        """The distinct pairs of graph and motif type, and the pair of each motif.

        Returns:
            The motif type of each pair, shape (pairs,); and shape (motifs,).
        """
        keys = self.graphs * self.contents.count + self.types
        pairs, pair = np.unique(keys, return_inverse=True)
        return pairs % self.contents.count, pair


@dataclass(frozen=True, slots=True, eq=False)
class MacroGraphs:
    """Macro graphs.

    Attributes:
        contents: Features of every motif type.
        types: Shape (motifs,), motif type of each, the graphs one after the other.
        start: Shape (graphs + 1,), where the motifs of each graph begin.
        links: Shape (2, links), numbers of motifs within their graph.
        link_start: Shape (graphs + 1,), where the links of each graph begin.
    """

    contents: FeatureSets
    types: Integers
    start: Integers
    links: Integers
    link_start: Integers

    @property
    def count(self) -> int:
        """Number of graphs."""
        return len(self.start) - 1

    def take(self, graphs: Integers) -> MacroBatch:
        """Some of the graphs, in their order."""
        motifs, start = slices(self.start, graphs)
        links, link_start = slices(self.link_start, graphs)
        sizes = np.diff(start)
        shift = np.repeat(offsets(sizes)[:-1], np.diff(link_start))
        source, target = self.links[:, links] + shift
        here, types = np.unique(self.types[motifs], return_inverse=True)
        owner = owners(sizes)
        return MacroBatch(
            self.contents.take(here),
            types,
            owner,
            mean_over(target, source, len(types), len(types)),
            mean_over(source, target, len(types), len(types)),
            _sums(owner, types, len(sizes)),
        )


def macro_graphs(cut: Sequence[MotifPartition], config: MotifConfig) -> MacroGraphs:
    """The macro graphs of architectures that are cut into motifs.

    Args:
        cut: At least one.
        config: How they were cut.
    """
    graphs = [macro_graph(partition) for partition in cut]
    codes = np.concatenate([graph.motif_codes for graph in graphs])
    _, types = np.unique(codes, return_inverse=True)
    links = np.concatenate([graph.edge_index for graph in graphs], axis=1).astype(np.int64)
    return MacroGraphs(
        _contents(cut, config),
        types,
        offsets([len(graph.motif_codes) for graph in graphs]),
        links,
        offsets([graph.edge_index.shape[1] for graph in graphs]),
    )


def _contents(cut: Sequence[MotifPartition], config: MotifConfig) -> FeatureSets:
    """The features of each motif type, in the order of their codes.

    They are those of the first graph that has it: neighbours and paths at its edge reach into what
    surrounds it there.
    """
    parts: list[FeatureSets] = []
    found: list[Codes] = []
    for part in runs([partition.graph.nodes for partition in cut], _NODES_A_RUN):
        sets, _ = motif_feature_sets(cut[part], border_widths=config.border_widths)
        codes = np.concatenate([np.unique(each.motif_codes) for each in cut[part]])
        _, first = np.unique(codes, return_index=True)
        parts.append(sets.take(first))
        found.append(codes[first])
    _, first = np.unique(np.concatenate(found), return_index=True)
    return joined(parts).take(first)


def mean_over(group: Integers, members: Integers, count: int, width: int) -> Tensor:
    """Sparse rows, of shape (count, width), that give each group the mean over its members."""
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=count)
    values = (1 / sizes[group[order]]).astype(np.float32)
    return sparse_rows(offsets(sizes), members[order], values, width)


def _sums(owner: Integers, types: Integers, count: int) -> Tensor:
    keys = owner * (int(types.max()) + 1) + types
    _, pair, times = np.unique(keys, return_inverse=True, return_counts=True)
    of_type = 1 / times[pair]
    kinds = np.bincount(owner, weights=of_type, minlength=count)
    values = (of_type / np.sqrt(kinds[owner])).astype(np.float32)
    sizes = np.bincount(owner, minlength=count)
    return sparse_rows(offsets(sizes), np.arange(len(owner)), values, len(owner))
