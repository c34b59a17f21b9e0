"""Known networks that are drawn, and an embedder that counts operators."""

import numpy as np
from graphs import graph_of
from oracle import DIM

from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import canonical
from nar.graphs.ops import op_id
from nar.index.rows import index_row

OPERATORS = [op_id(name) for name in ("input", "conv", "relu", "add", "linear", "gelu")]
KNOWN = {
    "timm:plain": ("resnet", 100, "input; conv 0; relu 1; conv 2; relu 3"),
    "timm:wide": ("resnet", 400, "input; conv 0; relu 1; conv 2; relu 3"),
    "torchvision:plain": ("resnet", 100, "input; conv 0; relu 1; conv 2; relu 3"),
    "timm:residual": ("resnet", 100, "input; conv 0; relu 1; add 2 0"),
    "timm:mlp": ("mixer", 9, "input; linear 0; gelu 1; linear 2"),
}


def graph(text, parameters=0):
    drawn = graph_of(text)
    kernels = drawn.attributes.copy()
    kernels[:, 0] = parameters  # stands for a width that shows in the exact fingerprint
    return canonical(type(drawn)(drawn.op_ids, kernels, drawn.edge_index, parameters))


class CountOperators:
    """Embeds by counts of operators; remembers the sizes of its batches."""

    def __init__(self):
        self.batches = []

    def embed(self, graphs):
        self.batches.append(len(graphs))
        counts = np.zeros((len(graphs), DIM), dtype=np.float32)
        for position, one in enumerate(graphs):
            counts[position, : len(OPERATORS)] = [(one.op_ids == op).sum() for op in OPERATORS]
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    def weights(self, by):
        """By trunk linear layers alone count, by family the others, by design all of them."""
        linear = np.arange(DIM) == OPERATORS.index(op_id("linear"))
        of_family = {"trunk": linear, "family": ~linear}.get(by, np.ones(DIM))
        return of_family.astype(np.float32)


def rows(known):
    """Rows of networks: name -> family, width, drawing."""
    items = [
        architecture(Labels(name, name.split(":")[0], "lib 1", family, "t"), graph(text, width))
        for name, (family, width, text) in known.items()
    ]
    vectors = CountOperators().embed([item.graph for item in items])
    return [index_row(*pair) for pair in zip(items, vectors, strict=True)]


def names(hits):
    return [hit.name for hit in hits]
