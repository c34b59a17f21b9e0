"""The compiled kernel beside Python and numpy: equal to the bit, and CPU time a graph.

Every graph of the shipped corpus, or every NAR_BENCH_EVERY-th, is read by both, some also in
another numbering: fingerprints, canonical order, motifs, features and vectors. The first difference
ends the run. Then both are timed in one process, in turn: of single graphs, and of many of the
corpus. Times are CPU time, the best of several runs.

Run: python -m benchmark speed kernel [results.json]
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from unittest import mock

import numpy as np
from graphs import renumbered

from benchmark.speed.measure import Row, report
from nar.answers.atlas import shipped_atlas
from nar.corpus import Corpus, shipped_corpus
from nar.encoding.embed import Embedder, load_checkpoint
from nar.graphs import kernel
from nar.graphs.fingerprints import in_order
from nar.graphs.graph import ComputationalGraph
from nar.motifs.feature_sets import feature_sets
from nar.motifs.partition import partition_all

EVERY = int(os.environ.get("NAR_BENCH_EVERY", "1"))
RENUMBERED = 8  # of so many graphs, one is also compared in another numbering
REPEATS = 5
TIMED = 500  # graphs of the corpus that are timed together
PART = 64  # graphs a call, as a worker of a bulk embedding has them
SINGLE = "timm:resnet50"
LARGE = 10_000  # operators, nearly: a size at which fingerprints took half a second
COMPILED = kernel.compiled()

Work = Callable[[], object]


@contextmanager
def read_by(chosen: kernel.Kernel | None) -> Iterator[None]:
    def compiled() -> kernel.Kernel | None:  # a mock would take longer than a small graph
        return chosen

    with mock.patch.object(kernel, "compiled", compiled):
        yield


def everything(graphs: Sequence[ComputationalGraph], embedder: Embedder) -> list[object]:
    """What the kernel has a part in, as values that can be compared."""
    ordered = [in_order(graph) for graph in graphs]
    partitions = partition_all([network.graph for network, _ in ordered])
    sets = feature_sets(partitions)
    vectors = embedder.embed([network.graph for network, _ in ordered])
    found: list[object] = [network for network, _ in ordered]
    found += [order for _, order in ordered]
    for partition in partitions:
        found += [partition.node_to_motif, partition.motif_codes]
    return [*found, sets.codes, sets.aspects, sets.weights, sets.start, vectors]


def same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    return one == other


def compare(graphs: Iterator[ComputationalGraph], embedder: Embedder) -> int:
    """How many graphs both read alike; ends the run at the first that they do not."""
    rng, compared, began = np.random.default_rng(0), 0, time.process_time()
    while part := list(islice(graphs, PART)):
        both = [*part, *(renumbered(graph, rng) for graph in part[::RENUMBERED])]
        with read_by(None):
            expected = everything(both, embedder)
        with read_by(COMPILED):
            found = everything(both, embedder)
        for place, (one, other) in enumerate(zip(expected, found, strict=True)):
            if not same(one, other):
                sys.exit(f"value {place} of {len(expected)} differs, past {compared} graphs")
        compared += len(part)
        if compared % (PART * 40) == 0:
            print(f"{compared} graphs, {time.process_time() - began:.0f} s", flush=True)  # noqa: T201
    return compared


def cpu_ms(work: Work) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return 1000 * best


def row(name: str, graphs: list[ComputationalGraph], work: Work) -> Row:
    work()  # once, for what is read or made at the first call
    with read_by(None):
        before = cpu_ms(work) / len(graphs)
    with read_by(COMPILED):
        after = cpu_ms(work) / len(graphs)
    return {
        "what": name,
        "nodes a graph": f"{sum(graph.nodes for graph in graphs) / len(graphs):,.0f}",
        "numpy, ms": f"{before:.3f}",
        "compiled, ms": f"{after:.3f}",
        "times faster": f"{before / after:.1f}",
    }


def parts(graphs: list[ComputationalGraph]) -> list[list[ComputationalGraph]]:
    return [graphs[start : start + PART] for start in range(0, len(graphs), PART)]


def rows(name: str, graphs: list[ComputationalGraph], embedder: Embedder) -> list[Row]:
    split = parts(graphs)
    partitions = [partition_all(part) for part in split]
    return [
        row(f"fingerprints, {name}", graphs, lambda: [in_order(graph) for graph in graphs]),
        row(f"motifs, {name}", graphs, lambda: [partition_all(part) for part in split]),
        row(f"features, {name}", graphs, lambda: [feature_sets(part) for part in partitions]),
        row(f"vector, {name}", graphs, lambda: [embedder.embed(part) for part in split]),
    ]


def main() -> None:
    if COMPILED is None:
        sys.exit("the compiled kernel is not installed: `make setup` builds it")
    corpus, embedder = Corpus(shipped_corpus()), Embedder(load_checkpoint(shipped_atlas().encoder))
    every = (each.graph for each in islice(corpus.architectures(), 0, None, EVERY))
    compared = compare(every, embedder)
    kept = list(islice(corpus.architectures(), 0, None, max(1, 27_000 // TIMED)))
    many = [each.graph for each in kept]
    large = min(corpus.architectures(), key=lambda each: abs(each.graph.nodes - LARGE))
    measured = rows("many", many, embedder)
    for each in (corpus.find(SINGLE).architecture, large):
        measured += rows(each.labels.name, [each.graph], embedder)
    report(f"The compiled kernel: {compared:,} graphs are read alike, to the bit", measured)


if __name__ == "__main__":
    main()
