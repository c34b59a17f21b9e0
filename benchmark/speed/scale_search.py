"""Searches of an index by HNSW, their times, and how much of the exact answer they give.

Part of `scale.py`: python -m benchmark.speed.scale_search --uri URI --config FILE --work DIR
"""

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from nar.choices import IndexChoice
from nar.encoding.embed import Embedder, load_checkpoint
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import Collection
from nar.zoo.sources.darts.network import darts_graph
from nar.zoo.sources.darts.sampling import sample_classes

QUERIES, ROUNDS, TOP = 200, 5, 10


def exact(
    live: Collection, vectors: NDArray[np.float32]
) -> tuple[list[set[str]], NDArray[np.float32]]:
    """The nearest rows of each vector, over all rows, a page at a time; and the tenth's score."""
    scores = np.full((len(vectors), TOP), -np.inf, dtype=np.float32)
    names = np.full((len(vectors), TOP), "", dtype=object)
    for page in live.pages():
        held = np.stack([stored.row.embedding for stored in page])
        found = np.concatenate([scores, vectors @ held.T], axis=1)
        called = np.array([stored.row.name for stored in page], dtype=object)
        labels = np.concatenate([names, np.broadcast_to(called, (len(vectors), len(page)))], axis=1)
        best = np.argpartition(-found, TOP - 1, axis=1)[:, :TOP]
        scores = np.take_along_axis(found, best, axis=1)
        names = np.take_along_axis(labels, best, axis=1)
    return [set(row) for row in names], scores.min(axis=1)


def main(
    uri: Annotated[str, typer.Option()],
    config: Annotated[Path, typer.Option()],
    work: Annotated[Path, typer.Option()],
) -> None:
    choice = IndexChoice(work, uri, config)
    embedder = Embedder(load_checkpoint(work / "checkpoint"))
    graphs = [darts_graph(member.genotype) for member in sample_classes(QUERIES, seed=1)]
    vectors = embedder.embed(graphs)
    with ArchitectureIndex(choice.config().index) as index:
        started = time.perf_counter()
        wanted, tenth = exact(index.live, vectors)
        exact_s = time.perf_counter() - started
        taken, found = [], []
        for number in range(ROUNDS * QUERIES):
            vector = vectors[number % QUERIES][None]
            started = time.perf_counter()
            [hits] = index.search(vector, TOP)
            taken.append(time.perf_counter() - started)
            found.append(hits)
    # Rows as near as the tenth are as right as it is.
    right = [
        sum(hit.name in names or hit.score >= least - 1e-6 for hit in hits)
        for hits, names, least in zip(found, wanted, tenth, strict=False)
    ]
    told = {
        "queries": len(taken),
        "p50_ms": round(1000 * float(np.percentile(taken, 50)), 1),
        "p99_ms": round(1000 * float(np.percentile(taken, 99)), 1),
        "recall": round(sum(right) / (TOP * QUERIES), 4),
        "exact_s": round(exact_s, 1),
    }
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    typer.run(main)
