"""Searches of the same vectors by HNSW of others and by the index in memory: recall and time.

The vectors of the shipped atlas, and as questions those of networks of the DARTS space that it does
not have. M, efConstruction and ef are those that NAR gives to Milvus. Recall is the share of hits
that are as near as the tenth of an exact search. hnswlib is no dependency of NAR; without it its
row has the reason: pip install hnswlib

Run: python -m benchmark speed vectors [results.json]
"""

import os
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmark.speed.measure import peak_memory_mib, report
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.index.dialect import HNSW, MIN_EF
from nar.index.exact import ExactIndex
from nar.zoo.sources.darts.network import darts_graph
from nar.zoo.sources.darts.sampling import sample_classes

QUERIES = int(os.environ.get("NAR_BENCH_CALLS", "200"))
TOP = 10

Vectors = NDArray[np.float32]
# The numbers of the rows that are nearest to one vector.
Search = Callable[[Vectors], NDArray[np.integer]]


def by_numpy(known: Vectors, top: int = TOP) -> Search:
    return lambda asked: np.argpartition(-(known @ asked), top)[:top]


def in_memory(index: ExactIndex, places: dict[str, int]) -> Search:
    return lambda asked: np.array([places[hit.id] for hit in index.search(asked[None], TOP)[0]])


def by_faiss(known: Vectors) -> Search:
    import faiss

    index = faiss.IndexHNSWFlat(known.shape[1], HNSW["M"], faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = HNSW["efConstruction"], MIN_EF
    index.add(known)
    return lambda asked: index.search(asked[None], TOP)[1][0]


def by_hnswlib(known: Vectors) -> Search:
    import hnswlib

    index = hnswlib.Index(space="ip", dim=known.shape[1])
    index.init_index(len(known), M=HNSW["M"], ef_construction=HNSW["efConstruction"], random_seed=0)
    index.add_items(known)
    index.set_ef(MIN_EF)
    return lambda asked: index.knn_query(asked, TOP)[0][0]


def row(name: str, make: Callable[[], Search], known: Vectors, asked: Vectors) -> dict[str, object]:
    started = time.perf_counter()
    try:
        search = make()
    except ImportError as error:
        return {
            "search by": name,
            "build s": str(error),
            "p50 ms": "-",
            "p99 ms": "-",
            "recall@10": "-",
        }
    built_s = time.perf_counter() - started
    seconds, right = [], 0
    search(asked[0])
    for vector in asked:
        started = time.perf_counter()
        found = search(vector)
        seconds.append(time.perf_counter() - started)
        scores = known @ vector
        right += int((scores[found] >= np.partition(scores, -TOP)[-TOP] - 1e-6).sum())
    p50, p99 = 1_000 * np.percentile(seconds, [50, 99])
    return {
        "search by": name,
        "build s": f"{built_s:.1f}",
        "p50 ms": f"{p50:.2f}",
        "p99 ms": f"{p99:.2f}",
        "recall@10": f"{right / (TOP * len(asked)):.3f}",
    }


def main() -> None:
    atlas = read_atlas(shipped_atlas())
    rows = atlas.rows
    known = np.stack([each.embedding for each in rows])
    known /= np.linalg.norm(known, axis=1, keepdims=True)
    places = {each.id: place for place, each in enumerate(rows)}
    graphs = [darts_graph(member.genotype) for member in sample_classes(QUERIES, seed=1)]
    asked = atlas.embedder.embed(graphs)
    ways = {
        "numpy": lambda: by_numpy(known),
        "index in memory": lambda: in_memory(atlas.index, places),
        "FAISS HNSW": lambda: by_faiss(known),
        "hnswlib": lambda: by_hnswlib(known),
    }
    report(
        f"{len(known):,} vectors of {known.shape[1]} (peak memory {peak_memory_mib():.0f} MiB)",
        [row(name, make, known, asked) for name, make in ways.items()],
    )


if __name__ == "__main__":
    main()
