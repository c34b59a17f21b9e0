"""MacroGraph: motifs as nodes, linked where they overlap (paper, section 3.3).

Six nodes in three motifs, and the macro graph that they form:

      input ─> conv ─> relu ─> conv ─> relu ─> linear
      └─ A ─┘  └──── B ────┘  └──── B ────┘  └─ C ─┘

      A ─> B ─> B ─> C
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.graphs.hashing import Codes
from nar.motifs.partition import MotifPartition


@dataclass(frozen=True, slots=True, eq=False)
class MacroGraph:
    """The computational graph with every motif drawn as one node.

    Attributes:
        motif_codes: Shape (motifs,), uint64, motif type of each node.
        edge_index: Shape (2, links), int32, from the motif that makes a value to one that reads it,
            each ordered pair once.
    """

    motif_codes: Codes
    edge_index: NDArray[np.int32]


def macro_graph(partition: MotifPartition) -> MacroGraph:
    """Link two motifs when they overlap.

    A motif covers its nodes together with the edges at its border, as the neighbour encoding does.
    Two motifs overlap in just those edges that lead from one to the other.
    """
    ends = partition.node_to_motif[partition.graph.edge_index].astype(np.int64)
    source, target = ends[:, ends[0] != ends[1]]
    pairs = np.unique(source * partition.motifs + target)
    edge_index = np.stack([pairs // partition.motifs, pairs % partition.motifs])
    return MacroGraph(partition.motif_codes, edge_index.astype(np.int32))
