"""Graph methods of others beside NAR: the same graphs, seconds until vectors, MAP@20 by family.

A sample of the shipped corpus that is always the same: of each named design one member, by its
exact fingerprint, with at most `MAX_NODES` operators. Each asks all others. Weisfeiler and Leman's
kernel is GraKeL's, graph2vec is karateclub's, at their own settings; both read operators as labels
of nodes, and neither learns families. NAR stands there as it learns nothing of families, too, and
as it ships, which has learned the families of these very designs.

Peers are no dependency of NAR; a peer that is not installed is a row with the reason:
pip install --no-deps grakel karateclub gensim smart_open wrapt python-louvain pygsp levenshtein

Run: python -m benchmark speed peers [results.json]
"""

import os
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmark.methods import baselines, default
from benchmark.scoring.metrics import average_precision
from benchmark.speed.measure import peak_memory_mib, report
from benchmark.tasks.task import Task
from nar.answers.atlas import shipped_atlas
from nar.corpus import read_corpus, shipped_corpus
from nar.encoding.collecting import Targets
from nar.encoding.embed import Embedder, load_checkpoint
from nar.graphs.architecture import Architecture
from nar.graphs.graph import ComputationalGraph

GRAPHS = int(os.environ.get("NAR_BENCH_GRAPHS", "5000"))
MAX_NODES = 600
TOP = 20
# Settings that GraKeL and karateclub begin with.
WL_ROUNDS = 5
WIDTH = 128

Graphs = Sequence[ComputationalGraph]
Scores = NDArray[np.floating]


def sample() -> list[Architecture]:
    """One member of each design, in the order of fingerprints, which is as good as drawn."""
    named = (item for item in read_corpus(shipped_corpus()) if item.labels.tier == "named")
    small = (item for item in named if item.graph.nodes <= MAX_NODES)
    ordered = sorted(small, key=lambda item: (item.exact, item.labels.name))
    return list({item.topology: item for item in reversed(ordered)}.values())[::-1][:GRAPHS]


def cosines(vectors: Scores) -> Scores:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.maximum(lengths, 1e-12)
    return unit @ unit.T


def shipped(graphs: Graphs) -> Scores:
    return cosines(Embedder(load_checkpoint(shipped_atlas().encoder)).embed(graphs))


def untrained(graphs: Graphs) -> Scores:
    same = [""] * len(graphs)
    rows = np.arange(len(graphs))
    task = Task("peers", 0, tuple(graphs), rows, Targets.of(same, same), {})
    return cosines(np.asarray(default.trained(task, default.Trial(default.UNTRAINED))))


def codes(graphs: Graphs) -> Scores:
    rows = baselines.code_histograms(graphs, 2, "idf")
    return np.asarray((rows @ rows.T).todense())


def wl_kernel(graphs: Graphs) -> Scores:
    from grakel import Graph
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    given = [
        Graph(
            {node: [] for node in range(graph.nodes)}
            | {int(node): to.tolist() for node, to in _readers(graph)},
            node_labels=dict(enumerate(graph.op_ids.tolist())),
        )
        for graph in graphs
    ]
    kernel = WeisfeilerLehman(
        n_iter=WL_ROUNDS, base_graph_kernel=(VertexHistogram, {"sparse": True}), normalize=True
    )
    return np.asarray(kernel.fit_transform(given))


def _readers(graph: ComputationalGraph) -> list[tuple[int, NDArray[np.integer]]]:
    """The nodes that read each node that is read."""
    order = np.argsort(graph.edge_index[0], kind="stable")
    source, target = graph.edge_index[:, order]
    nodes, first = np.unique(source, return_index=True)
    return list(zip(nodes.tolist(), np.split(target, first[1:]), strict=True))


def graph2vec(graphs: Graphs) -> Scores:
    import networkx
    from karateclub import Graph2Vec

    given = []
    for graph in graphs:
        drawn = networkx.Graph()
        drawn.add_nodes_from((n, {"feature": op}) for n, op in enumerate(graph.op_ids.tolist()))
        drawn.add_edges_from(graph.edge_index.T.tolist())
        given.append(drawn)
    model = Graph2Vec(attributed=True, dimensions=WIDTH, workers=os.cpu_count() or 1, seed=0)
    model.fit(given)
    return cosines(model.get_embedding())


METHODS: dict[str, Callable[[Graphs], Scores]] = {
    "NAR default, as shipped": shipped,
    "NAR default, untrained": untrained,
    "code histogram, s<=2, idf": codes,
    "WL kernel (GraKeL)": wl_kernel,
    "graph2vec (karateclub)": graph2vec,
}


def mean_precision(scores: Scores, families: NDArray[np.str_]) -> float:
    """MAP@20 of the designs that have a relative."""
    scores = np.array(scores, dtype=np.float32)
    np.fill_diagonal(scores, -np.inf)
    ranked = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
    relevant = (families[:, None] == families).sum(axis=1) - 1
    reached = average_precision(families[ranked] == families[:, None], relevant, TOP)
    return float(reached[relevant > 0].mean())


def row(
    name: str,
    method: Callable[[Graphs], Scores],
    graphs: Graphs,
    families: NDArray[np.str_],
) -> dict[str, object]:
    started = time.perf_counter()
    try:
        scores = method(graphs)
    except ImportError as error:
        return {"method": name, "seconds": str(error), "graphs/s": "-", f"MAP@{TOP}": "-"}
    seconds = time.perf_counter() - started
    return {
        "method": name,
        "seconds": f"{seconds:.1f}",
        "graphs/s": f"{len(graphs) / seconds:,.0f}",
        f"MAP@{TOP}": f"{mean_precision(scores, families):.3f}",
    }


def main() -> None:
    items = sample()
    graphs = [item.graph for item in items]
    families = np.array([item.labels.family for item in items])
    rows = [row(name, method, graphs, families) for name, method in METHODS.items()]
    nodes = sum(graph.nodes for graph in graphs)
    report(
        f"{len(graphs):,} graphs, {nodes:,} nodes, all pairs compared "
        f"(peak memory {peak_memory_mib():.0f} MiB)",
        rows,
    )


if __name__ == "__main__":
    main()
