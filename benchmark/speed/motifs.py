"""Motif sampling: nodes a second on one core, and growth from 1,000 to 100,000 nodes.

With `NAR_BENCH_PAPER`, a checkout of the code that the paper published (TerryPei/NNRetrieval on
GitHub), its splitter `find_frequent_motifs` cuts the same graphs, given as the edges that it reads,
up to `PAPER_NODES`: it compares every motif with every edge.

Run: python -m benchmark speed motifs [results.json]
"""

import os
import sys
from collections.abc import Iterator
from importlib import import_module

from graphs import bert, random_graph, resnet

from benchmark.speed.measure import best_seconds, peak_memory_mib, report
from nar.graphs.canonical import canonical
from nar.motifs.partition import partition, partition_all

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
PAPER = os.environ.get("NAR_BENCH_PAPER", "")
PAPER_NODES = 10_000


def growth(name: str, graphs: list) -> list[dict[str, object]]:
    rows = []
    for graph in graphs:
        seconds = best_seconds(lambda graph=graph: partition(graph))
        rows.append(row(name, graph.nodes, 1, seconds))
    return rows


def published(name: str, graphs: list) -> Iterator[dict[str, object]]:
    """The paper's own splitter, which wants every node by a name of its own."""
    sys.path.insert(0, PAPER)
    split = import_module("src.data.preprocessing.frequent_motif").find_frequent_motifs
    for graph in graphs:
        if graph.nodes <= PAPER_NODES:
            edges = [[f"n{source}", f"n{target}"] for source, target in graph.edge_index.T.tolist()]
            seconds = best_seconds(lambda edges=edges: split(edges), 1)
            yield row(f"{name}, the paper's code", graph.nodes, 1, seconds)


def row(name: str, nodes: int, graphs: int, seconds: float) -> dict[str, object]:
    return {
        "graph": name,
        "nodes": f"{nodes:,}",
        "graphs a call": graphs,
        "ms a call": f"{1000 * seconds:.2f}",
        "nodes/s": f"{nodes * graphs / seconds:,.0f}",
    }


def main() -> None:
    resnets = [canonical(resnet([size // 41] * 4)) for size in SIZES]
    berts = [canonical(bert(size // 12)) for size in SIZES]
    randoms = [canonical(random_graph(size, seed=0)) for size in SIZES]
    rows = growth("resnet", resnets) + growth("bert", berts) + growth("no repeats", randoms)
    batch = [resnets[0]] * 64
    rows.append(
        row("resnet", resnets[0].nodes, len(batch), best_seconds(lambda: partition_all(batch)))
    )
    if PAPER:
        rows += [*published("resnet", resnets), *published("bert", berts)]
    report(f"Motif sampling (peak memory {peak_memory_mib():.0f} MiB)", rows)


if __name__ == "__main__":
    main()
