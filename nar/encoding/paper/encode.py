"""From motifs to vectors with the paper's encoder; a motif type is encoded once and remembered."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nar.encoding.merged import RowGraph
from nar.encoding.paper.encoders import PaperEncoder, encode_all, operator_features
from nar.motifs.contexts import motif_subgraph
from nar.motifs.macro_graph import macro_graph
from nar.motifs.neighbours import Labels
from nar.motifs.partition import MotifPartition
from nar.ops import one_hot_columns

CACHED_MOTIFS = 20_000


class PaperEncoding:
    """Encodes graphs that are cut into motifs; safe to share between threads.

    Graphs of equal macro graphs in one call get the very same vector; the same graph in another
    call, beside other graphs or with another memory, gets the same up to float32 rounding.

    Args:
        encoder: The networks of one checkpoint.
        device: Where they run.
        cached_motifs: How many motif embeddings are remembered.
    """

    def __init__(
        self, encoder: PaperEncoder, device: torch.device, *, cached_motifs: int = CACHED_MOTIFS
    ) -> None:
        self._device = device
        self._motif = encoder.motif.to(device).eval()
        self._macro = encoder.macro.to(device).eval()
        self._operators = operator_features(device)
        self._memory = MotifMemory(cached_motifs)

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
        encoded = encode_all(self._macro, list(distinct.values()), table)
        unit = torch.nn.functional.normalize(encoded, dim=1).cpu().numpy()
        position = {key: place for place, key in enumerate(distinct)}
        rows: NDArray[np.float32] = unit[[position[key] for key in keys]]
        return rows

    def _motif_table(self, partitions: Sequence[MotifPartition]) -> tuple[Labels, Tensor]:
        """Distinct motif codes, ascending, and F_s of each."""
        owner = np.repeat(np.arange(len(partitions)), [part.motifs for part in partitions])
        number = np.concatenate([np.arange(part.motifs) for part in partitions])
        codes, first = np.unique(
            np.concatenate([part.motif_codes for part in partitions]), return_index=True
        )
        known = self._memory.recall(codes.tolist())
        missing = [place for place, code in enumerate(codes.tolist()) if code not in known]
        examples = [
            motif_subgraph(partitions[owner[place]], int(number[place]))
            for place in first[missing].tolist()
        ]
        if examples:
            graphs = [RowGraph(one_hot_columns(part.op_ids), part.edge_index) for part in examples]
            fresh = encode_all(self._motif, graphs, self._operators).cpu()
            known |= dict(zip(codes[missing].tolist(), fresh, strict=True))
            self._memory.learn(known)
        return codes, torch.stack([known[code] for code in codes.tolist()]).to(self._device)


class MotifMemory:
    """Embeddings by motif code; beyond its room the least recently used are forgotten."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._rows: OrderedDict[int, Tensor] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, codes: Sequence[int]) -> dict[int, Tensor]:
        """What is known of these codes."""
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
