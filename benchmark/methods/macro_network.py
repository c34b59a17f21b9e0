"""A network over macro graphs, and what it learns: masked motifs, families.

A motif is what it is made of: its vector is the sum of the vectors of its features, so that a motif
type that was never seen has one, too. The network passes these along the links of the macro graph,
in both directions. It learns without labels what stands between its neighbours:

      A ─> B ─> B ─> C          A ─> ? ─> ? ─> C          which of the masked motifs of the batch
                                                          has the contents of B?

All motifs of a type are masked together, or the second B would tell the first.
"""

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmark.methods import default
from benchmark.methods.macro_graphs import MacroBatch, mean_over
from nar.encoding.default.encoder import FeatureTable
from nar.encoding.default.recipe import DefaultConfig
from nar.encoding.losses import cosine_similarities, supervised_contrastive_loss

DIM: Final = 128
LAYERS: Final = 2
TEMPERATURE: Final = 0.1


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
