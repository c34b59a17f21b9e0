"""Macro graphs as arrays, and a network over them with what it can learn to guess."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmark.methods import default
from nar.encoding.default.pretraining import FeatureTable
from nar.encoding.default.recipe import DefaultConfig
from nar.encoding.losses import cosine_similarities, supervised_contrastive_loss
from nar.encoding.paper.merged import sparse_rows
from nar.graphs.hashing import Codes
from nar.graphs.ragged import Integers, offsets, owners, slices, slices_within
from nar.motifs.config import MotifConfig
from nar.motifs.feature_sets import FeatureSets, joined, motif_feature_sets
from nar.motifs.partition import MotifPartition, macro_graph

_NODES_A_RUN = 300_000
DIM: Final = 128
LAYERS: Final = 2
TEMPERATURE: Final = 0.1


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
    for part in slices_within([partition.graph.nodes for partition in cut], _NODES_A_RUN):
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


class MacroNetwork(nn.Module):
    """Motifs by their contents, and layers that read the motifs before and behind each."""

    def __init__(self) -> None:
        super().__init__()
        # Motif types are known by what they hold, not by their codes.
        kinds = tuple(kind for kind in default.PLAIN.features if kind != "motifs")
        recipe = default.PLAIN.model_copy(update={"features": kinds, "learned_dim": DIM})
        self.table = FeatureTable(DefaultConfig.of(default.MOTIFS, recipe))
        self.first = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, DIM))
        self.mask = nn.Parameter(torch.zeros(DIM))
        self.layers = nn.ModuleList(_Layer() for _ in range(LAYERS))

    def contents(self, batch: MacroBatch) -> Tensor:
        """Vectors of the motif types of a batch: shape (types, dim)."""
        vectors: Tensor = self.table(self.table.batch(batch.contents))
        return vectors

    def states(
        self, batch: MacroBatch, contents: Tensor, masked: NDArray[np.bool_] | None = None
    ) -> Tensor:
        """What each motif is and where it stands: shape (motifs, dim).

        Args:
            batch: Macro graphs.
            contents: Vectors of their motif types.
            masked: Shape (motifs,), whose contents are not seen.
        """
        states: Tensor = self.first(contents)[torch.from_numpy(batch.types)]
        if masked is not None:
            states = torch.where(torch.from_numpy(masked)[:, None], self.mask, states)
        for layer in self.layers:
            states = layer(states, batch)
        return states

    def forward(self, batch: MacroBatch) -> Tensor:
        """What is known of each graph: shape (graphs, dim)."""
        summed: Tensor = batch.sums @ self.states(batch, self.contents(batch))
        return summed


class _Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.own = nn.Linear(DIM, DIM)
        self.before = nn.Linear(DIM, DIM, bias=False)
        self.behind = nn.Linear(DIM, DIM, bias=False)
        self.norm = nn.LayerNorm(DIM)

    def forward(self, states: Tensor, batch: MacroBatch) -> Tensor:
        around = self.before(batch.before @ states) + self.behind(batch.behind @ states)
        read: Tensor = states + torch.relu(self.norm(self.own(states) + around))
        return read


class MaskedObjective(nn.Module):
    """The contents of masked motifs against those of all that are masked in the batch."""

    def __init__(self, network: MacroNetwork) -> None:
        super().__init__()
        self.network = network
        self.guess = nn.Linear(DIM, DIM)

    def forward(self, masked: tuple[MacroBatch, NDArray[np.bool_]]) -> Tensor:
        """The loss of a batch: mean over the masked motif types of every graph.

        Args:
            masked: Macro graphs; and shape (pairs,), which pairs of graph and motif type of
                `MacroBatch.kinds` are masked.
        """
        batch, is_masked = masked
        type_of_pair, pair = batch.kinds()
        hidden = is_masked[pair]
        contents = self.network.contents(batch)
        states = self.network.states(batch, contents, hidden)
        motifs = np.flatnonzero(hidden)
        asked, of_asked = np.unique(pair[motifs], return_inverse=True)
        means = mean_over(of_asked, motifs, len(asked), len(pair)) @ states
        candidates, right = np.unique(type_of_pair[asked], return_inverse=True)
        scores = cosine_similarities(self.guess(means), contents[torch.from_numpy(candidates)])
        return cross_entropy(scores / TEMPERATURE, torch.from_numpy(right))


class FamilyObjective(nn.Module):
    """The contrast of families over macro graphs."""

    def __init__(self, network: MacroNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: tuple[MacroBatch, Tensor]) -> Tensor:
        """The loss of a batch: macro graphs, and shape (graphs,) their families."""
        graphs, families = batch
        return supervised_contrastive_loss(self.network(graphs), families, temperature=TEMPERATURE)
