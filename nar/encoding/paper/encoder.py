"""The paper's encoder: from motifs to vectors, by the graph convolutions of Eq. 3.

Each motif type is encoded once; its embedding is kept in memory.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout, relu

from nar.base.errors import ConfigError
from nar.encoding.paper.merged import GraphBatch, RowGraph, collate, merged
from nar.encoding.paper.recipe import PaperConfig
from nar.graphs.hashing import Codes
from nar.graphs.ops import one_hot_columns
from nar.graphs.ragged import owners, ranks, slices_within
from nar.motifs.partition import MotifPartition, macro_graph, motif_subgraph

# Chosen: 40 MB of embeddings of 512 numbers.
CACHED_MOTIFS = 20_000
# Chosen: bounds the features of a batch, 134 MB of 512 numbers a node, and fills a GPU.
NODES_A_BATCH = 65_536


class GraphConvolution(nn.Module):
    """One product A H W of Eq. 3.

    It equals torch-geometric's ``GCNConv(normalize=False, bias=False)``, also in the names of its
    weights. Importing that package would cost every process that embeds some seconds.
    """

    def __init__(self, width: int, dim: int) -> None:
        super().__init__()
        self.lin = nn.Linear(width, dim, bias=False)
        nn.init.xavier_uniform_(self.lin.weight)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """New features, shape (rows, dim), from features of shape (columns, width)."""
        # The product is associative: the weights go where there are fewer rows.
        rows, columns = adjacency.shape
        features: Tensor = self.lin(adjacency @ x) if rows < columns else adjacency @ self.lin(x)
        return features


class GraphEncoder(nn.Module):
    """F_s, F_c or F_m of Eq. 3: layers H' = relu(A H W), the last without relu, then the mean.

    Args:
        features: Width of the node features.
        dim: Width of every layer.
        layers: Number of graph convolutions, at least 2.
        rate: Dropout between layers, while training.
    """

    def __init__(self, features: int, dim: int, *, layers: int, rate: float = 0.0) -> None:
        super().__init__()
        if layers < 2:
            raise ConfigError(f"layers: wanted at least 2 graph convolutions, came {layers}")
        widths = [features] + [dim] * (layers - 1)
        # A batch holds A normalised: computed once for all layers.
        self.layers = nn.ModuleList(GraphConvolution(width, dim) for width in widths)
        self.rate = rate

    def forward(self, graphs: GraphBatch) -> Tensor:
        """Embed a batch: shape (graphs, dim)."""
        *inner, last = self.layers
        *adjacencies, nearest = graphs.adjacencies
        x = graphs.x
        for layer, adjacency in zip(inner, adjacencies, strict=True):
            x = dropout(relu(layer(x, adjacency)), self.rate, training=self.training)
        # The last layer is linear: the mean before its weights gives the same, for fewer rows.
        embeddings: Tensor = last(nearest @ x, graphs.mean)
        return embeddings


def encode_all(encoder: GraphEncoder, graphs: Sequence[RowGraph], table: Tensor) -> Tensor:
    """Embed any number of graphs without gradients, in batches of bounded size.

    Args:
        encoder: An encoder in evaluation mode.
        graphs: At least one graph.
        table: Shape (rows, features), on the encoder's device.

    Returns:
        Shape (graphs, dim), on the encoder's device.
    """
    sizes = [len(graph.rows) for graph in graphs]
    layers = len(encoder.layers)
    with torch.inference_mode():
        parts = [
            encoder(collate(merged(graphs[part], layers), table))
            for part in slices_within(sizes, NODES_A_BATCH)
        ]
        return torch.cat(parts)


def operator_features(operators: int, device: torch.device) -> Tensor:
    """One-hot features of operators: shape (operators, operators)."""
    return torch.eye(operators, device=device)


class PaperEncoder:
    """F of Eq. 8: the parts of pretraining that embed a graph.

    Graphs with equal macro graphs get the very same vector in one call. In another call, beside
    other graphs or with other motifs in memory, a vector is the same up to float32 rounding.

    Args:
        config: Settings that belong to the weights.
        motif: F_s, one-hot operators to motif embeddings.
        macro: F_m, motif embeddings to the embedding of the whole.
        cached_motifs: How many motif embeddings are kept in memory.
    """

    def __init__(
        self,
        config: PaperConfig,
        motif: GraphEncoder,
        macro: GraphEncoder,
        *,
        cached_motifs: int = CACHED_MOTIFS,
    ) -> None:
        self.config = config
        self.motif = motif.eval()
        self.macro = macro.eval()
        self._memory = MotifMemory(cached_motifs)
        self.to(torch.device("cpu"))

    def to(self, device: torch.device | None) -> None:
        """Compute on a device from now on; None takes the GPU if there is one."""
        self._device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.motif.to(self._device)
        self.macro.to(self._device)
        self._operators = operator_features(self.config.operators, self._device)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The weights, by name."""
        return {
            f"{part}.{name}": tensor.detach().cpu().numpy()
            for part, network in self._parts().items()
            for name, tensor in network.state_dict().items()
        }

    def load(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take the tensors that `tensors` of an encoder with equal settings gave."""
        for part, network in self._parts().items():
            network.load_state_dict(
                {name: torch.from_numpy(tensors[f"{part}.{name}"]) for name in network.state_dict()}
            )

    def _parts(self) -> dict[str, GraphEncoder]:
        return {"motif": self.motif, "macro": self.macro}

    def encode(self, partitions: Sequence[MotifPartition]) -> NDArray[np.float32]:
        """Unit vectors: shape (graphs, dim)."""
        codes, table = self._motif_table(partitions)
        macro_graphs = [macro_graph(partition) for partition in partitions]
        graphs = [
            RowGraph(np.searchsorted(codes, macro.motif_codes), macro.edge_index)
            for macro in macro_graphs
        ]
        keys = [(graph.rows.tobytes(), graph.edge_index.tobytes()) for graph in graphs]
        distinct = dict(zip(keys, graphs, strict=True))
        encoded = encode_all(self.macro, list(distinct.values()), table)
        unit = torch.nn.functional.normalize(encoded, dim=1).cpu().numpy()
        number = {key: row for row, key in enumerate(distinct)}
        rows: NDArray[np.float32] = unit[[number[key] for key in keys]]
        return rows

    def _motif_table(self, partitions: Sequence[MotifPartition]) -> tuple[Codes, Tensor]:
        """Distinct motif codes, ascending, and F_s of each."""
        motifs = [part.motifs for part in partitions]
        owner, number = owners(motifs), ranks(motifs)
        codes, first = np.unique(
            np.concatenate([part.motif_codes for part in partitions]), return_index=True
        )
        known = self._memory.recall(codes.tolist())
        missing = [row for row, code in enumerate(codes.tolist()) if code not in known]
        examples = [
            motif_subgraph(partitions[owner[motif]], int(number[motif]))
            for motif in first[missing].tolist()
        ]
        if examples:
            width = self.config.operators
            graphs = [
                RowGraph(one_hot_columns(part.op_ids, width), part.edge_index) for part in examples
            ]
            fresh = encode_all(self.motif, graphs, self._operators).cpu()
            known |= dict(zip(codes[missing].tolist(), fresh, strict=True))
            self._memory.learn(known)
        return codes, torch.stack([known[code] for code in codes.tolist()]).to(self._device)


class MotifMemory:
    """Embeddings by motif code; when it is full, the least recently used embeddings go."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._rows: OrderedDict[int, Tensor] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type["MotifMemory"], tuple[int]]:
        """Another process begins with an empty memory: a lock cannot be sent to it."""
        return MotifMemory, (self._room,)

    def recall(self, codes: Sequence[int]) -> dict[int, Tensor]:
        """The embeddings of the codes that are in memory."""
        with self._lock:
            known = {code: self._rows[code] for code in codes if code in self._rows}
            for code in known:
                self._rows.move_to_end(code)
        return known

    def learn(self, rows: dict[int, Tensor]) -> None:
        """Remember embeddings, the newest first."""
        with self._lock:
            self._rows.update(rows)
            while len(self._rows) > self._room:
                self._rows.popitem(last=False)


def paper_encoder(config: PaperConfig) -> PaperEncoder:
    """An untrained encoder, from torch's global random state."""
    motif = GraphEncoder(config.operators, config.motif_dim, layers=config.motif_layers)
    macro = GraphEncoder(config.motif_dim, config.dim, layers=config.layers)
    return PaperEncoder(config, motif, macro)


untrained = paper_encoder
